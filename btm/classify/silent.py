"""Failures that came back looking like successes, from the cheapest sign to the dearest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import arithmetic, emptiness, expected, partial, plausible, stale
from btm.classify.expectations import Expectations
from btm.classify.finding import Finding
from btm.classify.keys import Trait, traits
from btm.classify.shape import ShapeProfile
from btm.model import ErrorKind as K
from btm.model import ToolCall

_NODES, _DEPTH = 60, 4
"""Mappings that are looked into, and how deep: what marks an answer stands near its top."""

_LIST_HEAD = 8


def find(value: Any, call: ToolCall, expectations: Expectations | None, shape: ShapeProfile | None, now: float | None) -> Finding | None:
    """Return the silent fault that a result shows, or None. ``now`` is epoch seconds, or None when no time is known."""
    if expectations is not None:
        found = expected.against(value, expectations, now)
        if found is not None:
            return found
    if isinstance(value, str):
        found = partial.in_text(value) or emptiness.of_value(value, call) or _computed(value, call)
    else:
        found = _in_structure(value, call, now) or emptiness.of_value(value, call)
    if found is not None or shape is None:
        return found
    verdict = shape.verdict(value)
    if verdict is None:
        return None
    return Finding(verdict.kind, f"shape:{verdict.path}", verdict.reason, verdict.confidence)


def _in_structure(value: Any, call: ToolCall, now: float | None) -> Finding | None:
    if isinstance(value, Mapping):
        level: list[Any] = [value]
    elif isinstance(value, list | tuple):
        level = list(value[:_LIST_HEAD])
    else:
        return _computed(value, call)
    visited = 0
    for depth in range(_DEPTH):
        below: list[Any] = []
        for node in level:
            if not isinstance(node, Mapping):
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


def _in_mapping(node: Mapping[Any, Any], call: ToolCall, now: float | None, depth: int, below: list[Any]) -> Finding | None:
    mask = 0
    for index, (key, value) in enumerate(node.items()):
        if index >= 200:
            break
        mask |= traits(key)
        kind = type(value)
        if kind is dict or kind is list:
            if kind is list:
                below.extend(value[:_LIST_HEAD])
            else:
                below.append(value)
    if not mask:
        return plausible.echo(node, call) if depth == 0 and call.arguments else None
    return (
        (partial.in_mapping(node, call) if mask & Trait.PARTIAL and depth < 3 else None)
        or (stale.in_mapping(node, call, now) if mask & Trait.STALE and depth < 2 else None)
        or (plausible.bounds(node, call) if mask & Trait.NUMBER else None)
        or (plausible.order(node) if mask & Trait.ORDER else None)
        or (plausible.sums(node, call) if mask & Trait.SUM else None)
        or (plausible.echo(node, call) if depth == 0 and call.arguments else None)
    )


def _computed(value: Any, call: ToolCall) -> Finding | None:
    """A calculator's bare answer against the expression it was given."""
    expression = call.arguments.get("expression") if call.arguments else None
    if not isinstance(expression, str):
        return None
    try:
        got = float(value) if isinstance(value, str | int | float) and len(str(value)[:40]) < 40 else None
    except ValueError:
        return None
    if got is None or not arithmetic.disagrees(expression, got):
        return None
    return Finding(K.FACTUAL_ERROR, "implausible:arithmetic", f"{expression[:40]} is not {got:g}", 0.9)
