"""Failures that came back looking like successes, from the cheapest sign to the dearest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import arithmetic, emptiness, expected, partial, plausible, stale, sums
from btm.classify.expectations import Expectations
from btm.classify.finding import Finding
from btm.classify.keys import KNOWN, NEW, Role, role_of
from btm.classify.shape import ShapeProfile
from btm.model import ToolCall

_NODES, _DEPTH = 60, 4
"""Mappings that are looked into, and how deep: what marks an answer stands near its top."""

_FIELDS = 200
_LIST_HEAD = 8


def find(
    value: Any,
    call: ToolCall,
    expectations: Expectations | None,
    shape: ShapeProfile | None,
    now: float | None,
) -> Finding | None:
    """Return the silent fault that a result shows, or None. ``now`` is epoch seconds, or None when no time is known."""
    if expectations is not None:
        found = expected.against(value, expectations, now)
        if found is not None:
            return found
    if isinstance(value, str):
        found = _in_text(value, call)
    elif type(value) is dict or isinstance(value, Mapping | list | tuple):
        found = _in_structure(value, call, now)
        if found is None and emptiness.could_be_empty(value):
            found = emptiness.of_value(value, call)
    else:
        found = emptiness.of_value(value, call) if value is None else computed(value, call)
    if found is not None or shape is None:
        return found
    verdict = shape.verdict(value)
    if verdict is None:
        return None
    return Finding(verdict.kind, f"shape:{verdict.path}", verdict.reason, verdict.confidence)


def _in_text(text: str, call: ToolCall) -> Finding | None:
    return partial.in_text(text) or emptiness.of_value(text, call) or computed(text, call)


def _in_structure(value: Any, call: ToolCall, now: float | None) -> Finding | None:
    level: list[Any] = (
        [value] if type(value) is dict or isinstance(value, Mapping) else list(value[:_LIST_HEAD])
    )
    visited = 0
    for depth in range(_DEPTH):
        below: list[Any] = []
        for node in level:
            if type(node) is not dict and not isinstance(node, Mapping):
                if isinstance(node, list | tuple):
                    below.extend(node[:_LIST_HEAD])
                continue
            visited += 1
            if visited > _NODES:
                return None
            found = _in_mapping(node, call, now, depth, below)
            if found is not None:
                return found
        if not below:
            return None
        level = below
    return None


def _in_mapping(
    node: Mapping[Any, Any], call: ToolCall, now: float | None, depth: int, below: list[Any]
) -> Finding | None:
    signs: list[tuple[Role, Any, Any]] = []
    for index, (key, value) in enumerate(node.items()):
        if index >= _FIELDS:
            break
        role = KNOWN.get(key, NEW)
        if role is NEW:
            role = role_of(key)
        if role is not None:
            signs.append((role, key, value))
        kind = type(value)
        if kind is list:
            below.extend(value[:_LIST_HEAD])
        elif kind is dict:
            below.append(value)
    if signs:
        found = _of_signs(signs, node, call, now, depth)
        if found is not None:
            return found
    return plausible.echo(node, call) if depth == 0 and call.arguments else None


def _of_signs(
    signs: list[tuple[Role, Any, Any]], node: Mapping[Any, Any], call: ToolCall, now: float | None, depth: int
) -> Finding | None:
    paired = calculated = False
    for role, key, value in signs:
        found = partial.of_field(role, key, value, node, call) if role.partial and depth < 3 else None
        if found is None and role.stale and depth < 2:
            found = stale.of_field(role, key, value, node, call, now)
        if found is None and (role.day or role.bound is not None):
            found = plausible.of_field(role, key, value, call)
        if found is not None:
            return found
        paired = paired or bool(role.partners) or role.name.startswith("arrival")
        calculated = calculated or role.sums
    found = plausible.order(signs, node, call) if paired else None
    if found is None and calculated:
        found = sums.of_fields(signs, node, call)
    return found or (plausible.weekday(node) if "date" in node else None)


def computed(value: Any, call: ToolCall) -> Finding | None:
    """A calculator's bare answer against the expression it was given."""
    expression = call.arguments.get("expression") if call.arguments else None
    if not isinstance(expression, str):
        return None
    try:
        got = float(value) if isinstance(value, str | int | float) and len(str(value)[:40]) < 40 else None
    except (ValueError, OverflowError):
        return None
    if got is None or not arithmetic.disagrees(expression, got):
        return None
    return arithmetic.finding(expression, got)
