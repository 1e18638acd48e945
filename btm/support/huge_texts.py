"""Texts of many megabytes among arguments: a JSON writer reserves several times their size, so they go by a name.

They are looked for near the top, where they stand: the content of a file, a picture as base64.
"""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import Any

HUGE = 1_000_000
"""Characters from which a text is huge."""

_LOOKED_AT, _MEMBERS = 200, 50


def has_any(value: object) -> bool:
    """Whether a value is, or holds near its top, a huge text."""
    queue: list[object] = [value]
    for node in queue:  # it grows while it is gone through
        kind = type(node)
        if kind is str:
            if len(node) > HUGE:  # type: ignore[arg-type]
                return True
        elif len(queue) < _LOOKED_AT:
            if kind is dict:
                queue += islice(node.values(), _MEMBERS)  # type: ignore[attr-defined]
            elif kind is list:
                queue += node[:_MEMBERS]  # type: ignore[index]
    return False


def named(value: Any, depth: int = 3) -> Any:
    """Return a value with its huge texts near the top replaced by their hashes."""
    kind = type(value)
    if kind is str and len(value) > HUGE:
        return {"huge text": len(value), "blake2b": _digest(value)}
    if depth and kind is dict:
        return {key: named(member, depth - 1) for key, member in value.items()}
    if depth and kind is list:
        return [named(member, depth - 1) for member in value]
    return value


def _digest(text: str) -> str:
    found = hashlib.blake2b(digest_size=16)
    for start in range(0, len(text), HUGE):
        found.update(text[start : start + HUGE].encode("utf-8", "surrogatepass"))
    return found.hexdigest()
