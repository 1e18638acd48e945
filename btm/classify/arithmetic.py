"""Checking plain arithmetic without running anything: numbers, + - * / ** %, parentheses."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from btm.classify.finding import Finding
from btm.model import ErrorKind

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
