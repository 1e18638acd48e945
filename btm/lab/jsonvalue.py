"""Walking JSON values: where something stands, what stands there, and what stands beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
"""Where a value stands in a JSON value: keys and positions from the top."""

Pair = tuple[str, Any]
"""A scalar and the name of the field it stands under."""

UNDATED = frozenset({"as_of", "placed_on"})
"""Fields that say when something was read or made: no record is known by them, and they prove nothing."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands for a value that is not there, which None may be."""


ABSENT = Absent()


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every scalar of a JSON value with its path; an empty list or mapping counts as a scalar."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def at(value: Any, path: Path) -> Any:
    """Return what stands at ``path``, or ``ABSENT``."""
    for key in path:
        inside = isinstance(value, list | tuple) and isinstance(key, int) and 0 <= key < len(value)
        if not inside and not (isinstance(value, Mapping) and key in value):
            return ABSENT
        value = value[key]
    return value


def field_name(path: Path) -> str:
    """Return the last key of a path that is a name: the field a value stands under."""
    return next((key for key in reversed(path) if isinstance(key, str)), "")


def pairs(value: Any) -> set[Pair]:
    """Return every (field, scalar) pair of a JSON value, but for dates and empty lists and mappings."""
    return {
        (field_name(path), leaf)
        for path, leaf in leaves(value)
        if field_name(path) not in UNDATED and not isinstance(leaf, Mapping | list | tuple)
    }


def element_path(path: Path) -> Path | None:
    """Return the path of the innermost list element that a path runs through, or None."""
    positions = [n for n, key in enumerate(path) if isinstance(key, int)]
    return path[: positions[-1] + 1] if positions else None


def like(value: Any, path: Path, start: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield everything that stands at a path which differs from ``path`` in list positions only."""
    if not path:
        yield start, value
    elif isinstance(path[0], int):
        if isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from like(item, path[1:], (*start, index))
    elif isinstance(value, Mapping) and path[0] in value:
        yield from like(value[path[0]], path[1:], (*start, path[0]))


def equal(one: Any, other: Any) -> bool:
    """Whether two scalars are the same: as Python's ``==``, but True is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def parsed(value: Any) -> Any:
    """Return the JSON value that a text holds, or the value as it is: tools often answer with JSON as text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def rounded(value: Any) -> Any:
    """Return a document with its numbers rounded to six decimals: more would only differ between platforms."""
    if isinstance(value, Mapping):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return round(value, 6) if isinstance(value, float) else value
