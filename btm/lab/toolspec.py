"""Tool descriptions from plain functions: the signature gives the JSON schema, the docstring the description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from btm.lab.environment import ToolSpec
from btm.model import Effect

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


def spec_of(function: Callable[..., Any], effect: Effect) -> ToolSpec:
    """Return the spec of a tool, whose first parameter is what it works on and no business of the agent's.

    All others are scalars or ``dict``.
    """
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    names = [p.name for p in parameters]
    required = [p.name for p in parameters if p.default is p.empty]
    schema = {
        "type": "object",
        "properties": {name: {"type": _JSON_TYPES[hints[name]]} for name in names},
        "required": required,
        "additionalProperties": False,
    }
    description = " ".join((inspect.getdoc(function) or "").split())
    return ToolSpec(function.__name__, description, schema, effect)


_ACCEPTED: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
}


def check_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with a call's arguments by the schema that ``spec_of`` makes, or ``""``."""
    properties: Mapping[str, Any] = spec.parameters["properties"]
    for name in spec.parameters["required"]:
        if name not in arguments:
            return f"the argument {name!r} is missing"
    for name, value in arguments.items():
        if name not in properties:
            return f"there is no argument {name!r}"
        expected = properties[name]["type"]
        if not isinstance(value, _ACCEPTED[expected]) or (isinstance(value, bool) and expected != "boolean"):
            return f"{name!r} must be of type {expected}"
    return ""
