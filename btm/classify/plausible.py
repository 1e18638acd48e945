"""Values that cannot be true: outside nature's bounds, against each other, or against arithmetic.

Only what is impossible is called a factual error; what is merely unusual is left alone.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding
from btm.classify.keys import Role, snake
from btm.classify.rules import form
from btm.model import ErrorKind as K
from btm.model import ToolCall

LONGEST = 200
"""Characters of an expression that are checked; longer ones are left alone."""

_SIGNS = str.maketrans({"\u00d7": "*", "\u00f7": "/", "^": "**", "\u2212": "-"})
_UNREADABLE = (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError, TypeError)
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: a**b if abs(b) <= 64 and abs(a) <= 1e6 else math.nan,
}


def value_of(expression: str) -> float | None:
    """Return the value of an expression of numbers and the usual operators, or None when it is anything else."""
    text = expression[: LONGEST + 1].strip().rstrip("= ").translate(_SIGNS)
    if not text or len(text) > LONGEST or not set(text) <= set("0123456789.+-*/%() eE_"):
        return None
    try:
        return number(_evaluate(ast.parse(text, mode="eval").body))
    except _UNREADABLE:
        return None


def _evaluate(node: ast.expr) -> float:
    if isinstance(node, ast.Constant):
        return float(node.value) if type(node.value) in (int, float) else math.nan  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _evaluate(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.left), _evaluate(node.right))
    raise ValueError(node)


def of_expression(expression: str, result: float) -> Finding | None:
    """Return that a ``result`` is not what an expression comes to, rounding to its own digits allowed."""
    real, shown = value_of(expression), repr(result)
    digits = 0 if "e" in shown else min(6, len(shown.rstrip("0").partition(".")[2]))
    if real is None or abs(real - result) <= 1e-6 * max(1.0, abs(real)) + 0.51 * 10.0**-digits:
        return None
    return implausible("arithmetic", f"{expression[:40]} is not {result:g}", 0.95)


def implausible(rule: str, reason: str, sure: float = 0.85) -> Finding:
    """Return the finding of a value that cannot be true."""
    return Finding(K.FACTUAL_ERROR, f"implausible:{rule}", reason, sure)


def number(value: Any) -> float | None:
    """Return a finite number (not a truth value) as a float, else None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            as_float = float(value)
        except OverflowError:
            return None
        return as_float if math.isfinite(as_float) else None
    return None


def of_field(role: Role, key: str, value: Any) -> Finding | None:
    """Return a value outside of what nature or the calendar allows under its name."""
    if role.day and dates.is_impossible(value):
        return implausible("date", f"{key} is a day that no calendar has")
    if role.bound is None:
        return None
    size = number(value)
    # -1 stands for "unknown" in too many interfaces to be called impossible.
    if size is None or size == -1.0:
        return None
    if not role.bound.low <= size <= role.bound.high:
        return implausible("bounds", f"{key} = {size:g} is not {role.bound.what}", 0.9)
    return None


Signs = list[tuple[Role, Any, Any]]
"""Fields of one mapping that may be a sign of something: their role, key and value."""


def order(signs: Signs, body: Mapping[Any, Any]) -> Finding | None:
    """Return a pair that stands the wrong way round: check-out before check-in, a minimum above its maximum."""
    fields = {snake(key): value for key, value in body.items() if isinstance(key, str)}
    for role, _, value in signs:
        for other in role.partners:
            found = _wrong_way(role.name, value, other, fields[other]) if other in fields else None
            if found is not None:
                return found
    return None


def _wrong_way(name: str, value: Any, other: str, second: Any) -> Finding | None:
    a, b = number(value), number(second)
    if a is not None and b is not None:
        above = a > b and ("min" in name or "low" in name)
        return implausible("order", f"{name} = {a:g} is above {other} = {b:g}") if above else None
    at, until = dates.moment(value), dates.moment(second)
    if at is None or until is None or not isinstance(value, str) or not isinstance(second, str):
        return None
    slack = _ZONES
    if dates.has_zone(value) and dates.has_zone(second):
        slack = 60.0
    elif dates.is_day(value) and dates.is_day(second):
        slack = 0.0
    return implausible("order", f"{name} is after {other}", 0.9) if at > until + slack else None


_ZONES = 90_000.0
"""Seconds by which local times of two places may differ: across the date line one arrives the day before."""


def echo(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return an identity in the answer that is not the one asked for: order W1 was asked for, W2 came back."""
    for name, asked in call.arguments.items():
        got = body.get(name)
        if got is None or (type(got) is type(asked) is str and got == asked):
            continue
        if not isinstance(name, str) or not (name in _IDENTITIES or name.endswith("_id")):
            continue
        if type(asked) in (str, int) and type(got) in (str, int) and _identity(got) != _identity(asked):
            return implausible("echo", f"{name} in the answer is not the one asked for", 0.75)
    return None


_IDENTITIES = frozenset({"id", "symbol", "ticker", "sku", "isbn", "iata"})


def _identity(value: object) -> str:
    return re.sub(r"[\W_]", "", str(value)[:200]).lower()


def of_fields(body: Mapping[str, Any]) -> Finding | None:
    """Return a total, shares or a computed result that does not come out."""
    expression = next((body[k] for k in _EXPRESSIONS if isinstance(body.get(k), str)), None)
    result = _first(body, _RESULTS)
    if expression is not None and result is not None:
        return of_expression(expression, result)
    total = _first(body, _TOTALS)
    return _shares(body) if total is None else _lines(body, total)


def _shares(body: Mapping[str, Any]) -> Finding | None:
    parts = {
        key: number(value) for key, value in body.items() if isinstance(key, str) and key.endswith("_pct")
    }
    known = [part for part in parts.values() if part is not None and part >= 0]
    if any(pair <= parts.keys() for pair in _OPPOSITES) and sum(known) > 100 + len(known):
        return implausible("shares", f"shares of one whole add up to {sum(known):g} %")
    return None


_OPPOSITES = tuple(
    frozenset(f"{side}_pct" for side in pair.split())
    for pair in ("yes no", "agree disagree", "for against", "pass fail", "passed failed", "positive negative")
)
_EXPRESSIONS, _RESULTS = ("expression", "equation", "formula"), ("result", "value", "answer")
_TOTALS = ("subtotal", "total", "total_amount", "amount_total")


def _first(body: Mapping[str, Any], names: Iterable[str]) -> float | None:
    return next((found for name in names if (found := number(body.get(name))) is not None), None)


def _lines(body: Mapping[str, Any], total: float) -> Finding | None:
    if "subtotal" not in body and any(isinstance(key, str) and _EXTRAS.search(key) for key in body):
        return None  # something beside the lines goes into the total
    for value in body.values():
        amounts = [_line_amount(line) for line in value[:201]] if isinstance(value, list) else []
        if not 0 < len(amounts) <= 200 or None in amounts:
            continue
        added = sum(amount for amount in amounts if amount is not None)
        if abs(added - total) > max(0.02 * abs(total), 0.05, 0.01 * abs(added)):
            return implausible("total", f"the lines add up to {added:g}, not to {total:g}")
    return None


_EXTRAS = form("sums", "extras")
_REDUCED = re.compile(r"discount|tax", re.IGNORECASE)


def _line_amount(line: Any) -> float | None:
    if not isinstance(line, Mapping) or any(isinstance(key, str) and _REDUCED.search(key) for key in line):
        return None
    quantity, price = _first(line, ("qty", "quantity")), _first(line, ("unit_price", "unitPrice", "price"))
    return None if quantity is None or price is None else quantity * price
