"""Values that cannot be true: outside nature's bounds, against each other, or against arithmetic.

Only what is impossible is called a factual error; what is merely unusual is left alone.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """Return a value outside of what nature allows under its name."""
    size = number(value)
    # -1 stands for "unknown" in too many interfaces to be called impossible.
    if role.bound is None or size is None or size == -1.0 or role.bound.low <= size <= role.bound.high:
        return None
    return implausible("bounds", f"{key} = {size:g} is not {role.bound.what}", 0.9)


def order(signs: Iterable[tuple[Role, str]], body: Mapping[Any, Any]) -> Finding | None:
    """Return a pair that stands the wrong way round: check-out before check-in, a minimum above its maximum."""
    fields = {snake(key): value for key, value in body.items() if isinstance(key, str)}
    for role, key in signs:
        for other in fields.keys() & role.partners:
            if _is_wrong_way(role.name, body[key], fields[other]):
                return implausible("order", f"{role.name} is after or above {other}", 0.9)
    return None


def _is_wrong_way(name: str, value: Any, second: Any) -> bool:
    a, b = number(value), number(second)
    if a is not None and b is not None:
        return a > b and ("min" in name or "low" in name)
    if not isinstance(value, str) or not isinstance(second, str):
        return False
    at, until = dates.moment(value), dates.moment(second)
    if at is None or until is None:
        return False
    zoned = dates.has_zone(value) and dates.has_zone(second)
    days = dates.is_day(value) and dates.is_day(second)
    return at > until + (60.0 if zoned else 0.0 if days else _ZONES)


_ZONES = 90_000.0
"""Seconds by which local times of two places may differ: across the date line one arrives the day before."""


def echo(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return an identity in the answer that is not the one asked for: order W1 was asked for, W2 came back."""
    for name, asked in call.arguments.items():
        got = body.get(name)
        known = got is not None and isinstance(name, str) and (name in _IDENTITIES or name.endswith("_id"))
        if not known or type(asked) not in (str, int) or type(got) not in (str, int):
            continue
        if got != asked and _identity(got) != _identity(asked):
            return implausible("echo", f"{name} in the answer is not the one asked for", 0.75)
    return None


_IDENTITIES = frozenset({"id", "symbol", "ticker", "sku", "isbn", "iata"})


def _identity(value: object) -> str:
    return re.sub(r"[\W_]", "", str(value)[:200]).lower()


def calculated(body: Mapping[str, Any]) -> Finding | None:
    """Return a result that is not what the expression beside it comes to, or a total that its lines do not add up to."""
    lines: Sequence[Any] = ()
    for value in body.values():
        if type(value) is list and value and type(value[0]) is dict:
            lines = value
            break
    if not lines:
        return _of_expression_in(body)
    total = _first(body, "subtotal", "total", "total_amount", "amount_total")
    if total is None or len(lines) > _MOST_LINES:
        return None
    if "subtotal" not in body and any(isinstance(key, str) and _EXTRAS.search(key) for key in body):
        return None  # something beside the lines goes into the total
    amounts = [amount for line in lines if (amount := _amount(line)) is not None]
    added = sum(amounts)
    if len(amounts) < len(lines) or abs(added - total) <= max(0.02 * abs(total), 0.05, 0.01 * abs(added)):
        return None
    return implausible("total", f"the lines add up to {added:g}, not to {total:g}")


def _of_expression_in(body: Mapping[str, Any]) -> Finding | None:
    expression = body.get("expression") or body.get("equation") or body.get("formula")
    result = _first(body, "result", "value", "answer") if isinstance(expression, str) else None
    return None if result is None else of_expression(str(expression), result)


_MOST_LINES = 200
_EXTRAS = form("sums", "extras")
_REDUCED = re.compile(r"discount|tax", re.IGNORECASE)


def _first(body: Mapping[str, Any], *names: str) -> float | None:
    return next((found for name in names if (found := number(body.get(name))) is not None), None)


def _amount(line: Any) -> float | None:
    if not isinstance(line, Mapping) or any(isinstance(key, str) and _REDUCED.search(key) for key in line):
        return None
    quantity, price = _first(line, "qty", "quantity"), _first(line, "unit_price", "unitPrice", "price")
    return None if quantity is None or price is None else quantity * price


def shares(body: Mapping[str, Any]) -> Finding | None:
    """Return shares of one whole, such as ``yes_pct`` and ``no_pct``, that add up to more than all of it."""
    parts = {key: number(value) for key, value in body.items() if str(key)[:64].endswith("_pct")}
    known = [part for part in parts.values() if part is not None and part >= 0]
    if sum(known) > 100 + len(known) and any(pair <= parts.keys() for pair in _OPPOSITES):
        return implausible("shares", f"shares of one whole add up to {sum(known):g} %")
    return None


_OPPOSITES = tuple(
    frozenset(f"{side}_pct" for side in pair.split())
    for pair in ("yes no", "agree disagree", "for against", "pass fail", "passed failed", "positive negative")
)
