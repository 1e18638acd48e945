"""The value of a text that opens like JSON: JSON itself, a Python value as it is printed, one object a line."""

from __future__ import annotations

import ast
from typing import Any

import orjson

_PRINTED = 4_000
"""Characters of a printed value that are read."""


def parsed(text: str) -> Any:
    """Return the value of ``text``, or None where it has none."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    if "\n{" in text:
        return _of_lines(text)
    return _printed(text) if text.lstrip()[:2] in ("{'", "[{") and len(text) <= _PRINTED else None


def _of_lines(text: str) -> Any:
    """The objects of a stream, or the last alone where it is an error: a stream ends with what became of it."""
    try:
        rows = [orjson.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None
    return rows[-1] if isinstance(rows[-1], dict) and "error" in rows[-1] else rows


def _printed(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
