"""CrewAI: ``Agent(..., tools=wrap_tools(tools, memory))``. Needs the extra ``crewai``.

A failure and its recovery context are raised in one text, because CrewAI keeps what a tool returns and answers the same
call with it again. Such an answer from its cache is no call: btm learns nothing from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from btm.adapters.framework import FrameworkCalls, fronted
from btm.errors import MissingExtraError
from btm.memory import ToolMemory

try:
    from crewai.tools import BaseTool
except ModuleNotFoundError as error:
    raise MissingExtraError("crewai", "crewai", "btm for CrewAI") from error


def wrap_tools(tools: Iterable[BaseTool], memory: ToolMemory) -> list[BaseTool]:
    """Return copies of tools whose calls go through ``memory``. In act mode they stand in for each other.

    CrewAI hands tools no id of a call and no name of a run: give crews that share a memory a conversation each
    (``with memory.conversation("..."):``).
    """
    calls = FrameworkCalls(memory)
    tools = list(tools)
    toolbox = {tool.name: tool for tool in tools}
    for tool in tools:
        memory.describe(tool.name, tool.description)
    return [fronted(tool, _CrewTool, calls, toolbox) for tool in tools]


class _CrewTool:
    _btm: tuple[FrameworkCalls, Mapping[str, BaseTool]]
    name: str

    def run(self, *args: Any, **kwargs: Any) -> Any:
        calls, toolbox = self._btm
        run = super().run  # type: ignore[misc]  # that of the tool's own class
        call = calls.tool_call(self.name, self._btm_named(args, kwargs), "")

        def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            if name == self.name:
                return run(*args, **kwargs) if arguments is call.arguments else run(**arguments)
            return toolbox[name].run(**arguments)

        return calls.call(call, invoke, available=toolbox).given_or_raised()

    async def arun(self, *args: Any, **kwargs: Any) -> Any:
        calls, toolbox = self._btm
        run = super().arun  # type: ignore[misc]
        call = calls.tool_call(self.name, self._btm_named(args, kwargs), "")

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            if name == self.name:
                return await (run(*args, **kwargs) if arguments is call.arguments else run(**arguments))
            other = toolbox[name]
            try:
                return await other.arun(**arguments)
            except NotImplementedError:  # it has a sync side only
                return await asyncio.to_thread(other.run, **arguments)

        answer = await calls.acall(call, invoke, available=toolbox)
        return answer.given_or_raised()

    def _btm_named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        fields = self.args_schema.model_fields  # type: ignore[attr-defined]
        return {**dict(zip(fields, args, strict=False)), **kwargs}
