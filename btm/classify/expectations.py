"""What users expect of a tool's results and errors (the fallback map fills these), and a result against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding
from btm.classify.plausible import number
from btm.classify.shape import json_type
from btm.model import ErrorKind
from btm.model import ErrorKind as K


@dataclass(frozen=True, slots=True)
class Freshness:
    """The result's ``field`` (dotted path) is a time, and must be no more than ``within_s`` seconds old."""

    field: str
    within_s: float


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a good result of one tool looks like. Paths are dotted; ``items[].price`` reaches into lists.

    ``types`` maps a path to a JSON type name (string, number, integer, boolean, array, object, null), ``ranges``
    to an inclusive (minimum, maximum) in which None leaves a side open.
    """

    required: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    fresh: Freshness | None = None


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """A user's own rule: a regular expression searched, case-blind, in the text of an error or result.

    ``kind`` None says that a result with this text is none (never of an exception, nor of a flagged error).
    """

    match: str
    kind: ErrorKind | None


_MOST_VALUES = 1_000
_MISSING: Any = object()


def at_path(value: Any, path: str) -> Iterator[Any]:
    """Yield what stands at a dotted path, ``[]`` for every member of a list; a sentinel where it is absent.

    At most 1,000 values are visited, so that a huge list costs no more than a large one.
    """
    budget = [_MOST_VALUES]
    parts = [p for p in path.replace("[]", ".[]").split(".") if p]
    yield from _at(value, parts, budget)


def _at(value: Any, parts: list[str], budget: list[int]) -> Iterator[Any]:
    budget[0] -= 1
    if budget[0] < 0:
        return
    if not parts:
        yield value
        return
    head, rest = parts[0], parts[1:]
    if head == "[]":
        if not isinstance(value, list | tuple):
            yield _MISSING
            return
        for item in value:
            if budget[0] < 0:
                return
            yield from _at(item, rest, budget)
    elif isinstance(value, Mapping) and head in value:
        yield from _at(value[head], rest, budget)
    elif isinstance(value, list | tuple) and value:
        yield from _at(value, ["[]", *parts], budget)
    else:
        yield _MISSING


def against(value: Any, expected: Expectations, now: float | None) -> Finding | None:
    """Return the first expectation that ``value`` (JSON values) does not meet, or None."""
    named = expected.required or expected.types or expected.ranges
    if named and not isinstance(value, Mapping | list | tuple):
        return Finding(K.MALFORMED, "expect:structure", "fields were expected, and the answer has none", 0.8)
    for path in expected.required:
        if any(found is _MISSING or found is None for found in at_path(value, path)):
            reason = f"the required field {path} is missing"
            return Finding(K.PARTIAL_DATA, "expect:required", reason, 0.95, missing=path)
    for path, wanted in expected.types.items():
        for found in at_path(value, path):
            if found is not _MISSING and not _fits(found, wanted):
                return Finding(
                    K.SCHEMA_DRIFT,
                    "shape:expect:type",
                    f"{path} is {json_type(found)}, expected {wanted}",
                    0.95,
                )
    for path, (low, high) in expected.ranges.items():
        for found in at_path(value, path):
            size = number(found) if found is not _MISSING else None
            if size is not None and ((low is not None and size < low) or (high is not None and size > high)):
                return Finding(
                    K.FACTUAL_ERROR, "expect:range", f"{path} = {size:g} is out of its range", 0.95
                )
    return _fresh(value, expected, now)


def _fits(value: Any, wanted: str) -> bool:
    got = json_type(value)
    return (
        got == wanted
        or (wanted == "number" and got == "integer")
        or (wanted == "integer" and got == "number" and float(value).is_integer())
    )


def _fresh(value: Any, expected: Expectations, now: float | None) -> Finding | None:
    if expected.fresh is None or now is None:
        return None
    for found in at_path(value, expected.fresh.field):
        at = None if found is _MISSING else dates.moment(found)
        if at is not None and now - at > expected.fresh.within_s:
            age = now - at
            return Finding(
                K.STALE_DATA,
                "expect:fresh",
                f"{expected.fresh.field} is {age:.0f} s old, allowed are {expected.fresh.within_s:.0f} s",
                0.95,
            )
    return None
