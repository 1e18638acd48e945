"""Marks of an old answer that stand in the data: a stale flag, an as_of long past, HTTP's Warning 110."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding
from btm.classify.keys import Role
from btm.classify.rules import form
from btm.model import ErrorKind as K
from btm.model import ToolCall

DAY_S = 86_400.0
LIVE_S = DAY_S
"""Age beyond which the answer of a tool for current things (weather, prices, status) is stale."""
ANY_S = 30 * DAY_S
"""Age beyond which any answer that says as of when it holds is stale."""

_LIVE = form("stale", "live")
_PAST = form("stale", "past")
_NOTE = form("stale", "note")


def _found(rule: str, reason: str, sure: float) -> Finding:
    return Finding(K.STALE_DATA, f"stale:{rule}", reason, sure)


def of_field(role: Role, key: str, value: Any, call: ToolCall, now: float | None) -> Finding | None:
    """Return the mark of staleness that a field is; ages are measured from ``now`` (epoch seconds, or None)."""
    if not value:
        return None
    sign = role.stale
    if sign == "flag":
        return _found("flag", f"{key} is true", 0.95) if value is True else None

    if sign in ("note", "warning"):
        return _found("note", f"{key} says that this is not current", 0.85) if _is_old_note(value) else None
    if now is None or sign not in ("measured", "live"):
        return None
    return _of_date(sign == "measured", key, value, call, now)


def _is_old_note(value: Any) -> bool:
    texts = value[:5] if isinstance(value, list) else [value]
    return any(isinstance(t, str) and len(t) <= 400 and _NOTE.search(t) for t in texts)


def _of_date(measured: bool, key: str, value: Any, call: ToolCall, now: float) -> Finding | None:
    live, past = _time_of_tool(call.tool[:80])
    if not live and (not measured or past):
        return None
    at = dates.moment(value)
    if at is None:
        return None
    age = now - at - (DAY_S if dates.is_day(value) else 0.0)
    if age <= (LIVE_S if live else ANY_S) or _was_asked_for(value, call):
        return None
    sure = 0.85 if measured and live else 0.75 if measured else 0.7
    return _found("date", f"{key} is {age / DAY_S:.1f} days before the call", sure)


@lru_cache(maxsize=1_024)
def _time_of_tool(tool: str) -> tuple[bool, bool]:
    """Return whether a tool's name says that it tells of the present, and whether of the past."""
    past = _PAST.search(tool) is not None
    return not past and _LIVE.search(tool) is not None, past


def _was_asked_for(value: Any, call: ToolCall) -> bool:
    """A caller who asked for a day of the past got what was asked for."""
    if not isinstance(value, str):
        return False
    day = value[:10]
    for index, argument in enumerate(call.arguments.values()):
        if index >= 30:
            break
        if isinstance(argument, str) and day in argument[:100]:
            return True
    return False
