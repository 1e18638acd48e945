"""Dotted paths into JSON values, as fallback maps write them: ``total``, ``address.zip``, ``items[].price``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def parts_of(path: str) -> tuple[str, ...]:
    """Return the keys of a dotted path: ``orders[].total`` is ``("orders", "total")``."""
    return tuple(part for part in path.replace("[]", "").split(".") if part)


def holders(value: Any, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every ``(dict, key)`` of ``value`` that ``path`` reaches and that is there.

    A list is entered with ``[]`` or without it: a path about one record also holds for a list of such records.
    """
    yield from _walk(value, parts_of(path))


def _walk(value: Any, parts: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str]]:
    if not parts:
        return
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, parts)
    elif isinstance(value, dict) and parts[0] in value:
        if len(parts) == 1:
            yield value, parts[0]
        else:
            yield from _walk(value[parts[0]], parts[1:])
