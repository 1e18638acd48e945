"""Failures that came back looking like successes, from the cheapest sign to the dearest."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from btm.classify import emptiness, partial, plausible, stale
from btm.classify.expectations import Expectations, against
from btm.classify.finding import Finding
from btm.classify.keys import FIELDS, Form, form_of
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
        found = _in_text(value, call)
    elif type(value) is dict or isinstance(value, Mapping | list | tuple):
        found = _in_structure(value, call, now)
        if (found is None or found.doubtful) and emptiness.could_be_empty(value):
            found = emptiness.of_value(value, call) or found
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
    if isinstance(value, list):
        failed = partial.of_items(value, call)
        if failed is not None:
            return failed
    visited, doubt = 0, None
    for depth in range(_DEPTH):
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind in _SCALARS:
                continue
            if kind is not dict and not isinstance(node, Mapping):
                if isinstance(node, list | tuple):
                    below += node[:_LIST_HEAD]
                continue
            node = members(node)  # noqa: PLW2901 - what is looked at of it
            visited += 1
            if visited > _NODES:
                return doubt
            form = form_of(node)
            found = _of_signs(form, node, call, now, depth) if form.signs else None
            if found is not None and not found.doubtful:
                return found
            if depth == 0 and call.arguments and (wrong := plausible.echo(node, call)) is not None:
                return wrong
            doubt = doubt or found
            if depth < _DEPTH - 1:
                below += _holders(node)
        level = below
    return doubt


def _holders(node: Mapping[Any, Any]) -> list[Any]:
    """Return what a mapping holds that may hold something in turn."""
    members: list[Any] = []
    for name, value in islice(node.items(), FIELDS):
        if name in _ECHOES:
            continue
        kind = type(value)
        if kind is dict:
            members.append(value)
        elif kind is list:
            members += value[:_LIST_HEAD]
    return members


def _of_signs(
    form: Form, node: Mapping[Any, Any], call: ToolCall, now: float | None, depth: int
) -> Finding | None:
    doubt: Finding | None = None
    for role, key in form.signs:
        value = node[key]
        deepest = 0 if role.partial == "errors" else 2
        found = partial.of_field(role, key, value, node, call) if role.partial and depth <= deepest else None
        if found is None and role.stale and depth < 2:
            found = stale.of_field(role, key, value, call, now)
        if found is None and (role.day or role.bound is not None):
            found = plausible.of_field(role, key, value, call)
        if found is not None and not found.doubtful:
            return found
        doubt = doubt or found
    if not (form.ordered or form.summed):
        return doubt
    signs = [(role, key, node[key]) for role, key in form.signs]
    found = plausible.order(signs, node, call) if form.ordered else None
    if found is None and form.summed:
        found = plausible.of_fields(signs, node, call)
    return found or doubt


def computed(value: Any, call: ToolCall) -> Finding | None:
    """A calculator's bare answer against the expression it was given."""
    expression = call.arguments.get("expression") if call.arguments else None
    if not isinstance(expression, str):
        return None
    try:
        got = float(value) if isinstance(value, str | int | float) and len(str(value)[:40]) < 40 else None
    except (ValueError, OverflowError):
        return None
    if got is None or not plausible.disagrees(expression, got):
        return None
    return plausible.finding(expression, got)
