"""Totals, shares and computed results that do not come out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify import arithmetic
from btm.classify.finding import Finding
from btm.classify.plausible import Signs, implausible, number
from btm.classify.rules import form
from btm.model import ToolCall


def of_fields(signs: Signs, body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return a total, shares or a computed result that does not come out."""
    names = {role.name for role, _, _ in signs if role.sums}
    if not names.isdisjoint(_EXPRESSIONS):
        found = _expression(body)
        if found is not None:
            return found
    if not names.isdisjoint(_TOTALS):
        return _lines(body)
    return _shares(signs, call)


_EXPRESSIONS = frozenset({"expression", "equation", "formula"})
_TOTALS = frozenset({"total", "subtotal", "total_amount", "amount_total"})


def _expression(body: Mapping[str, Any]) -> Finding | None:
    expression = next((body[k] for k in _EXPRESSIONS if isinstance(body.get(k), str)), None)
    got = next(
        (number(body[k]) for k in ("result", "value", "answer") if number(body.get(k)) is not None), None
    )
    if expression is None or got is None or not arithmetic.disagrees(expression, got):
        return None
    return arithmetic.finding(expression, got)


def _lines(body: Mapping[str, Any]) -> Finding | None:
    total = number(
        body.get("subtotal", body.get("total", body.get("total_amount", body.get("amount_total"))))
    )
    if total is None:
        return None
    for value in body.values():
        if not isinstance(value, list) or not 0 < len(value) <= 200:
            continue
        amounts = [_line_amount(v) for v in value]
        if None in amounts:
            continue
        added = sum(a for a in amounts if a is not None)
        if (
            abs(added - total) > max(0.02 * abs(total), 0.05)
            and abs(added - total) > 0.01 * abs(added)
            and not _has_extras(body)
        ):
            return implausible("total", f"the lines add up to {added:g}, not to {total:g}", 0.85)
    return None


_EXTRAS = form("sums", "extras")


def _has_extras(body: Mapping[str, Any]) -> bool:
    """Whether something beside the lines goes into the total."""
    return "subtotal" not in body and any(isinstance(key, str) and _EXTRAS.search(key) for key in body)


def _line_amount(line: Any) -> float | None:
    if not isinstance(line, Mapping):
        return None
    quantity = number(line.get("qty", line.get("quantity")))
    price = number(line.get("unit_price", line.get("unitPrice", line.get("price"))))
    if (
        quantity is None
        or price is None
        or any(isinstance(k, str) and re.search(r"discount|tax", k.lower()) for k in line)
    ):
        return None
    return quantity * price


_SHARE = re.compile(r"(?:_pct|_percent|_percentage|_share)$")
_OPPOSITES = tuple(
    frozenset(f"{side}_pct" for side in pair.split())
    for pair in (
        "yes no",
        "agree disagree",
        "for against",
        "pass fail",
        "passed failed",
        "male female",
        "positive negative",
    )
)
_PARTS = re.compile(r"poll|vote|election|distribut|breakdown|alloc|composition|portfolio", re.IGNORECASE)


def _shares(signs: Signs, call: ToolCall) -> Finding | None:
    parts = {role.name: number(value) for role, _, value in signs if _SHARE.search(role.name)}
    known = [p for p in parts.values() if p is not None]
    if len(known) < 2 or len(known) != len(parts) or min(known) < 0:
        return None
    if not (any(pair <= parts.keys() for pair in _OPPOSITES) or _PARTS.search(call.tool[:80])):
        return None
    if sum(known) > 100 + len(known):
        return implausible("shares", f"shares of one whole add up to {sum(known):g} %")
    return None
