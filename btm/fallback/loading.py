"""Reading a map: the file, the files it extends, and every check that needs the whole of it.

A map that was written by somebody else can extend any file there is. What is wrong with one outside its own folder is
told without a word of what that file holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from btm.authored.loading import Node, Place, authored, authored_folder, first_of, parse, read_text, validate
from btm.errors import AuthoredFileError, FallbackMapError
from btm.fallback.checking import problems_in
from btm.fallback.schema import MapFile

MAX_EXTENDS = 8


class Loaded(NamedTuple):
    """What became of a map file: its model (None when it has problems), its tree, and its problems in order."""

    file: MapFile | None
    node: Node
    problems: tuple[AuthoredFileError, ...]


def read_map(name: str | Path) -> tuple[str, Path]:
    """Return a map's text and path, by path or shipped name; raises FallbackMapError when it cannot be read."""
    path = authored("fallback_maps", str(name), FallbackMapError)
    return read_text(path, FallbackMapError), path


def load_text(text: str, file: str) -> Loaded:
    """Read a map and check it; raises FallbackMapError only for what is not YAML at all."""
    links = _Links(Path(file).parent)
    try:
        node = _extended(parse(text, file, FallbackMapError), Path(file), (), links)
    except FallbackMapError as problem:
        (told,) = links.told([problem])
        raise told from None
    model, problems = validate(node, MapFile, FallbackMapError)
    problems = problems_in(model, node) if model is not None else [*problems, *_further(node, problems)]
    return Loaded(model if not problems else None, node, tuple(links.told(problems)))


def _further(node: Node, problems: Iterable[AuthoredFileError]) -> list[AuthoredFileError]:
    """Return what else is wrong with a map whose format is: references are followed in what is left without that."""
    wrong = {(problem.line, problem.column) for problem in problems}
    rest = _without(node, wrong)
    model, others = (None, []) if rest is None else validate(rest, MapFile, FallbackMapError)
    if model is None or rest is None:
        return []
    # What was left out is missed in its place, which is told already.
    gone = {problem.line for problem in problems}
    return [*others, *(one for one in problems_in(model, rest) if one.line not in gone)]


def _without(node: Node, wrong: Set[tuple[int, int]]) -> Node | None:
    """Return a tree without the keys and list items at these places; None for a node that is one of them."""
    if (node.place.line, node.place.column) in wrong and node.entries is None:
        return None
    if node.entries is not None:
        kept = {}
        for key, child in node.entries.items():
            place = node.keys.get(key)
            rest = (
                None if place is not None and (place.line, place.column) in wrong else _without(child, wrong)
            )
            if rest is not None:
                kept[key] = rest
        return replace(node, entries=kept)
    if node.items is not None:
        items = [rest for child in node.items if (rest := _item(child, wrong)) is not None]
        return replace(node, items=items)
    return node


def _item(child: Node, wrong: Set[tuple[int, int]]) -> Node | None:
    """An item of a list that misses something is told at its own place, and left out."""
    return None if (child.place.line, child.place.column) in wrong else _without(child, wrong)


def load_valid(text: str, file: str) -> tuple[MapFile, Node]:
    """Read a map; raises FallbackMapError for the first of its problems, with the others as notes."""
    loaded = load_text(text, file)
    if loaded.file is None:
        raise first_of(loaded.problems)
    return loaded.file, loaded.node


@dataclass
class _Links:
    """The files outside a map's folder that it extends, each with the place of the link that leads out of it."""

    folder: Path
    outside: dict[str, Place] = field(default_factory=dict)

    def follow(self, target: Path, place: Place) -> None:
        near = self.folder.resolve(), authored_folder("fallback_maps").resolve()
        if not any(target.resolve().is_relative_to(folder) for folder in near):
            self.outside[str(target)] = self.outside.get(place.file, place)

    def told(self, problems: Iterable[AuthoredFileError]) -> list[AuthoredFileError]:
        """Return problems, with one in place of all that lie in one file outside."""
        told: dict[object, AuthoredFileError] = {}
        for problem in problems:
            link = self.outside.get(problem.file)
            if link is None:
                told[len(told)] = problem
            else:
                told.setdefault(problem.file, _unseen(problem, link))
        return list(told.values())


def _unseen(problem: AuthoredFileError, link: Place) -> FallbackMapError:
    return _at(
        link,
        f"{problem.file!r}, which lies outside this map's folder, is wrong in line {problem.line}",
        f"a map that 'btm map check {problem.file}' finds nothing in",
    )


def _extended(node: Node, path: Path, seen: tuple[Path, ...], links: _Links) -> Node:
    """Return the tree with the one it extends laid under it."""
    link = node.child("extends")
    if link is None or not isinstance(link.scalar, str):
        return node
    target = (
        _shipped(link.scalar, link.place)
        if not link.scalar.endswith((".yaml", ".yml"))
        else path.parent / link.scalar
    )
    chain = (*seen, path.resolve())
    if target.resolve() in chain or len(chain) > MAX_EXTENDS:
        raise _at(link.place, f"{link.scalar!r} extends this map again", "maps that do not extend each other")
    links.follow(target, link.place)
    try:
        text = read_text(target, FallbackMapError)
    except FallbackMapError as problem:
        raise _at(link.place, f"the map {link.scalar!r} {problem.what}", "a map to extend") from problem
    return _laid_over(_extended(parse(text, str(target), FallbackMapError), target, chain, links), node)


def _shipped(name: str, place: Place) -> Path:
    try:
        return authored("fallback_maps", name, FallbackMapError)
    except FallbackMapError as problem:
        raise _at(place, problem.what, problem.expected, problem.suggestion) from problem


def _laid_over(under: Node, over: Node) -> Node:
    """Lay one map over another: top keys and tools' keys of ``over`` win, what it does not name stays."""
    if under.entries is None or over.entries is None:
        return over
    merged = _merged(under, over)
    below, above = under.child("tools"), over.child("tools")
    if merged.entries is None or below is None or above is None:
        return merged
    tools = _merged(below, above)
    for name in above.entries or ():
        old, new = below.child(name), above.child(name)
        if old is not None and new is not None and tools.entries is not None:
            tools.entries[name] = _merged(old, new)
    merged.entries["tools"] = tools
    return merged


def _merged(under: Node, over: Node) -> Node:
    if under.entries is None or over.entries is None:
        return over
    return Node(
        over.place,
        entries={**under.entries, **over.entries},
        keys={**under.keys, **over.keys},
        size=under.size + over.size,
    )


def _at(place: Place, what: str, expected: str, suggestion: str = "") -> FallbackMapError:
    return FallbackMapError(what, **place._asdict(), expected=expected, suggestion=suggestion)
