"""AutoGen 0.7: ``AssistantAgent(..., workbench=recovering(StaticWorkbench(tools), memory))``. Needs the extra ``autogen``.

The recovery context stands at the end of the failed call's result, which keeps its error flag.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from btm.adapters.framework import FrameworkCalls, fronted
from btm.classify.frameworks import ToolResult as FlaggedResult
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.support.imitations import disarmed

try:
    from autogen_core import CancellationToken
    from autogen_core.tools import TextResultContent, ToolResult, Workbench
except ModuleNotFoundError as error:
    raise MissingExtraError("autogen-core", "autogen", "btm for AutoGen") from error

_MOST_READ = 1_000_000
"""Characters of a result that are read as a value, at most."""


def recovering(workbench: Workbench, memory: ToolMemory) -> Workbench:
    """Return the workbench with its class's ``call_tool`` going through ``memory``; all else of it stays.

    AutoGen hands a workbench no name of a run: give runs that share a memory a conversation each
    (``with memory.conversation("..."):``).
    """
    return fronted(workbench, _RecoveringWorkbench, FrameworkCalls(memory, view=_view))


class _RecoveringWorkbench:
    _btm: tuple[FrameworkCalls]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        (calls,) = self._btm
        run = super().call_tool  # type: ignore[misc]
        call = calls.tool_call(name, arguments or {}, "", call_id)
        known = [schema["name"] for schema in await self.list_tools()]  # type: ignore[attr-defined]

        async def invoke(tool: str, given: Mapping[str, Any]) -> Any:
            return await run(tool, given, cancellation_token, call_id)

        answer = await calls.acall(call, invoke, available=known)
        if not isinstance(answer.value, ToolResult):
            return ToolResult(
                name=name, result=[TextResultContent(content=answer.text())], is_error=answer.failed
            )
        said = [TextResultContent(content=answer.said)] if answer.said else []
        if not said and answer.value.name == name:
            return answer.value
        clean = [_disarmed(part) for part in answer.value.result]
        return ToolResult(name=name, result=[*clean, *said], is_error=answer.value.is_error)


def _disarmed(part: Any) -> Any:
    return TextResultContent(content=disarmed(part.content)) if isinstance(part, TextResultContent) else part


def _view(result: Any) -> Any:
    text = "\n".join(part.content for part in result.result if isinstance(part, TextResultContent))
    if result.is_error:
        return FlaggedResult(text, is_error=True)
    # What a tool gave is there as Python writes it.
    if len(text) <= _MOST_READ and text[:1] in "[{(":
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return ast.literal_eval(text)
    return text
