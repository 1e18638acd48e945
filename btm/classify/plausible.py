"""Values that cannot be true: outside nature's bounds, against each other, or against arithmetic.

Only what is impossible is called a factual error; what is merely unusual is left alone.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from btm.classify import dates
from btm.classify.finding import Finding, names
from btm.classify.keys import ENDINGS, Role, snake
from btm.classify.rules import form
from btm.model import ErrorKind, ToolCall
from btm.model import ErrorKind as K

LONGEST = 200
"""Characters of an expression that are checked; longer ones are left alone."""

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
    text = (
        expression.strip()
        .rstrip("= ")
        .replace("\u00d7", "*")
        .replace("\u00f7", "/")
        .replace("^", "**")
        .replace("\u2212", "-")
    )
    if not text or len(text) > LONGEST or not set(text) <= set("0123456789.+-*/%() eE_"):
        return None
    try:
        result = _evaluate(ast.parse(text, mode="eval").body, 0)
    except (
        SyntaxError,
        ValueError,
        ZeroDivisionError,
        OverflowError,
        RecursionError,
        MemoryError,
        TypeError,
    ):
        return None
    return result if isinstance(result, int | float) and math.isfinite(result) else None


def _evaluate(node: ast.expr, depth: int) -> float:
    if depth > 50:
        raise ValueError(depth)
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        return float(node.value) if abs(node.value) < 1e300 else math.nan
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _evaluate(node.operand, depth + 1)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_evaluate(node.left, depth + 1), _evaluate(node.right, depth + 1))
    raise ValueError(node)


def disagrees(expression: str, result: float) -> bool:
    """Whether ``result`` is not what ``expression`` comes to, rounding to whole numbers or two digits allowed."""
    real = value_of(expression)
    if real is None:
        return False
    return abs(real - result) > 1e-6 * max(1.0, abs(real)) + 0.51 * (10.0 ** -_digits(result))


def _digits(result: float) -> int:
    text = repr(result)
    if "e" in text or "." not in text:
        return 0
    digits = text.rstrip("0").split(".", 1)[1]
    return min(len(digits), 6)


def finding(expression: str, result: float) -> Finding:
    """Return the fault of a ``result`` that its ``expression`` does not come to."""
    return Finding(
        ErrorKind.FACTUAL_ERROR, "implausible:arithmetic", f"{expression[:40]} is not {result:g}", 0.95
    )


_WEATHER = re.compile(r"weather|forecast|climate|conditions", re.IGNORECASE)


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


def of_field(role: Role, key: str, value: Any, call: ToolCall) -> Finding | None:
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
    if "temperature" in role.bound.what and _WEATHER.search(call.tool[:80]) and not -150 < size < 400:
        return implausible("bounds", f"{key} = {size:g} is no weather on earth")
    return None


Signs = list[tuple[Role, Any, Any]]
"""Fields of one mapping that may be a sign of something: their role, key and value."""


def order(signs: Signs, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    """Return a pair that stands the wrong way round: check-out before check-in, a minimum above its maximum."""
    fields = {snake(key): value for key, value in body.items() if isinstance(key, str)}
    for role, _, value in signs:
        for other in role.partners:
            if other in fields:
                found = _wrong_way(role.name, value, other, fields[other])
                if found is not None:
                    return found
    return _travel(fields, call.tool)


def _travel(fields: Mapping[str, Any], tool: str) -> Finding | None:
    """A journey ends after it begins; a stay begins with the arrival."""
    for ending in ENDINGS:
        left, came = f"departure{ending}", f"arrival{ending}"
        if left not in fields or came not in fields:
            continue
        if _STAY.search(tool) or "nights" in fields:
            return _wrong_way(came, fields[came], left, fields[left])
        if _JOURNEY.search(tool) or not _JOURNEY_FIELDS.isdisjoint(fields):
            return _wrong_way(left, fields[left], came, fields[came])
    return None


_STAY = re.compile(r"stay|hotel|room|guest|accommod|lodging", re.IGNORECASE)
_JOURNEY = re.compile(r"flight|train|trip|journey|route|itinerary|bus|ferry|connection|ticket", re.IGNORECASE)
_JOURNEY_FIELDS = names("flight flight_number train airline carrier origin destination from to")


def _wrong_way(name: str, value: Any, other: str, second: Any) -> Finding | None:
    a, b = number(value), number(second)
    if a is not None and b is not None:
        ordered = any(w in name for w in ("min", "low", "start", "from", "begin"))
        if ordered and a > b and any(w in name for w in ("min", "low")):
            return implausible("order", f"{name} = {a:g} is above {other} = {b:g}")
        return None
    at, until = dates.moment(value), dates.moment(second)
    if at is None or until is None or not isinstance(value, str) or not isinstance(second, str):
        return None
    # Local times of two places differ by up to a day, and across the date line one arrives the day before.
    slack = 90_000.0
    if dates.has_zone(value) and dates.has_zone(second):
        slack = 60.0
    elif dates.is_day(value) and dates.is_day(second) and not name.startswith("departure"):
        slack = 0.0
    if at > until + slack:
        return implausible("order", f"{name} is after {other}", 0.9)
    return None


def echo(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return an identity in the answer that is not the one asked for: order W1 was asked for, W2 came back."""
    for name, asked in call.arguments.items():
        if name not in body or body[name] == asked:
            continue
        got = body[name]
        if not _is_identity(name) or type(asked) not in (str, int) or type(got) not in (str, int):
            continue
        if _identity(got) != _identity(asked):
            return implausible("echo", f"{name} in the answer is not the one asked for", 0.75)
    return None


_IDENTITIES = frozenset({"id", "symbol", "ticker", "sku", "isbn", "iata"})


def _is_identity(name: object) -> bool:
    return isinstance(name, str) and (name in _IDENTITIES or name.endswith("_id"))


def _identity(value: str | int) -> str:
    return re.sub(r"[\W_]", "", str(value)[:200]).lower()


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
    if expression is None or got is None or not disagrees(expression, got):
        return None
    return finding(expression, got)


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
