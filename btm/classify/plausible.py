"""Values that cannot be true: outside nature's bounds, against each other, or against arithmetic.

Only what is impossible is called a factual error; what is merely unusual is left alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding, names
from btm.classify.keys import Role, snake
from btm.model import ErrorKind as K
from btm.model import ToolCall

_WEATHER = re.compile(r"weather|forecast|climate|conditions", re.IGNORECASE)


def implausible(rule: str, reason: str, sure: float = 0.85) -> Finding:
    """Return the finding of a value that cannot be true."""
    return Finding(K.FACTUAL_ERROR, f"implausible:{rule}", reason, sure)


def number(value: Any) -> float | None:
    """Return a finite number (not a truth value) as a float, else None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            as_float = float(value)
        except OverflowError:
            return None
        return as_float if math.isfinite(as_float) else None
    return None


def of_field(role: Role, key: str, value: Any, call: ToolCall) -> Finding | None:
    """Return a value outside of what nature or the calendar allows under its name."""
    if role.day and dates.is_impossible(value):
        return implausible("date", f"{key} is a day that no calendar has")
    if role.bound is None:
        return None
    size = number(value)
    # -1 stands for "unknown" in too many interfaces to be called impossible.
    if size is None or size == -1.0:
        return None
    if not role.bound.low <= size <= role.bound.high:
        return implausible("bounds", f"{key} = {size:g} is not {role.bound.what}", 0.9)
    if "temperature" in role.bound.what and _WEATHER.search(call.tool[:80]) and not -150 < size < 400:
        return implausible("bounds", f"{key} = {size:g} is no weather on earth")
    return None


Signs = list[tuple[Role, Any, Any]]
"""Fields of one mapping that may be a sign of something: their role, key and value."""


_ENDINGS = ("", "_date", "_time", "_at")


def can_be_ordered(roles: Iterable[Role], names: Collection[str]) -> bool:
    """Whether a mapping with these field names (in snake_case) holds a pair that :func:`order` would compare."""
    if any(f"departure{e}" in names and f"arrival{e}" in names for e in _ENDINGS):
        return True
    return any(other in names for role in roles for other in role.partners)


def order(signs: Signs, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    """Return a pair that stands the wrong way round: check-out before check-in, a minimum above its maximum."""
    fields = {snake(key): value for key, value in body.items() if isinstance(key, str)}
    for role, _, value in signs:
        for other in role.partners:
            if other in fields:
                found = _wrong_way(role.name, value, other, fields[other])
                if found is not None:
                    return found
    return _travel(fields, call.tool)


def _travel(fields: Mapping[str, Any], tool: str) -> Finding | None:
    """A journey ends after it begins; a stay begins with the arrival."""
    for ending in _ENDINGS:
        left, came = f"departure{ending}", f"arrival{ending}"
        if left not in fields or came not in fields:
            continue
        if _STAY.search(tool) or "nights" in fields:
            return _wrong_way(came, fields[came], left, fields[left])
        if _JOURNEY.search(tool) or not _JOURNEY_FIELDS.isdisjoint(fields):
            return _wrong_way(left, fields[left], came, fields[came])
    return None


_STAY = re.compile(r"stay|hotel|room|guest|accommod|lodging", re.IGNORECASE)
_JOURNEY = re.compile(r"flight|train|trip|journey|route|itinerary|bus|ferry|connection|ticket", re.IGNORECASE)
_JOURNEY_FIELDS = names("flight flight_number train airline carrier origin destination from to")


def _wrong_way(name: str, value: Any, other: str, second: Any) -> Finding | None:
    a, b = number(value), number(second)
    if a is not None and b is not None:
        ordered = any(w in name for w in ("min", "low", "start", "from", "begin"))
        if ordered and a > b and any(w in name for w in ("min", "low")):
            return implausible("order", f"{name} = {a:g} is above {other} = {b:g}")
        return None
    at, until = dates.moment(value), dates.moment(second)
    if at is None or until is None or not isinstance(value, str) or not isinstance(second, str):
        return None
    # Local times of two places differ by up to a day, and across the date line one arrives the day before.
    slack = 90_000.0
    if dates.has_zone(value) and dates.has_zone(second):
        slack = 60.0
    elif dates.is_day(value) and dates.is_day(second) and not name.startswith("departure"):
        slack = 0.0
    if at > until + slack:
        return implausible("order", f"{name} is after {other}", 0.9)
    return None


def echo(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return an identity in the answer that is not the one asked for: order W1 was asked for, W2 came back."""
    for name, asked in call.arguments.items():
        if name not in body or body[name] == asked:
            continue
        got = body[name]
        if not _is_identity(name) or type(asked) not in (str, int) or type(got) not in (str, int):
            continue
        if _identity(got) != _identity(asked):
            return implausible("echo", f"{name} in the answer is not the one asked for", 0.75)
    return None


_IDENTITIES = frozenset({"id", "symbol", "ticker", "sku", "isbn", "iata"})


def _is_identity(name: object) -> bool:
    return isinstance(name, str) and (name in _IDENTITIES or name.endswith("_id"))


def _identity(value: str | int) -> str:
    return re.sub(r"[\W_]", "", str(value)[:200]).lower()
