"""How the elements of a JSON array begin, so that the next one can be found without reading what lies between."""

from __future__ import annotations

import re
from typing import NamedTuple

# From the last byte of an element to the first key of the next.
_SEPARATOR = re.compile(rb'[}\]]\s*,\s*(?:[\[{]\s*)+"([^"\\]{1,100})"')
_SIMPLE = rb'\s*:\s*(?:"(?:[^"\\]|\\.){0,400}"|[-+.\w]{1,40})\s*,\s*'
_NEXT_KEY = re.compile(_SIMPLE + rb'"([^"\\]{1,100})"', re.DOTALL)
_KEYS = 4
SPAN = 2_000  # bytes that the beginning of an element takes, at most, up to its last marking key


class Mark(NamedTuple):
    """How the elements of an array begin: with ``separator`` and a few keys, of which ``needle`` is the rarest.

    The first key alone is not enough: a simulation and a tool call within it both begin with an ``id``.
    """

    needle: bytes
    separator: bytes
    pattern: re.Pattern[bytes]


def mark_of(element: bytes, buffer: bytes, start: int) -> Mark | None:
    """Return how elements begin, seen from the one that follows ``start`` (the last byte of ``element``)."""
    found = _SEPARATOR.match(buffer, start)
    if found is None:
        return None
    separator, pattern = found[0], re.escape(found[0])
    best = (element.count(b'"' + found[1] + b'"'), b'"' + found[1] + b'"', pattern)
    for _ in range(_KEYS - 1):
        found = _NEXT_KEY.match(buffer, found.end())
        if found is None:
            break
        needle = b'"' + found[1] + b'"'
        pattern += _SIMPLE + re.escape(needle)
        best = min(best, (element.count(needle), needle, pattern), key=lambda choice: choice[0])
    _, needle, pattern = best
    return Mark(needle, separator, re.compile(pattern, re.DOTALL))
