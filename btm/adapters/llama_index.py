"""LlamaIndex: ``FunctionAgent(tools=wrap_tools(tools, memory), llm=llm)``. Needs the extra ``llama-index``.

The recovery context stands at the end of the failed call's output, which keeps its error flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from btm.adapters.framework import AgentAnswer, FrameworkCalls, fronted
from btm.classify.frameworks import ToolResult
from btm.errors import MissingExtraError
from btm.memory import ToolMemory

try:
    from llama_index.core.tools import FunctionTool, ToolOutput
    from llama_index.core.tools.types import AsyncBaseTool
except ModuleNotFoundError as error:
    raise MissingExtraError("llama-index-core", "llama-index", "btm for LlamaIndex") from error


def wrap_tools(
    tools: Iterable[AsyncBaseTool | Callable[..., Any]], memory: ToolMemory
) -> list[AsyncBaseTool]:
    """Return copies of tools whose calls go through ``memory``; a plain function becomes a tool first.

    In act mode they stand in for each other, but for those that want a ``Context``. LlamaIndex hands tools no id of a
    call and no name of a run: give runs that share a memory a conversation each (``with memory.conversation("..."):``).
    """
    calls = FrameworkCalls(memory, view=_view)
    made = [tool if isinstance(tool, AsyncBaseTool) else FunctionTool.from_defaults(tool) for tool in tools]
    for tool in made:
        memory.describe(tool.metadata.get_name(), tool.metadata.description)
    # One that wants a workflow's context can only be called by the workflow.
    toolbox = {t.metadata.get_name(): t for t in made if not getattr(t, "requires_context", False)}
    return [fronted(tool, _LlamaTool, calls, toolbox) for tool in made]


class _LlamaTool:
    _btm: tuple[FrameworkCalls, Mapping[str, AsyncBaseTool]]
    metadata: Any

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        calls, toolbox = self._btm
        run, own = super().call, self.metadata.get_name()  # type: ignore[misc]
        hidden, shown = self._btm_split(kwargs)
        call = calls.tool_call(own, shown, "")

        def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            return run(*args, **arguments, **hidden) if name == own else toolbox[name].call(**arguments)

        return _output(calls.call(call, invoke, available=toolbox), own, shown)

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        calls, toolbox = self._btm
        run, own = super().acall, self.metadata.get_name()  # type: ignore[misc]
        hidden, shown = self._btm_split(kwargs)
        call = calls.tool_call(own, shown, "")

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            return await (
                run(*args, **arguments, **hidden) if name == own else toolbox[name].acall(**arguments)
            )

        return _output(await calls.acall(call, invoke, available=toolbox), own, shown)

    def _btm_split(self, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        context = getattr(self, "ctx_param_name", None)
        hidden = {name: value for name, value in kwargs.items() if name == context}
        return hidden, {name: value for name, value in kwargs.items() if name != context}


def _view(output: Any) -> Any:
    if not isinstance(output, ToolOutput):
        return output
    if output.is_error:
        return ToolResult(output.content, is_error=True)
    return output.raw_output


def _output(answer: AgentAnswer, tool: str, arguments: Mapping[str, Any]) -> ToolOutput:
    if isinstance(answer.value, ToolOutput):
        if not answer.said:
            return answer.value
        raw, text, failed = (
            answer.value.raw_output,
            answer.with_value(answer.value.content).text(),
            answer.value.is_error,
        )
    else:
        raw, text, failed = answer.value, answer.text(), answer.failed
    return ToolOutput(
        content=text, tool_name=tool, raw_input={"kwargs": dict(arguments)}, raw_output=raw, is_error=failed
    )
