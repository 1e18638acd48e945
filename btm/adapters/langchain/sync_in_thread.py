"""Sync tools with a time limit, awaited: in a thread of their own, so that one that hangs holds nothing up.

LangChain runs them in asyncio's thread pool, whose threads ``asyncio.run`` waits for before it returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool

from btm.adapters.langchain.tool_copy import facade
from btm.runtime.timeouts import in_own_thread


def detached(tool: BaseTool) -> BaseTool:
    """Return ``tool`` with an ``ainvoke`` that invokes it in a thread of its own; an async tool as it is."""
    return tool if has_own_await(tool) else facade(tool, _class_for(type(tool)))


def has_own_await(tool: BaseTool) -> bool:
    """Whether a tool can be awaited without a thread."""
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun


async def run_aside(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a tool's ``_run`` in a thread of its own, with what LangChain has handed to its ``_arun``."""
    manager = kwargs.get("run_manager")
    if manager is not None:
        kwargs["run_manager"] = manager.get_sync()
    return await in_own_thread(tool._run, *args, **kwargs)


def described(base: type[BaseTool]) -> Callable[..., Any]:
    """Return the method in whose signature LangChain looks for what to hand in when a tool is awaited."""
    return base._run if base._arun is BaseTool._arun else base._arun


@functools.lru_cache(maxsize=256)
def _class_for(base: type[BaseTool]) -> type[BaseTool]:
    async def ainvoke(self: Any, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        return await in_own_thread(self.invoke, input, config, **kwargs)

    names = {"__module__": base.__module__, "__doc__": base.__doc__, "__slots__": ()}
    return type(base.__name__, (base,), {**names, "ainvoke": ainvoke})
