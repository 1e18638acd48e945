"""Every type in a public signature can be imported from `btm`."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import btm

# Handed in and handed around: what is public about them is how to make one (docs/stability.md).
OPAQUE = {
    "Evidence": set(),
    "FallbackMap": {"load", "from_text", "empty", "domain"},
    "NamingModel": {"with_structured_output"},
    "Policies": {"load"},
    "Priors": set(),
    "Skills": set(),
    "Store": set(),
    "Ticket": set(),
}


def classes_in(hint: Any) -> Iterator[type]:
    """The classes that a type hint names, however deep."""
    if isinstance(hint, list | tuple):
        for part in hint:
            yield from classes_in(part)
    elif typing.get_args(hint):
        yield from classes_in(typing.get_origin(hint))
        yield from classes_in(typing.get_args(hint))
    elif isinstance(hint, type):
        yield hint


def signatures_of(cls: type) -> Iterator[tuple[str, Any]]:
    """Each public member of a class that has annotations, by name: the class itself stands for its fields."""
    allowed = OPAQUE.get(cls.__name__)
    if allowed is None:
        yield cls.__name__, cls
    for name, member in vars(cls).items():
        if name != "__init__" and (name.startswith("_") or (allowed is not None and name not in allowed)):
            continue
        if name == "__init__" and allowed is not None:
            continue
        function = (
            getattr(member, "__func__", None)
            or getattr(member, "fget", None)
            or getattr(member, "func", member)
        )
        if inspect.isfunction(function):
            yield f"{cls.__name__}.{name}", function


def public_types() -> dict[str, Any]:
    return {name: found for name in btm.__all__ if isinstance(found := getattr(btm, name), type)}


@pytest.mark.parametrize("name", sorted(public_types()))
def test_every_type_in_a_signature_of_a_public_name_is_public_too(name: str) -> None:
    for where, annotated in signatures_of(public_types()[name]):
        hints = {k: v for k, v in typing.get_type_hints(annotated).items() if not k.startswith("_")}
        for part, hint in hints.items():
            for cls in classes_in(hint):
                if cls.__module__.partition(".")[0] == "btm":
                    assert getattr(btm, cls.__name__, None) is cls, (
                        f"{where}: {part} needs btm.{cls.__name__}"
                    )


def test_no_public_signature_takes_just_anything_by_keyword() -> None:
    for cls in public_types().values():
        for where, function in signatures_of(cls):
            if isinstance(function, types.FunctionType):
                kinds = [p.kind for p in inspect.signature(function).parameters.values()]
                assert inspect.Parameter.VAR_KEYWORD not in kinds, where


def test_the_version_stands_in_one_place() -> None:
    from importlib.metadata import version

    assert version("bayesian-tool-memory") == btm.__version__


def test_every_public_name_says_what_it_is_for() -> None:
    assert [name for name, cls in public_types().items() if not (cls.__doc__ or "").strip()] == []
