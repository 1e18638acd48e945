"""Totals, shares, conversions and units that do not come out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify import arithmetic
from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.classify.plausible import Signs, implausible, number
from btm.classify.rules import form
from btm.model import ToolCall


def of_fields(signs: Signs, body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return a total, a conversion or a computed result that does not come out."""
    names = {role.name for role, _, _ in signs if role.sums}
    if not names.isdisjoint(_EXPRESSIONS):
        found = _expression(body)
        if found is not None:
            return found
    if not names.isdisjoint(_TOTALS):
        return _lines(body)
    if not names.isdisjoint(_RATES):
        return _converted(body)
    if not names.isdisjoint(_MIDDLES):
        return _average(body)
    return _shares(signs, call) or _units(body)


_EXPRESSIONS = frozenset({"expression", "equation", "formula"})
_TOTALS = frozenset({"total", "subtotal", "total_amount", "amount_total"})
_RATES = frozenset({"rate", "exchange_rate"})
_MIDDLES = frozenset({"avg", "average", "mean", "median"})


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


def _converted(body: Mapping[str, Any]) -> Finding | None:
    rate = number(body.get("rate", body.get("exchange_rate")))
    amount = number(body.get("amount", body.get("from_amount")))
    got = next(
        (
            number(body[k])
            for k in ("converted", "converted_amount", "to_amount", "result")
            if number(body.get(k)) is not None
        ),
        None,
    )
    if rate is None or amount is None or got is None or rate <= 0 or amount == 0:
        return None
    real = rate * amount
    if abs(got - real) > 0.03 * abs(real) + 0.02:
        return implausible("conversion", f"{amount:g} at {rate:g} is {real:g}, not {got:g}")
    return None


def _units(body: Mapping[str, Any]) -> Finding | None:
    for key, value in body.items():
        name = snake(key) if isinstance(key, str) else ""
        if name.endswith("_c") and "temp" in name:
            celsius = number(value)
            fahrenheit = number(body.get(str(key)[:-1] + ("F" if str(key)[-1] == "C" else "f")))
            if celsius is not None and fahrenheit is not None and abs(celsius * 1.8 + 32 - fahrenheit) > 2:
                return implausible("units", f"{celsius:g} °C is not {fahrenheit:g} °F")
        if name.endswith("_km"):
            km, miles = (
                number(value),
                number(body.get(str(key)[:-2] + "miles", body.get(str(key)[:-2] + "mi"))),
            )
            if km is not None and miles is not None and km > 1 and abs(km / 1.609344 - miles) > 0.1 * km:
                return implausible("units", f"{km:g} km is not {miles:g} miles")
    return None


def _average(body: Mapping[str, Any]) -> Finding | None:
    low, high = number(body.get("min", body.get("minimum"))), number(body.get("max", body.get("maximum")))
    middle = number(body.get("avg", body.get("average", body.get("mean", body.get("median")))))
    if (
        low is not None
        and high is not None
        and middle is not None
        and low <= high
        and not low <= middle <= high
    ):
        return implausible("average", f"an average of {middle:g} does not lie between {low:g} and {high:g}")
    return None
