"""What a user expects of a tool's results and errors, as values that the fallback map fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from btm.model import ErrorKind


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
