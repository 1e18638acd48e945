"""Another face for an object of LangChain's: its state is shared, its class is another.

One is that of a sync tool with a time limit, awaited: it runs in a thread of its own, so that one that hangs holds nothing
up. LangChain runs them in asyncio's thread pool, whose threads ``asyncio.run`` waits for before it returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.tools import BaseTool

from btm.memory import ToolMemory
from btm.runtime.timeouts import in_own_thread

_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")

Tool = TypeVar("Tool", bound=BaseTool)


def facade(tool: BaseTool, cls: type[Tool]) -> Tool:
    """Return an object of ``cls`` that shares the state of ``tool``: what is set on one is seen on the other."""
    made = cls.__new__(cls)
    for name in _STATE:
        object.__setattr__(made, name, getattr(tool, name))
    return made


def with_function(tool: BaseTool, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> BaseTool:
    """Return a copy of a tool whose own function (and coroutine) is what ``change`` makes of it."""
    given = {name: getattr(tool, name, None) for name in ("func", "coroutine")}
    changed = {name: change(function) for name, function in given.items() if function is not None}
    if changed:
        return tool.model_copy(update=changed)
    base = type(tool)
    methods = {n: change(base.__dict__[n]) for n in ("_run", "_arun") if n in base.__dict__}
    return facade(tool, type(base.__name__, (base,), {"__module__": base.__module__, **methods}))


def describe(memory: ToolMemory, tool: BaseTool) -> None:
    """Tell a memory what a tool says of itself; langchain-mcp-adapters keeps the server's hints in its metadata."""
    hint = (tool.metadata or {}).get("readOnlyHint")
    memory.describe(tool.name, tool.description, read_only=hint if isinstance(hint, bool) else None)


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
