"""OpenAI Agents SDK: ``Agent(tools=wrap_tools(tools, memory))``. Needs the extra ``openai-agents``.

The recovery context stands at the end of the failed call's result. Hosted tools, which run at the provider, pass
unchanged. An unknown tool never reaches a tool: give ``RunConfig(tool_not_found_behavior="return_error_to_model")``.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import orjson

from btm.adapters.framework import FrameworkCalls, RunNames
from btm.errors import MissingExtraError
from btm.memory import ToolMemory

try:
    from agents import FunctionTool, Tool
    from agents.tool_context import ToolContext
except ModuleNotFoundError as error:
    raise MissingExtraError("openai-agents", "openai-agents", "btm for the OpenAI Agents SDK") from error

_Invoke = Callable[[ToolContext[Any], str], Awaitable[Any]]


def wrap_tools(tools: Iterable[Tool], memory: ToolMemory) -> list[Tool]:
    """Return copies of the function tools that go through ``memory``, and all other tools as they are.

    In act mode they stand in for each other. Each keeps its name, schema, guardrails, approval and time limit. Its
    ``failure_error_function`` is asked in observe mode only: in the others btm says what the model reads.
    """
    calls = _AgentsCalls(memory)
    return [calls.wrap(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]


class _AgentsCalls(FrameworkCalls):
    def __init__(self, memory: ToolMemory) -> None:
        super().__init__(memory)
        self._functions: dict[str, _Invoke] = {}
        self._runs = RunNames()

    def wrap(self, tool: FunctionTool) -> FunctionTool:
        if getattr(tool, "_btm", False):
            return tool
        made = copy.copy(tool)
        # The function below the tool's own error handler, so that the exception is seen and not its text.
        handler = made.on_invoke_tool
        function: _Invoke = getattr(handler, "_invoke_tool_impl", handler)

        @functools.wraps(function)
        async def through_btm(ctx: ToolContext[Any], given: str) -> Any:
            return await self._through(made.name, ctx, given)

        self._functions[made.name] = function
        self.memory.describe(made.name, made.description)
        if function is handler:
            made.on_invoke_tool = through_btm
        else:
            handler._invoke_tool_impl = through_btm  # the copy's own
        made._btm = True
        return made

    async def _through(self, tool: str, ctx: ToolContext[Any], given: str) -> Any:
        # All calls of a run count into one object.
        call = self.tool_call(tool, given, self._runs.name(ctx.usage), ctx.tool_call_id)

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            if arguments is call.arguments and name == tool:
                return await self._functions[tool](ctx, given)
            text = orjson.dumps(dict(arguments)).decode()
            other = copy.copy(ctx)
            other.tool_name, other.tool_arguments, other._function_tool_arguments = name, text, None
            return await self._functions[name](other, text)

        return (await self.acall(call, invoke, available=self._functions)).given()
