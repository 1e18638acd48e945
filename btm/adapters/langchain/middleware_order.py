"""Other middleware around ours: a retry that hides its tries from us, or that we keep from ever trying again.

LangChain does not tell a middleware who its neighbours are. They are looked for once, at the first tool call: those
in what the handler closes over. What is not found is not warned about.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from langchain.agents.middleware import AgentMiddleware

_log = logging.getLogger("btm")

Middleware = AgentMiddleware[Any, Any, Any]

_DEPTH = 40


def warn_about_neighbours(ours: Middleware, handler: Callable[..., Any], *, answers: bool) -> None:
    """Log a warning for each retry middleware around us. ``answers``: we turn exceptions into messages."""
    inside = list(_met(handler))
    outside = [m for m in _all(handler) if m is not ours and not any(m is other for other in inside)]
    for name in dict.fromkeys(type(m).__name__ for m in inside if _retries(m)):
        _log.warning(
            "%s is listed after BTMMiddleware: its tries are hidden from btm. List it before, and pass raises=True "
            "to BTMMiddleware; or leave it out and use act mode",
            name,
        )
    for name in dict.fromkeys(type(m).__name__ for m in outside if _retries(m)) if answers else ():
        _log.warning(
            "%s is listed before BTMMiddleware, which answers failures with messages: it will never see one to try "
            "again. Pass raises=True to BTMMiddleware; or leave the retry out and use act mode",
            name,
        )


def _retries(middleware: Middleware) -> bool:
    names = " ".join(cls.__name__.lower() for cls in type(middleware).__mro__)
    return "retry" in names and type(middleware).wrap_tool_call is not AgentMiddleware.wrap_tool_call


def _all(handler: Callable[..., Any]) -> Iterator[Middleware]:
    """Every middleware that wraps tool calls: the innermost handler closes over the tool node, which has them all."""
    for node in _closed_over(handler):
        for name in ("_wrap_tool_call", "_awrap_tool_call"):
            yield from _met(getattr(node, name, None))


def _met(function: Any) -> Iterator[Middleware]:
    return (thing for thing in _closed_over(function) if isinstance(thing, AgentMiddleware))


def _closed_over(function: Any, depth: int = 0) -> Iterator[Any]:
    """Yield what a function closes over, and what the functions among it do; a method stands for its object."""
    owner = getattr(function, "__self__", None)
    if owner is not None:
        yield owner
        return
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None and depth < _DEPTH:
        yield from _closed_over(wrapped, depth + 1)
        return
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if not callable(content):
            yield content
        elif depth < _DEPTH:
            yield content
            yield from _closed_over(content, depth + 1)
