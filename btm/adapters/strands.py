"""Strands Agents: ``Agent(tools=tools, hooks=[RecoveryHooks(memory)])``. Needs the extra ``strands``.

The recovery context is one more text of the failed call's result, which keeps its error status. Interrupts pass and teach
nothing. Events that a tool streams are passed on as they come, those of a try that is repeated too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from btm.adapters.framework import AgentAnswer, FrameworkCalls, PutOff, RunNames
from btm.classify.frameworks import ToolResult
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.support.imitations import disarmed

try:
    from strands.hooks import AgentInitializedEvent, HookProvider, HookRegistry
    from strands.interrupt import InterruptException
    from strands.middleware import ExecuteToolContext, ExecuteToolStage, ToolResultEvent
except ModuleNotFoundError as error:
    raise MissingExtraError("strands-agents", "strands", "btm for Strands") from error

_END = object()


class RecoveryHooks(HookProvider):
    """Takes every tool call of an agent through ``memory``. In act mode its tools stand in for each other."""

    def __init__(self, memory: ToolMemory) -> None:
        self._calls = FrameworkCalls(memory, view=_view)
        self._runs = RunNames()

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Put btm around the agent's tool calls, once the agent is there."""
        registry.add_callback(AgentInitializedEvent, self._join)

    def _join(self, event: AgentInitializedEvent) -> None:
        event.agent.add_middleware(ExecuteToolStage, self._through)

    async def _through(self, context: ExecuteToolContext, next_fn: Any) -> AsyncIterator[Any]:
        events: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.ensure_future(self._made(context, next_fn, events))
        task.add_done_callback(lambda _: events.put_nowait(_END))
        try:
            while (event := await events.get()) is not _END:
                yield event
            try:
                answer = await task
            except PutOff:  # the tool asks for a person: its events have said so
                return
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})  # the generators in it must have ended before those around it do
        yield _event(answer, context.tool_use["toolUseId"])

    async def _made(
        self, context: ExecuteToolContext, next_fn: Any, events: asyncio.Queue[Any]
    ) -> AgentAnswer:
        asked = context.tool_use
        run = self._runs.name(context.agent)
        call = self._calls.tool_call(asked["name"], asked["input"], run, asked["toolUseId"])
        tools = context.agent.tool_registry.registry

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            made = context
            if arguments is not call.arguments:
                made = context.replace(
                    tool=tools[name], tool_use={**asked, "name": name, "input": dict(arguments)}
                )
            result = None
            async for event in next_fn(made):
                if isinstance(event, ToolResultEvent):
                    result = event
                else:
                    events.put_nowait(event)
            if result is None:
                raise PutOff
            if isinstance(result.exception, InterruptException):
                raise result.exception
            return result

        return await self._calls.acall(call, invoke, available=tools)


def _view(event: Any) -> Any:
    if isinstance(event.exception, Exception):
        raise event.exception
    content = event.tool_result["content"]
    texts = [part["text"] if "text" in part else part.get("json") for part in content]
    value = texts[0] if len(texts) == 1 else content
    return ToolResult(value, is_error=True) if event.tool_result["status"] == "error" else value


def _event(answer: AgentAnswer, use_id: str) -> ToolResultEvent:
    own = answer.value if isinstance(answer.value, ToolResultEvent) else None
    if own is not None and not answer.said:
        return own
    said = [{"text": answer.said}] if answer.said else []
    if own is not None:
        parts = [{**p, "text": disarmed(p["text"])} if "text" in p else p for p in own.tool_result["content"]]
        return ToolResultEvent({**own.tool_result, "toolUseId": use_id, "content": [*parts, *said]})
    status = "error" if answer.failed else "success"
    text = answer.text() if not answer.failed else f"Error: {answer.text()}"
    return ToolResultEvent({"toolUseId": use_id, "status": status, "content": [{"text": text}]})
