"""Google ADK: ``App(name=..., root_agent=agent, plugins=[RecoveryPlugin(memory)])``. Needs the extra ``google-adk``.

ADK makes every call itself, after its own checks (confirmations among them); btm comes in after a failure. The recovery
context stands beside the error in the function's response.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.adapters.framework import AgentAnswer, FrameworkCalls
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.model import ToolCall
from btm.runtime.drivers import Reply
from btm.support.bounded import BoundedDict
from btm.support.imitations import disarmed

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools import BaseTool, ToolContext
except ModuleNotFoundError as error:
    raise MissingExtraError("google-adk", "google-adk", "btm for Google ADK") from error

_NOTE = "recovery"
_MOST_ANSWERED = 1_000


class RecoveryPlugin(BasePlugin):
    """Takes every tool call of an app through ``memory``. In act mode an agent's tools stand in for each other."""

    def __init__(self, memory: ToolMemory) -> None:
        super().__init__(name="btm")
        self._calls = FrameworkCalls(memory)
        # Calls that are answered already: ADK shows their answers to the callback for results all the same.
        self._answered: BoundedDict[str, None] = BoundedDict(_MOST_ANSWERED)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Answer a call that may not be made."""
        answer = await self._calls.arefused(self._call(tool, tool_args, tool_context))
        return None if answer is None else self._given(answer, tool_context)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Learn from what a tool gave."""
        if self._answered.pop(_key(tool_context), self) is None:
            return None
        if tool_context.actions.requested_tool_confirmations or tool_context.actions.requested_auth_configs:
            return None  # it waits for a person
        if tool.is_long_running and not result:
            return None
        came = Reply(_bare(result))
        answer = await self._follow(tool, tool_args, tool_context, came)
        if not answer.said and answer.value is came.result:
            return None
        own = answer.value is came.result and isinstance(result, dict)
        return {**disarmed(result), _NOTE: answer.said} if own else self._given(answer, None)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """Learn from what a tool raised; a cancelled one teaches nothing."""
        if not isinstance(error, Exception):
            return None
        return self._given(
            await self._follow(tool, tool_args, tool_context, Reply(error=error)), tool_context
        )

    async def _follow(
        self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext, came: Reply
    ) -> AgentAnswer:
        agent = context._invocation_context.agent
        tools = {other.name: other for other in await agent.canonical_tools(context)}

        async def invoke(name: str, given: Mapping[str, Any]) -> Any:
            return _bare(await tools[name].run_async(args=dict(given), tool_context=context))

        return await self._calls.afollow(
            self._call(tool, arguments, context), came, invoke, available=tuple(tools)
        )

    def _call(self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext) -> ToolCall:
        run, call_id = context.session.id, context.function_call_id
        return self._calls.tool_call(tool.name, arguments, run, call_id, description=tool.description)

    def _given(self, answer: AgentAnswer, context: ToolContext | None) -> dict[str, Any]:
        if context is not None:
            self._answered[_key(context)] = None
        given = {"error" if answer.failed else "result": answer.value}
        return {**given, _NOTE: answer.said} if answer.said else given


def _key(context: ToolContext) -> str:
    return f"{context.invocation_id}/{context.function_call_id}"


def _bare(result: Any) -> Any:
    """ADK wraps what is no object as ``{"result": ...}``."""
    return result["result"] if isinstance(result, dict) and set(result) == {"result"} else result
