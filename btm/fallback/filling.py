"""Arguments of a candidate, filled from what is known: ``call``, ``known`` and earlier steps of a composition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from btm.authored.expressions import compile_value
from btm.errors import TemplateError
from btm.model import ToolCall

Names = Mapping[str, Any]
_Filler = Callable[[Names], Any]


class Arguments(Protocol):
    """How the arguments of one call are made."""

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the arguments that could be filled, and the names of those that could not."""
        ...


def names_of(call: ToolCall, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what templates see: ``call`` (the arguments, ``tool`` and ``arguments`` beside them) and ``known``."""
    return {"call": {**call.arguments, "tool": call.tool, "arguments": call.arguments}, "known": known}


@dataclass(frozen=True, slots=True)
class Written:
    """Arguments as the map writes them: templates and constants."""

    fillers: tuple[tuple[str, _Filler], ...]
    required: tuple[str, ...] = ()

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Fill each template; one that uses an undefined name (or fails on a value) leaves its argument missing."""
        filled: dict[str, Any] = {}
        missing: list[str] = []
        for name, filler in self.fillers:
            try:
                filled[name] = filler(names)
            except TemplateError:
                missing.append(name)
        missing.extend(name for name in self.required if name not in filled and name not in missing)
        return filled, tuple(missing)


@dataclass(frozen=True, slots=True)
class ByName:
    """Arguments that line up by name with the failed call's, an earlier step's result, or what is known.

    An optional argument is only taken from the call itself: a value that was merely seen may not be meant.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    previous: str | None = None

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Fill each argument from the first source that has it."""
        arguments = names["call"]["arguments"]
        before = names.get(self.previous) if self.previous else None
        sources = [s for s in (before, arguments, names["known"]) if isinstance(s, Mapping)]
        filled: dict[str, Any] = {}
        for name in self.required:
            for source in sources:
                if name in source:
                    filled[name] = source[name]
                    break
        filled.update({name: arguments[name] for name in self.optional if name in arguments})
        return filled, tuple(name for name in self.required if name not in filled)


class Unchanged:
    """The failed call's own arguments."""

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Pass every argument of the call."""
        return dict(names["call"]["arguments"]), ()


def arguments_for(
    written: Mapping[str, Any] | None,
    takes: tuple[str, ...] | None,
    *,
    previous: str | None = None,
) -> Arguments:
    """Choose how a call's arguments are made: as written; else by the names that the tool takes; else unchanged."""
    required = tuple(name for name in takes or () if not name.endswith("?"))
    if written is not None:
        return Written(tuple((name, _filler(value)) for name, value in written.items()), required)
    if takes is not None:
        optional = tuple(name.removesuffix("?") for name in takes if name.endswith("?"))
        return ByName(required, optional, previous)
    return Unchanged()


def _filler(value: Any) -> _Filler:
    if isinstance(value, str):
        return compile_value(value) if "{" in value else _constant(value)
    if isinstance(value, dict):
        inner = {key: _filler(item) for key, item in value.items()}
        return lambda names: {key: filler(names) for key, filler in inner.items()}
    if isinstance(value, list):
        items = [_filler(item) for item in value]
        return lambda names: [filler(names) for filler in items]
    return _constant(value)


def _constant(value: Any) -> _Filler:
    return lambda _names: value
