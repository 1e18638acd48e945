"""Reading a map: the file, the files it extends, and every check that needs the whole of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from btm.authored.loading import Node, Place, first_of, parse, read_text, validate
from btm.errors import AuthoredFileError, FallbackMapError
from btm.fallback.checking import problems_in
from btm.fallback.schema import MapFile
from btm.support.resources import authored

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
    node = _extended(parse(text, file, FallbackMapError), Path(file), ())
    model, problems = validate(node, MapFile, FallbackMapError)
    if model is not None:
        problems = problems_in(model, node)
    return Loaded(model if not problems else None, node, tuple(problems))


def load_valid(text: str, file: str) -> tuple[MapFile, Node]:
    """Read a map; raises FallbackMapError for the first of its problems, with the others as notes."""
    loaded = load_text(text, file)
    if loaded.file is None:
        raise first_of(loaded.problems)
    return loaded.file, loaded.node


def _extended(node: Node, path: Path, seen: tuple[Path, ...]) -> Node:
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
    try:
        text = read_text(target, FallbackMapError)
    except FallbackMapError as problem:
        raise _at(link.place, f"the map {link.scalar!r} {problem.what}", "a map to extend") from problem
    return _laid_over(_extended(parse(text, str(target), FallbackMapError), target, chain), node)


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
    file, line, column = place
    return FallbackMapError(
        what, file=file, line=line, column=column, expected=expected, suggestion=suggestion
    )
