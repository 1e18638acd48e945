"""A plain function's parameters as a JSON Schema."""

from __future__ import annotations

import enum
import inspect
import types
from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

_SIMPLE = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    bytes: "string",
    type(None): "null",
}


def schema_of_function(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of a function's parameters, and under ``returns`` that of its result.

    A parameter whose annotation says nothing takes anything. ``self`` and catch-all parameters are left out.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins have none
        return {"type": "object"}
    hints = _hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    catch_all = False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            catch_all = catch_all or parameter.kind is parameter.VAR_KEYWORD
            continue
        if name in ("self", "cls"):
            continue
        properties[name] = schema_of_type(hints.get(name, Any))
        if parameter.default is parameter.empty:
            required.append(name)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if catch_all:
        schema["additionalProperties"] = True
    if "return" in hints:
        schema["returns"] = schema_of_type(hints["return"])
    return schema


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:  # noqa: BLE001 - an annotation is evaluated, and may name what is not there
        return {}


def schema_of_type(annotation: Any) -> dict[str, Any]:
    """Return the schema of a type annotation, as far as JSON goes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _SIMPLE:
        return {"type": _SIMPLE[annotation]}
    if origin is Annotated:
        return schema_of_type(arguments[0])
    if origin is Union or isinstance(annotation, types.UnionType):
        return {"anyOf": [schema_of_type(argument) for argument in arguments]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if hasattr(annotation, "model_json_schema"):
        schema: dict[str, Any] = annotation.model_json_schema()
        return schema
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return {"enum": [member.value for member in annotation]}
    fields = getattr(annotation, "__dataclass_fields__", None) or (
        getattr(annotation, "__annotations__", None) if is_typeddict(annotation) else None
    )
    if fields:
        return {"type": "object", "properties": {name: {} for name in fields}}
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return {"type": "object"}
    if isinstance(kind, type) and issubclass(kind, SequenceType | set | frozenset):
        return {"type": "array", "items": schema_of_type(arguments[0]) if arguments else {}}
    return {}
