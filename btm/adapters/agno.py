"""Agno: ``Agent(tools=tools, tool_hooks=[recovering(memory, tools)])``. Needs the extra ``agno``.

The recovery context stands at the end of the failed call's error. ``RetryAgentRun``, ``StopAgentRun`` and cancelled runs
pass as without btm.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from btm.adapters.framework import FrameworkCalls
from btm.memory import ToolMemory


def recovering(memory: ToolMemory, tools: Iterable[Any] = ()) -> Callable[..., Any]:
    """Return a tool hook that takes every call of an agent through ``memory``, in sync and async runs.

    ``tools`` are what act mode may call in place of each other: functions or agno's ``Function`` objects that need no
    injected arguments. Agno hands hooks no id of a call.
    """
    calls = FrameworkCalls(memory)
    toolbox = {_name(tool): _function(tool) for tool in tools if callable(_function(tool))}

    def hook(
        function_name: str, function: Callable[..., Any], arguments: dict[str, Any], run_context: Any = None
    ) -> Any:
        run = getattr(run_context, "session_id", None) or getattr(run_context, "run_id", None) or ""
        call = calls.tool_call(function_name, arguments, run, description=function.__doc__)

        def invoke(name: str, given: Mapping[str, Any]) -> Any:
            return function(**given) if name == function_name else toolbox[name](**given)

        if not inspect.iscoroutinefunction(function):
            usable = [name for name, other in toolbox.items() if not inspect.iscoroutinefunction(other)]
            return calls.call(call, invoke, available=[*usable, function_name]).given_or_raised()

        async def ainvoke(name: str, given: Mapping[str, Any]) -> Any:
            if name == function_name or inspect.iscoroutinefunction(toolbox[name]):
                return await invoke(name, given)
            return await asyncio.to_thread(invoke, name, given)

        async def awaited() -> Any:
            return (await calls.acall(call, ainvoke, available=[*toolbox, function_name])).given_or_raised()

        return awaited()

    return hook


def _function(tool: Any) -> Any:
    return getattr(tool, "entrypoint", None) or tool


def _name(tool: Any) -> str:
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))
