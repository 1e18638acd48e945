"""The kinds of value that fallback maps are written with, each with its own check and JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from btm.authored.expressions import compile_expression, compile_value
from btm.authored.validation_errors import describe, problem
from btm.errors import TemplateError, nearest
from btm.model import ErrorKind, Family

FULL = 1.0
PARTIAL = 0.6
"""What ``coverage: partial`` stands for: more than half of what the caller wanted, and not all of it."""

_UNITS = MappingProxyType({"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0})
_DURATION = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)\s*\Z")
_FAMILY_KINDS: Mapping[str, frozenset[ErrorKind]] = MappingProxyType(
    {family.value: frozenset(k for k in ErrorKind if k.family is family) for family in Family}
)
_KINDS = tuple(kind.value for kind in ErrorKind)
_KIND_NAMES = tuple(dict.fromkeys([*_KINDS, *_FAMILY_KINDS]))
JSON_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


def expand_kinds(names: tuple[str, ...]) -> frozenset[ErrorKind]:
    """Return the error kinds that kind and family names stand for."""
    kinds: set[ErrorKind] = set()
    for name in names:
        kinds |= {ErrorKind(name)} if name in _KINDS else _FAMILY_KINDS[name]
    return frozenset(kinds)


def parse_duration(value: object) -> object:
    """Return seconds for ``30s``, ``5m``, ``24h``, ``7d``, ``200ms`` or a plain number of seconds."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise problem(f"a duration is {describe(value)}", expected="a duration such as 30s, 5m, 24h or 7d")
    if isinstance(value, str):
        found = _DURATION.match(value)
        if not found:
            raise problem(f"{value[:60]!r} is not a duration", expected="one such as 30s, 5m, 24h or 7d")
        value = float(found.group(1)) * _UNITS[found.group(2)]
    if value <= 0:
        raise problem("a duration is not positive", expected="one such as 30s, 5m, 24h or 7d")
    return float(value)


def _coverage(value: object) -> object:
    named = {"full": FULL, "partial": PARTIAL}
    if isinstance(value, str) and value in named:
        return named[value]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    raise problem(
        f"coverage is {describe(value)}",
        expected="full, partial, or a number above 0 and up to 1",
        suggestion=nearest(value, named) if isinstance(value, str) else "",
    )


def _known_kind(value: str) -> str:
    if value not in _KIND_NAMES:
        raise problem(
            f"{value!r} is not an error kind",
            expected="one of " + ", ".join(_KIND_NAMES),
            suggestion=nearest(value, _KIND_NAMES),
        )
    return value


def _expression(value: str) -> str:
    try:
        compile_expression(value)
    except TemplateError as failed:
        raise problem(f"this is not an expression: {failed}") from failed
    return value


def _templates(value: Any) -> Any:
    """Check every text inside an argument's value as a template."""
    if isinstance(value, str):
        try:
            compile_value(value)
        except TemplateError as failed:
            raise problem(f"this is not a template: {failed}") from failed
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _templates(inner)
    return value


def _regex(value: str) -> str:
    try:
        re.compile(value)
    except re.error as failed:
        raise problem(f"this is not a regular expression: {failed}") from failed
    return value


def _json_type(value: str) -> str:
    if value not in JSON_TYPES:
        raise problem(
            f"{value!r} is not a JSON type",
            expected="one of " + ", ".join(JSON_TYPES),
            suggestion=nearest(value, JSON_TYPES),
        )
    return value


def _range(value: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    low, high = value
    if low is not None and high is not None and low > high:
        raise problem(f"the range begins at {low} and ends at {high}", expected="[minimum, maximum]")
    return value


def _tool_name(value: str) -> str:
    if not value.strip() or len(value) > 200:
        raise problem("a tool's name is empty or longer than 200 characters")
    return value


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s|m|h|d)\s*$"},
            ],
            "description": "Seconds, or text such as 30s, 5m, 24h, 7d.",
        }
    ),
]
Coverage = Annotated[
    float,
    BeforeValidator(_coverage),
    WithJsonSchema(
        {"anyOf": [{"enum": ["full", "partial"]}, {"type": "number", "exclusiveMinimum": 0, "maximum": 1}]}
    ),
]
KindName = Annotated[str, AfterValidator(_known_kind), WithJsonSchema({"enum": list(_KIND_NAMES)})]
ExpressionText = Annotated[str, AfterValidator(_expression)]
ArgumentValue = Annotated[Any, AfterValidator(_templates)]
Arguments = dict[str, ArgumentValue]
ToolName = Annotated[str, AfterValidator(_tool_name)]
JsonType = Annotated[str, AfterValidator(_json_type), WithJsonSchema({"enum": list(JSON_TYPES)})]
Regex = Annotated[str, AfterValidator(_regex)]
Range = Annotated[tuple[float | None, float | None], AfterValidator(_range)]
Cost = Annotated[float, Field(gt=0, allow_inf_nan=False)]
