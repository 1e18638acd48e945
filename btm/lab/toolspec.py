"""Tool descriptions from plain functions: the signature gives the JSON schema, the docstring the description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from btm.errors import EvaluationError
from btm.lab.environment import ToolSpec
from btm.model import Effect

PYTHON_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "object": dict,
    "array": list,
}
"""Python's types by the names that JSON schemas have for them."""

_JSON_TYPES = {kind: name for name, kind in PYTHON_TYPES.items() if kind is not list}


def where(made: Callable[..., Any]) -> str:
    """Return ``file:line`` of a function or class, its name where there is no file."""
    try:
        return f"{inspect.getsourcefile(made)}:{inspect.getsourcelines(made)[1]}"
    except (OSError, TypeError):
        return getattr(made, "__qualname__", repr(made))


def spec_of(function: Callable[..., Any], effect: Effect) -> ToolSpec:
    """Return the spec of a tool, whose first parameter is what it works on and no business of the agent's.

    All others have types of which pydantic knows the schema: scalars, lists, optionals, enums, literals, models. Raises
    EvaluationError, with file and line, for one that has none.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise EvaluationError(f"{where(function)}: {function.__name__}: {error} in its types") from error
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for parameter in parameters:
        place = f"{where(function)}: the parameter {parameter.name!r} of {function.__name__}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise EvaluationError(f"{place} stands for any arguments; expected named ones, each with a type")
        if parameter.name not in hints:
            raise EvaluationError(f"{place} has no type; expected one such as {parameter.name}: str")
        schema = _schema(hints[parameter.name], place)
        definitions |= schema.pop("$defs", {})
        properties[parameter.name] = schema
    made: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [p.name for p in parameters if p.default is p.empty],
        "additionalProperties": False,
    }
    if definitions:
        made["$defs"] = definitions
    description = " ".join((inspect.getdoc(function) or "").split())
    return ToolSpec(function.__name__, description, made, effect)


def _schema(hint: Any, place: str) -> dict[str, Any]:
    if isinstance(hint, type) and hint in _JSON_TYPES:
        return {"type": _JSON_TYPES[hint]}
    try:
        return TypeAdapter(hint).json_schema()
    except PydanticUserError as error:
        raise EvaluationError(f"{place} has a type without a JSON schema: {hint!r}") from error


_ACCEPTED: Mapping[str, tuple[type, ...]] = {
    **{name: (kind,) for name, kind in PYTHON_TYPES.items()},
    "number": (int, float),
    "array": (list, tuple),
}


def check_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with a call's arguments, ``""`` where nothing is; of lists and models only the form."""
    properties: Mapping[str, Any] = spec.parameters["properties"]
    for name in spec.parameters["required"]:
        if name not in arguments:
            return f"the argument {name!r} is missing"
    for name, value in arguments.items():
        if name not in properties:
            return f"there is no argument {name!r}"
        expected = properties[name].get("type")
        if expected not in _ACCEPTED:
            continue
        if not isinstance(value, _ACCEPTED[expected]) or (isinstance(value, bool) and expected != "boolean"):
            return f"{name!r} must be of type {expected}"
    return ""
