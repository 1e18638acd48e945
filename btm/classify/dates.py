"""Dates and times as results write them: ISO texts, plain days, epoch seconds or milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_CLOCK = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")


def is_day(value: object) -> bool:
    """Whether a text names a day without a time."""
    return isinstance(value, str) and len(value) == 10 and _DAY.fullmatch(value) is not None


def moment(value: object) -> float | None:
    """Return a time in epoch seconds; a day is its beginning, a time without a zone is UTC. None for anything else."""
    if isinstance(value, str):
        return _text_moment(value.strip()[:40])
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 9.4e8 < value < 4.2e9:  # 1999 to 2103
            return float(value)
        if 9.4e11 < value < 4.2e12:
            return float(value) / 1000.0
    return None


def has_zone(value: object) -> bool:
    """Whether a time text says its zone, so that two of them can be compared to the minute."""
    return (
        isinstance(value, str)
        and bool(_CLOCK.match(value))
        and (value.endswith("Z") or value[-6:-5] in ("+", "-"))
    )


@lru_cache(maxsize=4_096)
def _text_moment(text: str) -> float | None:
    if not _DAY.match(text):
        return None
    try:
        parsed = datetime.fromisoformat(text)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError, OSError):
        return None
