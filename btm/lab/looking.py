"""How the scripted agent reads results: what it takes for a value, and whether it has seen one at all.

It reads like a person who knows what they look for, and believes what stands there. In the answer of the tool it
expected, it looks at the usual place, and takes what it finds, right or wrong. In the answer of another tool it
looks for the record about the thing it asked for, and in it for the field of that name. It never uses a value
that nothing has shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from btm.lab.environment import ShownValue
from btm.lab.jsonvalue import (
    ABSENT,
    Pair,
    Path,
    at,
    element_path,
    equal,
    field_name,
    leaves,
    like,
    pairs,
    parsed,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A result the agent has for a step: by the step's own tool or by another, and what it asked for."""

    value: Any
    own: bool
    asked: Mapping[str, Any]


def look(shown: Shown, place: ShownValue, name: str) -> Any:
    """Return what the agent takes for the value at a place, or ABSENT.

    ``name`` is the field it stands under in a foreign result where the place itself has no name.
    """
    return (
        _in_own(shown.value, place)
        if shown.own
        else _in_foreign(shown, place, field_name(place.path) or name)
    )


def shows_all(result: object, asked: Mapping[str, Any], places: Iterable[ShownValue]) -> bool:
    """Whether another tool's result, with what it asked for, shows the value of each of these places."""
    shown = Shown(parsed(result), own=False, asked=asked)
    return all(equal(look(shown, place, ""), place.value) for place in places)


def anywhere(values: Iterable[Any], wanted: Any) -> bool:
    """Whether any of these results shows the value anywhere."""
    return any(_shows(value, wanted) for value in values)


def _in_own(value: Any, place: ShownValue) -> Any:
    if not place.beside:
        found = at(value, place.path)
        if found is not ABSENT:
            return found
        return place.value if _shows(value, place.value) else ABSENT
    element = element_path(place.path) or ()
    found = _element(value, element, place.beside)
    if found is ABSENT:
        return ABSENT
    inside = at(found, place.path[len(element) :])
    if inside is not ABSENT:
        return inside
    return place.value if _shows(found, place.value) else ABSENT


def _element(value: Any, path: Path, beside: tuple[Pair, ...]) -> Any:
    """Return the list element known by what stands in it: more than half of it has to be there."""
    known = set(beside)
    best, rank = ABSENT, (len(known) // 2, False)
    for where, element in like(value, path):
        candidate = (len(known & pairs(element)), where == path)
        if candidate > rank and candidate[0] > len(known) // 2:
            best, rank = element, candidate
    return best


def _in_foreign(shown: Shown, place: ShownValue, name: str) -> Any:
    record = _record(shown.value, place.beside, shown.asked)
    named = [leaf for path, leaf in leaves(record) if name and field_name(path) == name]
    if any(equal(leaf, place.value) for leaf in named):
        return place.value
    if len(named) == 1:
        return named[0]
    # Another shape may have another name for it: a reader who knows the thing recognises it.
    return place.value if _shows(record, place.value) else ABSENT


def _record(value: Any, beside: tuple[Pair, ...], asked: Mapping[str, Any]) -> Any:
    """Return the record that says most about the thing asked for, the smallest of equals; the whole when none does.

    An element of a list is known by what stands beside the value in it, and then by the record it belongs to.
    """
    known = set(beside)
    terms = {leaf for _, leaf in leaves(asked) if isinstance(leaf, str) and leaf}
    best, best_rank = value, (0, 0, 0)
    for record, around in _surrounded(value, {}):
        content = pairs(record)
        clues = len(known & content) if known else len(terms & _texts(record))
        rank = (clues, sum(around.get(term, 0) for term in terms) if known else 0, -len(content))
        if clues and rank > best_rank:
            best, best_rank = record, rank
    return best


def _surrounded(
    value: Any, around: Mapping[str, int], depth: int = 1
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, int]]]:
    """Yield every mapping in a value, with the texts of the records it lies in and how deep the nearest of them lies.

    The nearest says most: an answer often repeats the question at its top.
    """
    if isinstance(value, Mapping):
        inside = {**around, **{item: depth for item in value.values() if isinstance(item, str)}}
        yield value, inside
        for key, item in value.items():
            yield from _surrounded(item, {**inside, str(key): depth}, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _surrounded(item, around, depth)


def _texts(record: Any) -> set[str]:
    """Return every string in a record, its keys among them: records are often kept under their id."""
    found: set[str] = set()
    for path, leaf in leaves(record):
        found.update(key for key in path if isinstance(key, str))
        if isinstance(leaf, str):
            found.add(leaf)
    return found


def _shows(value: Any, wanted: Any) -> bool:
    return any(
        equal(leaf, wanted) or (isinstance(wanted, str) and wanted in path) for path, leaf in leaves(value)
    )
