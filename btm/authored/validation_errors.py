"""What pydantic found wrong with an authored file, said with its place and its cure."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from btm.authored.slips import colon_meant
from btm.errors import AuthoredFileError, nearest

if TYPE_CHECKING:
    from btm.authored.yaml_tree import Node, NodePath, Place

_TYPES = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "a mapping (key: value)",
    "model": "a mapping (key: value)",
    "dataclass": "a mapping (key: value)",
    "none_required": "nothing (null)",
}


def problem(what: str, *, expected: str = "", suggestion: str = "") -> PydanticCustomError:
    """Return an error for a model's validator to raise: the place is added by the loader."""
    return PydanticCustomError(
        "authored", "{what}", {"what": what, "expected": expected, "suggestion": suggestion}
    )


def describe(value: object) -> str:
    """Return what a YAML value is, in the words of its writer."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return f"{str(value).lower()} (true or false)"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {value[:60]!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


@dataclass(frozen=True, slots=True)
class _ValidationProblem:
    path: NodePath
    place: Place
    what: str
    expected: str
    suggestion: str = ""
    type_only: bool = False


def problems_of(
    invalid: ValidationError, node: Node, model: type[BaseModel], error: type[AuthoredFileError]
) -> list[AuthoredFileError]:
    """Return every problem of a validation in the order of the file."""
    every = invalid.errors(include_url=False)
    found = [_say(details, node, model) for details in every if not _is_misspelt(details, every)]
    return [
        error(one.what, **one.place._asdict(), expected=one.expected, suggestion=one.suggestion)
        for one in sorted(_of_fitting_branches(found), key=lambda one: one.place)
    ]


def _of_fitting_branches(found: list[_ValidationProblem]) -> Iterable[_ValidationProblem]:
    """Leave out the branches of a union that the value was not meant for.

    A branch whose type does not fit says nothing when another fits and found something inside; when none fits,
    their expectations are said together ("a list or text").
    """
    others = [one.path for one in found if not one.type_only]
    misfits: dict[NodePath, list[_ValidationProblem]] = {}
    for one in found:
        if not one.type_only:
            yield one
        elif not any(path[: len(one.path)] == one.path for path in others):
            misfits.setdefault(one.path, []).append(one)
    for path, group in misfits.items():
        if not any(other != path and other[: len(path)] == path for other in misfits):
            expected = " or ".join(dict.fromkeys(one.expected for one in group))
            yield replace(group[0], expected=expected)


def _say(details: ErrorDetails, node: Node, model: type[BaseModel]) -> _ValidationProblem:
    kind, context, given = details["type"], details.get("ctx", {}), details["input"]
    path: NodePath = tuple(part for part, inner in node.walk(details["loc"]) if inner is not None)
    here, label = node.at(path).place, _label(path)
    if kind == "authored":
        return _ValidationProblem(path, here, context["what"], context["expected"], context["suggestion"])
    if kind == "extra_forbidden":
        name, known = str(details["loc"][-1]), sorted(_names_at(model, details["loc"][:-1]))
        what = f"unknown key {name!r}" + (f" in {_label(path[:-1])}" if path[:-1] else "")
        return _ValidationProblem(
            path, node.key_place(path), what, "one of " + ", ".join(known), nearest(name, known)
        )
    if kind == "missing":
        name = str(details["loc"][-1])
        return _ValidationProblem(path, here, f"{label} has no {name!r}", f"the key {name!r}")
    if kind in ("enum", "literal_error"):
        known = _quoted(str(context.get("expected", "")))
        expected = "one of " + ", ".join(known) if len(known) > 1 else known[0]
        return _ValidationProblem(
            path, here, f"{label} is {describe(given)}", expected, nearest(str(given), known)
        )
    if _is_type(kind):
        wanted = _TYPES[kind.removesuffix("_type")]
        meant = colon_meant(given) if isinstance(given, str) and "mapping" in wanted else ""
        return _ValidationProblem(path, here, f"{label} is {describe(given)}", wanted, meant, type_only=True)
    if kind == "value_error":
        return _ValidationProblem(path, here, f"{label}: {context.get('error', details['msg'])}", "")
    message = details["msg"][:1].lower() + details["msg"][1:]
    what, _, expected = message.partition("should ")
    return _ValidationProblem(
        path, here, f"{label} is {describe(given)}" if expected else f"{label}: {what}", _plain(expected)
    )


def _plain(expected: str) -> str:
    return expected.removeprefix("be ").removeprefix("have ")


def _is_misspelt(details: ErrorDetails, every: Sequence[ErrorDetails]) -> bool:
    """Whether a missing key is there under a misspelt name, whose own error says it all."""
    if details["type"] != "missing":
        return False
    *parent, name = details["loc"]
    beside = [
        str(e["loc"][-1]) for e in every if e["type"] == "extra_forbidden" and list(e["loc"][:-1]) == parent
    ]
    return bool(nearest(str(name), beside))


def _is_type(kind: str) -> bool:
    return kind.removesuffix("_type") in _TYPES and (kind.endswith("_type") or kind == "none_required")


def _label(path: Sequence[str | int]) -> str:
    text = ""
    for part in path[-3:]:
        text += (
            f"{' ' if text else 'item '}#{part + 1}"
            if isinstance(part, int)
            else ("." if text else "") + part
        )
    return text.lstrip(".") or "the file"


def _quoted(expected: str) -> list[str]:
    quoted = [part for index, part in enumerate(expected.split("'")) if index % 2]
    return quoted or [expected]


def _names_at(model: type[BaseModel], path: Sequence[str | int]) -> set[str]:
    """Return the keys that the models at ``path`` know. Parts that only name a union's branch are passed over."""
    here: list[Any] = _expand(model)
    for part in path:
        inside = [inner for kind in here for inner in _step(kind, part)]
        here = inside or here
    return {
        field.alias or name
        for kind in here
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name, field in kind.model_fields.items()
    }


def _step(kind: Any, part: str | int) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            if part in (name, field.alias):
                return _expand(field.annotation)
        return []
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(part, str) and arguments:
        return _expand(arguments[1])
    if (
        isinstance(origin, type)
        and issubclass(origin, Sequence | Set)
        and isinstance(part, int)
        and arguments
    ):
        return _expand(arguments[0])
    return []


def _expand(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _expand(get_args(annotation)[0])
    if origin is Union or isinstance(annotation, types.UnionType):
        return [kind for member in get_args(annotation) for kind in _expand(member)]
    if isinstance(annotation, type) and issubclass(annotation, RootModel) and get_origin(annotation) is None:
        return _expand(annotation.model_fields["root"].annotation)
    return [annotation]
