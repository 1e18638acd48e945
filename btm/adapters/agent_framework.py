"""Microsoft Agent Framework: ``Agent(client=client, tools=tools, middleware=[FunctionRecovery(memory)])``.

Needs the extra ``agent-framework``. The recovery context stands at the end of the failed call's result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from btm.adapters.framework import FrameworkCalls, RunNames
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.planning.failure_text import result_text

try:
    from agent_framework import Content, FunctionInvocationContext, FunctionMiddleware, FunctionTool
except ModuleNotFoundError as error:
    raise MissingExtraError("agent-framework-core", "agent-framework", "btm for Agent Framework") from error


class FunctionRecovery(FunctionMiddleware):
    """Takes every call of an agent's functions through ``memory``. In act mode they stand in for each other."""

    def __init__(self, memory: ToolMemory) -> None:
        self._calls = FrameworkCalls(memory, view=_view)
        self._runs = RunNames()

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        own, given = context.function.name, context.arguments
        shown = given if isinstance(given, Mapping) else given.model_dump()
        session = context.session
        # Without a session, the list of tools lives as long as the run.
        run = session.session_id if session is not None else self._runs.name(context.tools)
        about, call_id = context.function.description, context.metadata.get("call_id")
        call = self._calls.tool_call(own, shown, run, call_id, description=about)
        tools = {tool.name: tool for tool in context.tools or () if isinstance(tool, FunctionTool)}

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            if name != own:
                return await tools[name].invoke(arguments=dict(arguments))
            if arguments is not call.arguments:
                context.arguments = dict(arguments)
            await call_next()
            return context.result

        answer = await self._calls.acall(call, invoke, available=tuple(tools))
        if answer.said and isinstance(answer.value, list):
            context.result = [*answer.value, Content.from_text(answer.said)]
        elif answer.value is not context.result or answer.said or answer.failed:
            context.result = (
                answer.given() if isinstance(answer.given(), list) else result_text(answer.given())
            )


def _view(result: Any) -> Any:
    """The text of a result's items, which is what the model reads."""
    if not isinstance(result, list) or not all(
        isinstance(item, Content) and item.type == "text" for item in result
    ):
        return result
    return "\n".join(item.text for item in result)
