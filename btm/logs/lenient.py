"""JSON as logs have it, which is a little more than JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

_PREFIX = 300  # bytes
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)

NO_JSON = re.compile(rb"\s*(?:[^\s{\[\"]|\[\s*(?:[^\s\d{\[\"\]tfn-]|\d+\s*[^\s\d,.\]eE]))")
"""A line that no JSON document begins with: a logger's words, a time in brackets. Records may follow."""


def after_prefix(line: bytes) -> bytes:
    """Return the JSON object of a line that a logger put a time and level before, or the line as it is."""
    start = line.find(b'{"', 0, _PREFIX)
    return line[start:] if start > 0 and NO_JSON.match(line) else line


def loads(raw: bytes) -> Any:
    """Parse JSON; what real logs hold beyond the standard (NaN, stray bytes, lone surrogates) is read as well.

    Raises ValueError for anything else, and for nesting that is too deep to be a log.
    """
    try:
        return orjson.loads(raw)
    except ValueError as strict:
        try:
            return json.loads(_LONE_SURROGATE.sub(rb"\\ufffd", raw).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise strict from None
