"""AG2: ``Agent(..., tools=wrap_tools(tools, memory))``. Needs the extra ``ag2``.

The recovery context stands at the end of the failed call's error. Human input that cannot be had ends the turn as without
btm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any

from btm.adapters.framework import FrameworkCalls, RunNames
from btm.errors import MissingExtraError
from btm.memory import ToolMemory

try:
    from ag2.events import DataInput, TextInput, ToolCallEvent, ToolErrorEvent, ToolResult, ToolResultEvent
    from ag2.tools.final.function_tool import FunctionTool
except ModuleNotFoundError as error:
    raise MissingExtraError("ag2", "ag2", "btm for AG2") from error


def wrap_tools(tools: Iterable[FunctionTool | Callable[..., Any]], memory: ToolMemory) -> list[Any]:
    """Return copies of function tools whose calls go through ``memory``; a plain function becomes a tool first.

    In act mode they stand in for each other. Other tools, which run at the provider, pass as they are.
    """
    calls, runs = FrameworkCalls(memory, view=_view), RunNames()
    made = [FunctionTool.ensure_tool(tool) for tool in tools]
    toolbox = {tool.name: tool for tool in made if isinstance(tool, FunctionTool)}

    async def through_btm(call_next: Any, event: ToolCallEvent, context: Any) -> Any:
        call = calls.tool_call(event.name, event.arguments, runs.name(context.stream), event.id)

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            asked = event
            if arguments is not call.arguments:
                asked = copy(event)
                asked.name, asked.arguments = name, json.dumps(dict(arguments))
                asked._serialized_arguments = None
            came = await (call_next(asked, context) if name == event.name else toolbox[name](asked, context))
            if isinstance(came, ToolErrorEvent):
                raise came.error
            return came.result if isinstance(came, ToolResultEvent) else came

        answer = await calls.acall(call, invoke, available=toolbox)
        if isinstance(answer.value, ToolResult) and not answer.said:
            return ToolResultEvent(parent_id=event.id, name=event.name, result=answer.value)
        if isinstance(answer.value, ToolResult):
            result = copy(answer.value)
            result.parts = [*result.parts, TextInput(answer.said)]
        else:
            result = ToolResult(answer.text())
        if answer.failed:
            return ToolErrorEvent(
                parent_id=event.id, name=event.name, error=RuntimeError(answer.text()), result=result
            )
        return ToolResultEvent(parent_id=event.id, name=event.name, result=result)

    return [tool.with_middleware(through_btm) if isinstance(tool, FunctionTool) else tool for tool in made]


def _view(result: Any) -> Any:
    parts: list[Any] = result.parts if isinstance(result, ToolResult) else []
    if len(parts) != 1:
        return result
    part = parts[0]
    return part.content if isinstance(part, TextInput) else part.data if isinstance(part, DataInput) else part
