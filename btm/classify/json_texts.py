"""The value of a text that opens like JSON: JSON itself, a Python value as it is printed, one object a line."""

from __future__ import annotations

import ast
import re
from typing import Any

import orjson

_PRINTED = 4_000
"""Characters of a printed value that are read."""


_SMALL = 3
"""Fields of a body that can be no more than a wrapper."""

_PADDED = re.compile(r"[A-Za-z_$][\w$.]{0,80}\((.*)\);?\s*", re.DOTALL)


def unpadded(text: str) -> str:
    """Return what a call to a function in JavaScript (JSONP) hands over, or the text itself."""
    if "({" not in text[:84] or not text.rstrip().endswith((")", ");")):
        return text
    found = _PADDED.fullmatch(text)
    return text if found is None else found.group(1).strip()


def parsed(text: str) -> Any:
    """Return the value of ``text``, or None where it has none."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    if "\n{" in text:
        return _of_lines(text)
    return _printed(text) if text.lstrip()[:2] in ("{'", "[{") and len(text) <= _PRINTED else None


def opened(body: dict[str, Any]) -> dict[str, Any]:
    """Return a small body with the one field whose text is JSON itself as values: what a service handed on as it came."""
    if len(body) <= _SMALL:
        for name, value in body.items():
            if type(value) is str and value[:1] in ("{", "[") and value[-1:] in ("}", "]"):
                inner = parsed(value)
                if inner is not None:
                    return {**body, name: inner}
    return body


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
