"""How long a failing service asks to be left alone: headers, fields, and sentences. All results are seconds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

from btm.classify.rules import form, table

LONGEST_S = 30 * 24 * 3600.0
"""A wait beyond 30 days is taken for a misread number, and dropped."""

_DATA = table("waits")


def _worth(name: str) -> dict[str, float]:
    return {word: float(worth) for worth, words in _DATA[name].items() for word in words.split()}


_HEADERS, _FIELDS, _UNIT = _worth("headers"), _worth("fields"), _worth("units")
_REMAINING, _RESETS, _CUES = (tuple(_DATA[name].split()) for name in ("remaining", "resets", "cues"))
_EPOCH_S, _EPOCH_MS, _NO_TIME = 1e9, 1e12, 1e15  # larger numbers are moments, not spans
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d{1,13}(?:\.\d{1,9})?")
_PIECE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?([a-z]{1,12}|秒|分钟|分|小时|時間)")
_SENTENCE = form("retry_after", "sentence")


def seconds_of(value: object, now: float | None, scale: float = 1.0) -> float | None:
    """Read a Retry-After value: seconds as a number or text, "34s", or a moment (a date, epoch seconds) less ``now``."""
    if isinstance(value, bytes):
        value = value[:100].decode("latin-1")
    text = value[:100].strip() if isinstance(value, str) else ""
    if _NUMBER.fullmatch(text):
        value = float(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < _NO_TIME:
            return None
        return _until(value, now) if value >= _EPOCH_S else _sane(value * scale)
    if _ISO.match(text):
        return _date_seconds(text, now, datetime.fromisoformat)
    return _span_seconds(text.lower()) if text[:1].isdigit() else _date_seconds(text, now)


def _until(moment: float, now: float | None) -> float | None:
    """Return the seconds until a moment in epoch seconds or milliseconds."""
    moment /= 1_000.0 if moment >= _EPOCH_MS else 1.0
    return None if now is None else _sane(max(0.0, moment - now))


def _date_seconds(
    text: str, now: float | None, read: Callable[[str], datetime] = parsedate_to_datetime
) -> float | None:
    if now is None:
        return None
    try:
        moment = read(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return _sane(max(0.0, moment.timestamp() - now))
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _span_seconds(text: str) -> float | None:
    total, seen = 0.0, False
    for amount, unit in _PIECE.findall(text):
        factor = _UNIT.get(unit)
        if factor is None:
            break
        total, seen = total + float(amount) * factor, True
    return _sane(total) if seen else None


def _sane(seconds: float) -> float | None:
    return round(seconds, 6) if math.isfinite(seconds) and 0 <= seconds <= LONGEST_S else None


def in_text(text: str) -> float | None:
    """Return the wait that a sentence asks for: "try again in 1m30s", "retry after 12 seconds", "请在 30 秒后重试"."""
    if _DIGIT.search(text) is None:
        return None
    low = text.lower()
    for found in _SENTENCE.finditer(text) if any(cue in low for cue in _CUES) else ():
        span = next(group for group in found.groups() if group).lower()
        seconds = _sane(float(span)) if _NUMBER.fullmatch(span) else _span_seconds(span)
        if seconds is not None:
            return seconds
    return None


def in_headers(headers: Mapping[Any, Any], now: float | None, *, limited: bool = False) -> float | None:
    """Return what the headers of an answer ask for; a plain dict's names are compared case-blind, at most 100 are read.

    When a limit is reset counts where the limit is what failed: nothing remains of it, or the caller knows (``limited``).
    """
    if type(headers) is dict:
        # The libraries' own mappings compare case-blind, and are slow to walk.
        headers = {n.lower(): v for n, v in islice(headers.items(), 100) if isinstance(n, str)}
    for name, scale in _HEADERS.items():
        asked = seconds_of(headers.get(name), now, scale)
        if asked is not None:
            return asked
    remaining = next((text for n in _REMAINING if (text := headers.get(n)) is not None), None)
    if str(remaining).strip() != "0" and not (limited and remaining is None):
        return None
    return next((wait for n in _RESETS if (wait := seconds_of(headers.get(n), now)) is not None), None)


def in_body(body: Mapping[Any, Any], now: float | None, depth: int = 0) -> float | None:
    """Return what a field of a JSON error body asks for (``retry_after``, ``retryDelay`` and their like)."""
    for name in islice(body, 100):
        scale = _FIELDS.get(name.lower()) if isinstance(name, str) and len(name) < 30 else None
        wait = None if scale is None else seconds_of(body[name], now, scale)
        if wait is not None:
            return wait
    inner = (
        [body.get(name) for name in ("error", "details", "parameters", "errors", "meta")] if depth < 3 else []
    )
    parts = (part for value in inner for part in (value[:5] if isinstance(value, list) else (value,)))
    waits = (in_body(part, now, depth + 1) for part in parts if isinstance(part, Mapping))
    return next((wait for wait in waits if wait is not None), None)
