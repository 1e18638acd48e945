"""Marks of an old answer that stand in the data: a stale flag, an as_of long past, HTTP's Warning 110."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding
from btm.classify.keys import Role
from btm.classify.rules import form
from btm.model import ErrorKind as K
from btm.model import ToolCall

DAY_S = 86_400.0
"""A day: beyond this age the answer of a tool for current things (weather, prices, status) is stale."""
ANY_S = 30 * DAY_S
"""Age beyond which any answer that says as of when it holds is stale."""

_HEAD = 400

_LIVE = form("stale", "live")
_PAST = form("stale", "past")
_NOTE = form("stale", "note")
_TEXT = form("stale", "text")


def _found(rule: str, reason: str, sure: float) -> Finding:
    return Finding(K.STALE_DATA, f"stale:{rule}", reason, sure)


def of_field(role: Role, key: str, value: Any, call: ToolCall, now: float | None) -> Finding | None:
    """Return the mark of staleness that a field is; ages are measured from ``now`` (epoch seconds, or None)."""
    if role.stale == "flag":
        return _found("flag", f"{key} is true", 0.95) if value is True else None
    if role.stale == "note":
        return _found("note", f"{key} says that this is not current", 0.85) if _is_old_note(value) else None
    return None if now is None or not value else _of_date(role.stale == "measured", key, value, call, now)


def in_text(text: str) -> Finding | None:
    """Return the mark of staleness at the beginning of a text: it shows the last known value."""
    head = text[:_HEAD]
    if "last known" not in head.lower() or _TEXT.search(head) is None:
        return None
    return _found("text", "the text says that it shows the last known value", 0.85)


def _is_old_note(value: Any) -> bool:
    texts = value[:5] if isinstance(value, list) else [value]
    return any(isinstance(t, str) and len(t) <= 400 and _NOTE.search(t) for t in texts)


def _of_date(measured: bool, key: str, value: Any, call: ToolCall, now: float) -> Finding | None:
    live, past = _time_of_tool(call.tool[:80])
    at = dates.moment(value) if live or (measured and not past) else None
    if at is None:
        return None
    age = now - at - (DAY_S if dates.is_day(value) else 0.0)
    if age <= (DAY_S if live else ANY_S) or _was_asked_for(value, call):
        return None
    return _found("date", f"{key} is {age / DAY_S:.1f} days before the call", 0.8)


@lru_cache(maxsize=1_024)
def _time_of_tool(tool: str) -> tuple[bool, bool]:
    """Return whether a tool's name says that it tells of the present, and whether of the past."""
    past = _PAST.search(tool) is not None
    return not past and _LIVE.search(tool) is not None, past


def _was_asked_for(value: Any, call: ToolCall) -> bool:
    """A caller who asked for a day of the past got what was asked for."""
    asked = (text[:100] for text in islice(call.arguments.values(), 30) if isinstance(text, str))
    return isinstance(value, str) and any(value[:10] in text for text in asked)
