"""What is wrong with a map as a map: dead ends, single points of failure, ping-pong, writes that cannot be verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from btm.authored.loading import Node, Place
from btm.errors import AuthoredFileError
from btm.fallback.checking import steps_of, tool_place
from btm.fallback.fields import expand_kinds
from btm.fallback.loading import load_text, read_map
from btm.fallback.schema import MapFile, ToolRole
from btm.maps.against import against_tools
from btm.maps.finding import Diagnostic, Severity, of_problem
from btm.maps.tools import ToolInfo
from btm.model import Effect

_CURES = {
    "no-escalation": "if there is one, give it 'role: escalation'",
    "no-way-round": "add 'fallbacks', if a tool can",
    "offered-twice": "leave one out, or give them different 'only_for'",
    "ping-pong": "a way out of the circle would end it",
    "read-for-write": "use it under 'verify', if it shows whether it happened",
    "single-point": "a second way round would help when it fails too",
    "unverifiable-write": "add 'verify' with a read that shows it, or 'idempotent: true' if a repeat does no harm",
}


def check_map(
    name: str | Path, tools: Iterable[ToolInfo] | None = None
) -> tuple[list[Diagnostic], MapFile | None]:
    """Check a map file, and against real tools where they are given; findings in the order of the file.

    Raises FallbackMapError when the file itself cannot be read.
    """
    text, path = read_map(name)
    return check_text(text, str(path), tools)


def check_text(
    text: str, file: str, tools: Iterable[ToolInfo] | None = None
) -> tuple[list[Diagnostic], MapFile | None]:
    """Like :func:`check_map`, for a text; what is not YAML at all is a finding too."""
    try:
        loaded = load_text(text, file)
    except AuthoredFileError as problem:
        return [of_problem(problem)], None
    if loaded.file is None:
        return [of_problem(problem) for problem in loaded.problems], None
    found = [*_shape(loaded.file, loaded.node)]
    if tools is not None:
        found.extend(against_tools(loaded.file, loaded.node, {tool.name: tool for tool in tools}))
    return sorted(found, key=lambda f: (f.place.file != file, f.place)), loaded.file


def _shape(model: MapFile, node: Node) -> Iterator[Diagnostic]:
    yield from _escalation(model, node)
    for name, entry in model.tools.items():
        place = node.key_place(("tools", name))
        writes = entry.effective is Effect.WRITE
        if entry.role is None and not entry.fallbacks:
            severity = Severity.WARNING if entry.effective is Effect.READ else Severity.NOTE
            yield _found("no-way-round", f"nothing stands in for {name!r}", place, severity)
        if entry.role is None and writes and entry.verify is None and not entry.idempotent:
            what = f"after a timeout of the write {name!r} nobody can tell whether it happened"
            yield _found("unverifiable-write", what, place)
        yield from _shadowed(model, node, name)
        yield from _misplaced(model, node, name)
    yield from _single_points(model, node)
    yield from _ping_pong(model, node)


def _found(code: str, what: str, place: Place, severity: Severity = Severity.WARNING) -> Diagnostic:
    return Diagnostic(severity, code, what, place, _CURES[code])


def _escalation(model: MapFile, node: Node) -> Iterator[Diagnostic]:
    if model.tools and not any(entry.role is ToolRole.ESCALATION for entry in model.tools.values()):
        place = node.key_place(("tools",))
        yield _found("no-escalation", "no tool hands over to a human", place, Severity.NOTE)


def _shadowed(model: MapFile, node: Node, name: str) -> Iterator[Diagnostic]:
    seen: dict[tuple[str, ...], frozenset[object]] = {}
    for index, fallback in enumerate(model.tools[name].fallbacks):
        target = tuple(step.tool for step in steps_of(fallback))
        kinds: frozenset[object] = (
            frozenset(expand_kinds(fallback.only_for)) if fallback.only_for else frozenset("*")
        )
        before = seen.get(target, frozenset())
        if before and ("*" in before or kinds <= before):
            place = tool_place(node, ("tools", name, "fallbacks", index))
            what = f"{' then '.join(target)!r} is offered for {name!r} twice under the same conditions"
            yield _found("offered-twice", what, place)
        seen[target] = before | kinds


def _misplaced(model: MapFile, node: Node, name: str) -> Iterator[Diagnostic]:
    entry = model.tools[name]
    for index, fallback in enumerate(entry.fallbacks):
        last = model.tools[steps_of(fallback)[-1].tool]
        if entry.effective is Effect.WRITE and last.effective is Effect.READ:
            place = tool_place(node, ("tools", name, "fallbacks", index))
            what = f"the read {steps_of(fallback)[-1].tool!r} cannot do what the write {name!r} does"
            yield _found("read-for-write", what, place)


def _single_points(model: MapFile, node: Node) -> Iterator[Diagnostic]:
    """A tool with no way round it, on which several others depend as their only one."""
    depends: dict[str, list[str]] = {}
    for name, entry in model.tools.items():
        sets = [frozenset(step.tool for step in steps_of(fallback)) for fallback in entry.fallbacks]
        for only in frozenset.intersection(*sets) if sets else ():
            depends.setdefault(only, []).append(name)
    for name, dependants in depends.items():
        if len(dependants) >= 3 or (len(dependants) == 2 and not model.tools[name].fallbacks):
            what = f"{name!r} is the only way round {_listed(dependants)}"
            yield _found("single-point", what, node.key_place(("tools", name)), Severity.NOTE)


def _ping_pong(model: MapFile, node: Node) -> Iterator[Diagnostic]:
    """Tools that stand in for each other while nothing outside their circle does."""
    graph: Any = nx.DiGraph()
    for name, entry in model.tools.items():
        graph.add_edges_from((name, step.tool) for fallback in entry.fallbacks for step in steps_of(fallback))
    for circle in nx.strongly_connected_components(graph):
        leaves = any(target not in circle for name in circle for target in graph.successors(name))
        if len(circle) > 1 and not leaves:
            ordered = [name for name in model.tools if name in circle]
            what = f"{_listed(ordered)} only stand in for each other: failing together, they send an agent in a circle"
            yield _found("ping-pong", what, node.key_place(("tools", ordered[0])), Severity.NOTE)


def _listed(names: list[str]) -> str:
    quoted = [repr(name) for name in names[:5]]
    if len(names) > 5:
        return ", ".join(quoted) + f" and {len(names) - 5} more"
    return " and ".join(quoted) if len(quoted) < 3 else ", ".join(quoted[:-1]) + f" and {quoted[-1]}"
