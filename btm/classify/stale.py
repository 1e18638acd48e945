"""Marks of an old answer that stand in the data: a stale flag, an as_of long past, HTTP's Age and Warning 110."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.model import ErrorKind as K
from btm.model import ToolCall

DAY_S = 86_400.0
LIVE_S = DAY_S
"""Age beyond which the answer of a tool for current things (weather, prices, status) is stale."""
ANY_S = 30 * DAY_S
"""Age beyond which any answer that says as of when it holds is stale."""

_FLAG = re.compile(r"^(?:is_|data_)?(?:stale|outdated)$")
_MEASURED = re.compile(
    r"^(?:data_)?as_?of(?:_date|_time)?$|^observ(?:ed|ation)_(?:at|time|on|date)$|^cached_at$|^fetched_(?:at|on)$|^retrieved_(?:at|on)$|^(?:last_)?refreshed(?:_at)?$|^(?:last_)?synced?(?:_at|_time)?$|^last_(?:refresh|sync|updated?|fetched|known|poll|report)(?:ed)?(?:_at|_time|_on)?$"
    r"|^data_(?:timestamp|time|date)$|^(?:quote|price|trade|rate|snapshot|sample|reading|measurement)_(?:time|timestamp|date|at)$|^(?:measured|sampled|computed|reported)_(?:at|on)$"
)
_LIVE_ONLY = re.compile(r"^(?:timestamp|time|date|day|generated_at|valid_(?:on|until|to|through|date|for)|update_time|updated)$")
_LIVE = re.compile(
    r"weather|price|quote|rate|forex|currency|traffic|status|current|live|latest|today|now|availability|available|inventory|stock|sensor|queue|menu|departures?|arrivals?|conditions|temperature|forecast|timetable|of_the_day|score|balance|position|location|track|headline|news|exchange",
    re.IGNORECASE,
)
_PAST = re.compile(r"histor|archiv|past|previous|on_date|report|statement|log|audit|event|created|search|list_|doc|article|page|file|policy|order|reservation|user|customer|ticket|issue|commit|message", re.IGNORECASE)
_NOTE = re.compile(
    r"last[- ]known|(?:data|results?|values?|information|prices?|rates?|feed|response|cache)\b.{0,40}(?:\bstale\b|outdated|out of date|not (?:be )?(?:current|up[- ]to[- ]date)|may be old)|(?:showing|returned|using|served|serving) (?:\w+ ){0,3}(?:cached|stale|old)|live (?:feed|data) (?:is )?unavailable|not been (?:updated|refreshed)|\bstale (?:data|cache|copy|response)|no longer updated|veraltet|périmé|desactualizad|过期数据|缓存数据",
    re.IGNORECASE,
)
_WARNING = re.compile(r"^\s*11[0-3]\b|response is stale|revalidation failed|disconnected operation|heuristic expiration", re.IGNORECASE)


def _found(rule: str, reason: str, sure: float) -> Finding:
    return Finding(K.STALE_DATA, f"stale:{rule}", reason, sure)


def in_mapping(body: Mapping[str, Any], call: ToolCall, now: float | None) -> Finding | None:
    """Return the mark of staleness in one mapping of a result, ages measured from ``now`` (epoch seconds, or None)."""
    for key, value in body.items():
        if value in (None, "", False, 0) or not isinstance(key, str):
            continue
        name = snake(key)
        if value is True:
            if _FLAG.search(name):
                return _found("flag", f"{key} is true", 0.95)
            continue
        if name == "warning" and isinstance(value, str) and _WARNING.search(value):
            return _found("warning-header", "the answer carries HTTP Warning 110 to 113", 0.95)
        if name == "age" and _is_headers(body):
            age = float(value) if isinstance(value, int) else float(value) if isinstance(value, str) and value.isdigit() else 0.0
            if age > DAY_S:
                return _found("age-header", f"the answer's Age is {age:.0f} s", 0.8)
        if name in ("note", "notes", "notice", "message", "warning", "warnings", "info", "remark") and _is_old_note(value):
            return _found("note", f"{key} says that this is not current", 0.85)
        if now is not None:
            found = _of_date(name, key, value, call, now)
            if found is not None:
                return found
    return None


def _is_headers(body: Mapping[str, Any]) -> bool:
    return any(isinstance(k, str) and snake(k) in ("x_cache", "warning", "cache_control", "etag", "content_type", "date", "via") for k in body)


def _is_old_note(value: Any) -> bool:
    texts = value[:5] if isinstance(value, list) else [value]
    return any(isinstance(t, str) and len(t) <= 400 and _NOTE.search(t) for t in texts)


def _of_date(name: str, key: str, value: Any, call: ToolCall, now: float) -> Finding | None:
    measured = _MEASURED.search(name)
    if not measured and not _LIVE_ONLY.search(name):
        return None
    at = dates.moment(value)
    if at is None or _was_asked_for(value, call):
        return None
    age = now - at - (DAY_S if dates.is_day(value) else 0.0)
    tool = call.tool[:80]
    live = _LIVE.search(tool) is not None and not _PAST.search(tool)
    if not live and (not measured or _PAST.search(tool)):
        return None
    limit = LIVE_S if live else ANY_S
    if age <= limit:
        return None
    sure = 0.85 if measured and live else 0.75 if measured else 0.7
    return _found("date", f"{key} is {age / DAY_S:.1f} days before the call", sure)


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
