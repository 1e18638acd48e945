"""smolagents: ``ToolCallingAgent(tools=wrap_tools(tools, memory), model=model)``. Needs the extra ``smolagents``.

A ``ToolCallingAgent`` reads a failure and its recovery context as the tool's result. In a ``CodeAgent``, where a tool is
a Python function, they are raised: what a tool returns keeps its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from btm.adapters.framework import FrameworkCalls, fronted
from btm.errors import MissingExtraError
from btm.memory import ToolMemory

try:
    from smolagents import Tool
except ModuleNotFoundError as error:
    raise MissingExtraError("smolagents", "smolagents", "btm for smolagents") from error


def wrap_tools(tools: Iterable[Tool], memory: ToolMemory) -> list[Tool]:
    """Return copies of tools whose calls go through ``memory``. In act mode they stand in for each other.

    smolagents hands tools no id of a call and no name of a run: give runs that share a memory a conversation each
    (``with memory.conversation("..."):``).
    """
    calls = FrameworkCalls(memory)
    tools = list(tools)
    toolbox = {tool.name: tool for tool in tools}
    for tool in tools:
        memory.describe(tool.name, tool.description)
    return [fronted(tool, _SmolTool, calls, toolbox) for tool in tools]


class _SmolTool:
    _btm: tuple[FrameworkCalls, Mapping[str, Tool]]
    name: str
    inputs: Mapping[str, Any]

    def __call__(self, *args: Any, sanitize_inputs_outputs: bool = False, **kwargs: Any) -> Any:
        calls, toolbox = self._btm
        run = super().__call__  # type: ignore[misc]  # that of the tool's own class
        given: Any = kwargs
        if args:
            one = args[0] if len(args) == 1 and isinstance(args[0], dict) else None
            given = (
                one
                if one and one.keys() <= self.inputs.keys()
                else dict(zip(self.inputs, args, strict=False))
            )
            given = {**given, **kwargs}
        call = calls.tool_call(self.name, given, "")

        def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            if name == self.name and arguments is call.arguments:
                return run(*args, sanitize_inputs_outputs=sanitize_inputs_outputs, **kwargs)
            if name == self.name:
                return run(sanitize_inputs_outputs=sanitize_inputs_outputs, **arguments)
            return toolbox[name](sanitize_inputs_outputs=sanitize_inputs_outputs, **arguments)

        answer = calls.call(call, invoke, available=toolbox)
        if sanitize_inputs_outputs:  # asked for by an agent whose model reads the result
            return answer.given()
        if answer.failed:
            raise RuntimeError(answer.text())
        return answer.value
