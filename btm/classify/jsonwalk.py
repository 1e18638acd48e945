"""One walk over a JSON value that counts, per path, what was there: bounded in paths, depth, nodes and text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from btm.classify.reading import members

OBJECT = ""
"""The type name of the row that counts the objects at a path: the chances that their fields had."""

ANY_KEY = "*"
"""Stands for the keys of an object whose keys are data (ids, dates, names)."""

MAX_PATHS = 400
MAX_DEPTH = 6
MAX_NODES = 5_000
MAX_KEYS = 60
"""Fields of one object beyond which it is a map whose keys are data."""

LIST_SAMPLE = 20
"""Members of a list that are looked at: its first ones."""

MAX_TEXT = 1_000_000
"""Characters of a JSON text beyond which it is not parsed."""


def json_type(value: object) -> str:
    """Return the JSON type name of a value: string, integer, number, boolean, array, object or null."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return "string"


def parsed(result: Any) -> Any:
    """Return the JSON values of a result: a JSON text is parsed (up to ``MAX_TEXT``), the rest is taken as it is."""
    if isinstance(result, str) and len(result) <= MAX_TEXT and result[:200].lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except ValueError:
            return result
    return result


def parent_of(path: str) -> str:
    """Return the path that a path hangs on: ``$.a`` for ``$.a[]`` and for ``$.a.b``, ``""`` for ``$``."""
    if path.endswith("[]"):
        return path[:-2]
    return path.rpartition(".")[0]


def shares(result: Any) -> dict[str, dict[str, float]]:
    """Return, per path, which share of its chances in this one answer had a value of which type.

    One answer counts once however long its lists are: a field that 15 of 20 members have counts 0.75. The path
    itself, where it is an object, has the row ``OBJECT`` with 1.
    """
    counted, chances = _count(parsed(result))
    found: dict[str, dict[str, float]] = {}
    for path, kinds in counted.items():
        whole = chances.get(path, 1)
        found[path] = {kind: n / whole for kind, n in kinds.items()}
        if "object" in kinds:
            found[path][OBJECT] = 1.0
    return found


def _count(value: Any) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    chances: dict[str, int] = {}
    queue: list[tuple[str, Any, int]] = [("$", value, 0)]
    position = 0
    while position < len(queue) and position < MAX_NODES:
        path, node, depth = queue[position]
        position += 1
        kinds = counted.get(path)
        if kinds is None:
            if len(counted) >= MAX_PATHS:
                continue
            kinds = counted[path] = {}
        kind = json_type(node)
        kinds[kind] = kinds.get(kind, 0) + 1
        if depth < MAX_DEPTH and kind in ("object", "array"):
            queue.extend(_below(path, node, depth + 1))
    for path, kinds in counted.items():
        parent = parent_of(path)
        below = counted.get(parent, {})
        members = path.endswith(("[]", "." + ANY_KEY))
        chances[path] = sum(kinds.values()) if members else below.get("object", 1)
    return counted, chances


def _below(path: str, node: Any, depth: int) -> list[tuple[str, Any, int]]:
    if not isinstance(node, Mapping):
        return [(f"{path}[]", member, depth) for member in node[:LIST_SAMPLE]]
    node = members(node)
    if keys_are_data(node):
        keys = [k for _, k in zip(range(LIST_SAMPLE), node, strict=False)]
        return [(f"{path}.{ANY_KEY}", node[key], depth) for key in keys]
    return [(f"{path}.{key}", member, depth) for key, member in node.items() if isinstance(key, str)]


def keys_are_data(node: Mapping[Any, Any]) -> bool:
    """Whether an object is a map whose keys are ids, dates or names rather than a record with fields."""
    if len(node) > MAX_KEYS:
        return True
    odd = sum(1 for key in node if not isinstance(key, str) or _looks_like_data(key))
    return odd * 2 > len(node)


def _looks_like_data(key: str) -> bool:
    if not key or len(key) > 40 or not (key[0].isalpha() or key[0] in "_@$"):
        return True
    return sum(c.isdigit() for c in key) >= 3 or not all(c.isalnum() or c in "_-$@" for c in key)
