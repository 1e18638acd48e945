"""Whose exception it is: the tool's own, or that of other middleware between the tool and btm.

Only the first is a tool failure. A guard that raises to end the run, a middleware that cannot be awaited or a tool
node that lacks what it must inject are none: their exceptions pass on untouched. Nothing is changed in the way of a
call that goes well: where an exception comes from stands in its traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import Any

from langchain_core.tools import BaseTool

_DOORS = frozenset({"invoke", "ainvoke", "run", "arun"})
"""The methods through which LangGraph's tool node enters a tool."""

_MOST_LINKS = 20


class PassedOn(BaseException):
    """Carries an exception that is none of the tool's past btm's core. No error: it teaches nothing."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class RefusedByPerson(BaseException):
    """Carries the answer for a call that a person refused past btm's core: no tool was run, and it teaches nothing."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


def tools_own(error: Exception, tool: str, call_id: str | None) -> Exception | None:
    """Return the tool's own exception behind ``error``: itself, one that it was raised from, or None if there is none.

    What LangGraph's tool node makes of arguments that a tool refused counts as the tool's own.
    """
    for link in _chain(error):
        if isinstance(link, Exception) and any(_entered(f, tool, call_id) for f in _frames(link)):
            return error if _same_words(error, link) else link
    return None


def _same_words(error: Exception, link: BaseException) -> bool:
    return error is link or type(error).__module__ == "langgraph.prebuilt.tool_node"


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(_MOST_LINKS):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def _frames(error: BaseException) -> Iterator[FrameType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _entered(frame: FrameType, tool: str, call_id: str | None) -> bool:
    """Whether this frame is a tool's own door, of the call that is being made: by its tool, or by its id."""
    if frame.f_code.co_name not in _DOORS:
        return False
    known = frame.f_locals
    entered = known.get("self")
    if not isinstance(entered, BaseTool):
        return False
    return entered.name == tool or (call_id is not None and _id_in(known) == call_id)


def _id_in(known: dict[str, Any]) -> Any:
    given = known.get("input")
    return given.get("id") if isinstance(given, dict) else known.get("tool_call_id")
