"""As much of JSON Schema as is needed to say which types an argument takes and which fields a result has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify.shape import json_type
from btm.fallback.fields import JSON_TYPES

# Names that other dialects (BFCL, Python docstrings, Gemini) use for JSON's types.
_DIALECTS = {
    "dict": "object", "float": "number", "double": "number", "int": "integer", "long": "integer", "bool": "boolean",
    "str": "string", "list": "array", "tuple": "array", "none": "null",
}  # fmt: skip
_MAX_DEPTH = 20


def resolve(schema: object, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """Follow ``$ref`` inside one document; what cannot be followed is an empty schema (anything)."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return {}
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    here: Any = root
    for part in reference.removeprefix("#/").split("/"):
        here = here.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
    return resolve(here, root, depth + 1)


def types_of(schema: object, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema admits; all of them when it does not say."""
    found = resolve(schema, root)
    every = frozenset(JSON_TYPES)
    if depth > _MAX_DEPTH:
        return every
    for key in ("anyOf", "oneOf"):
        options = found.get(key)
        if isinstance(options, list) and options:
            return frozenset[str]().union(*(types_of(option, root, depth + 1) for option in options))
    values = found.get("enum", [found["const"]] if "const" in found else None)
    if isinstance(values, list) and values and "type" not in found:
        return frozenset(json_type(value) for value in values)
    named = found.get("type")
    names = named if isinstance(named, list) else [named] if isinstance(named, str) else []
    types = {_DIALECTS.get(str(name).lower(), str(name).lower()) for name in names}
    return frozenset(types & every) or every


def fits(given: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether a value of one of the given types may be one of the wanted types; whole numbers are numbers."""
    widened = (
        given | ({"number"} if "integer" in given else set()) | ({"integer"} if "number" in given else set())
    )
    return bool(widened & wanted)


def fields_of(schema: object, root: Mapping[str, Any], depth: int = 0) -> tuple[str, ...]:
    """Return the names of an object's fields, or of the objects in a list."""
    found = resolve(schema, root)
    properties = found.get("properties")
    if isinstance(properties, Mapping):
        return tuple(str(name) for name in properties)
    if "items" in found and depth < 3:
        return fields_of(found["items"], root, depth + 1)
    return ()
