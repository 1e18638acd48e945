"""Another face for an object of LangChain's: its state is shared, its class is another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.tools import BaseTool

from btm.memory import ToolMemory

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
