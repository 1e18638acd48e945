"""Failures that came back looking like successes, from the cheapest sign to the dearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from btm.classify import emptiness, partial, plausible, stale
from btm.classify.expectations import Expectations, against
from btm.classify.finding import Finding
from btm.classify.keys import FIELDS, form_of
from btm.classify.reading import members
from btm.classify.shape import ShapeProfile
from btm.model import ToolCall

_NODES, _DEPTH = 60, 4
"""Mappings that are looked into, and how deep: what marks an answer stands near its top."""

_LIST_HEAD = 8
_ECHOES = frozenset({"input", "inputs", "request", "arguments", "args", "params", "parameters", "query"})
"""Fields that repeat what was asked: what is odd in them is not the answer's."""

_SCALARS = frozenset({str, int, float, bool, type(None)})


def find(
    value: Any,
    call: ToolCall,
    expectations: Expectations | None,
    shape: ShapeProfile | None,
    now: float | None,
) -> Finding | None:
    """Return the silent fault that a result shows, or None. ``now`` is epoch seconds, or None when no time is known."""
    if expectations is not None:
        found = against(value, expectations, now)
        if found is not None:
            return found
    if isinstance(value, str):
        found = (
            partial.in_text(value)
            or stale.in_text(value)
            or emptiness.of_value(value, call)
            or computed(value, call)
        )
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


def _in_structure(value: Any, call: ToolCall, now: float | None) -> Finding | None:
    if isinstance(value, list) and (failed := partial.of_items(value, call)) is not None:
        return failed
    level = value[:_LIST_HEAD] if isinstance(value, list | tuple) else [value]
    visited = 0
    for depth in range(_DEPTH):
        if not level:
            break
        below: list[Any] = []
        for node in level:
            if type(node) in _SCALARS:
                continue
            if isinstance(node, list | tuple):
                below += node[:_LIST_HEAD]
            elif type(node) is dict or isinstance(node, Mapping):
                fields = members(node)
                visited += 1
                found = _of_signs(fields, call, now, depth) if visited <= _NODES else None
                if found is not None:
                    return found
                if len(fields) > FIELDS or not _SCALARS.issuperset(map(type, fields.values())):
                    below += _holders(fields)
        level = below
    return None


def _holders(node: Mapping[Any, Any]) -> Iterator[Any]:
    """Yield what a mapping holds that may hold something in turn."""
    for name, value in islice(node.items(), FIELDS):
        if type(value) is dict and name not in _ECHOES:
            yield value
        elif type(value) is list and name not in _ECHOES:
            yield from value[:_LIST_HEAD]


def _of_signs(node: Mapping[Any, Any], call: ToolCall, now: float | None, depth: int) -> Finding | None:
    form = form_of(node)
    for role, key in form.signs:
        value = node[key]
        deepest = 0 if role.partial == "errors" else 2
        found = partial.of_field(role, key, value, node, call) if role.partial and depth <= deepest else None
        if found is None and role.stale and depth < 2:
            found = stale.of_field(role, key, value, call, now)
        if found is None and role.bound is not None:
            found = plausible.of_field(role, key, value)
        if found is not None:
            return found
    found = plausible.order(form.signs, node) if form.ordered else None
    if found is None and form.calculated:
        found = plausible.calculated(node)
    if found is None and form.shared:
        found = plausible.shares(node)
    return plausible.echo(node, call) if found is None and depth == 0 and call.arguments else found


def computed(value: Any, call: ToolCall) -> Finding | None:
    """A calculator's bare answer against the expression it was given."""
    expression = call.arguments.get("expression") if call.arguments else None
    if not isinstance(expression, str):
        return None
    try:
        got = float(value) if isinstance(value, int | float) or len(value) < 40 else None
    except (TypeError, ValueError, OverflowError):
        return None
    return None if got is None else plausible.of_expression(expression, got)
