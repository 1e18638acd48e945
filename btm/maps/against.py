"""A map against the real tools: do they exist, are their arguments filled, can the types match?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.authored.expressions import referenced_names
from btm.authored.loading import Node, NodePath, Place
from btm.classify.shape import json_type
from btm.errors import TemplateError, nearest
from btm.fallback.checking import OF_CALL, steps_of, tool_place
from btm.fallback.schema import MapFile, ToolEntry
from btm.maps.finding import Diagnostic, Severity
from btm.maps.schemas import fits
from btm.maps.toolinfo import GUESSES
from btm.maps.tools import ToolInfo
from btm.model import Effect

_CALL_ALONE = re.compile(r"\s*\{\{\s*call\.(\w+)\s*\}\}\s*\Z")


def against_tools(model: MapFile, node: Node, tools: Mapping[str, ToolInfo]) -> Iterator[Diagnostic]:
    """Yield what does not agree between a map and the real tools."""
    for name, entry in model.tools.items():
        place = node.key_place(("tools", name))
        tool = tools.get(name)
        if tool is None:
            close = nearest(name, tools)
            cure = (
                f"did you mean {close!r}?"
                if close
                else "remove it from the map, or give the check the list that has it"
            )
            yield Diagnostic(Severity.ERROR, "missing-tool", f"there is no tool {name!r}", place, cure)
            continue
        yield from _effect(entry, tool, place)
        yield from _takes(entry, tool, ("tools", name, "takes"), node)
        for path, target, written, kind in _calls(name, entry):
            if target in tools:
                yield from _arguments(path, tool, tools[target], model.tools[target], written, kind, node)
    for name in tools:
        if name not in model.tools:
            what = f"the tool {name!r} is not in the map"
            yield Diagnostic(
                Severity.WARNING, "unmapped-tool", what, node.key_place(("tools",)), "btm map init adds it"
            )


def _effect(entry: ToolEntry, tool: ToolInfo, place: Place) -> Iterator[Diagnostic]:
    stated, (said, why) = entry.effective, tool.effect()
    if stated is Effect.READ and said is Effect.WRITE and why not in GUESSES:
        what = f"the map calls {tool.name!r} a read, and {why}"
        yield Diagnostic(
            Severity.ERROR, "effect", what, place, "effect: write, unless a repeat is known to do no harm"
        )


def _takes(entry: ToolEntry, tool: ToolInfo, path: NodePath, node: Node) -> Iterator[Diagnostic]:
    if entry.takes is None or tool.open:
        return
    for index, argument in enumerate(entry.takes):
        name = argument.removesuffix("?")
        place = node.at((*path, index)).place
        if name not in tool.properties:
            what = f"{tool.name!r} takes no argument {name!r}"
            yield Diagnostic(Severity.ERROR, "unknown-argument", what, place, _instead_of(name, tool))
        elif argument.endswith("?") and name in tool.required:
            what = f"{name!r} is an argument that {tool.name!r} requires"
            yield Diagnostic(
                Severity.ERROR, "required-argument", what, place, f"write it without '?': {name}"
            )
    missing = [name for name in tool.required if name not in entry.argument_names]
    if missing:
        what = f"{tool.name!r} also requires {', '.join(map(repr, missing))}"
        yield Diagnostic(Severity.ERROR, "required-argument", what, node.at(path).place, "add to 'takes'")


def _calls(name: str, entry: ToolEntry) -> Iterator[tuple[NodePath, str, Mapping[str, Any] | None, str]]:
    """Every call that an entry describes: where it stands, the tool, the arguments as written, and what it is for."""
    at: NodePath = ("tools", name)
    for index, fallback in enumerate(entry.fallbacks):
        for number, step in enumerate(steps_of(fallback)):
            path = (*at, "fallbacks", index) if fallback.tool else (*at, "fallbacks", index, "via", number)
            yield path, step.tool, step.arguments, "first" if number == 0 else "later"
    for index, repair in enumerate(entry.repairs):
        yield (*at, "repairs", index), repair.tool, repair.arguments, "repair"
    for key, check in (("verify", entry.verify), ("cross_check", entry.cross_check)):
        if check is not None:
            yield (*at, key), check.tool, check.arguments, "first"


def _arguments(
    path: NodePath,
    failed: ToolInfo,
    target: ToolInfo,
    target_entry: ToolEntry,
    written: Mapping[str, Any] | None,
    kind: str,
    node: Node,
) -> Iterator[Diagnostic]:
    if written is None:
        yield from _passed(path, failed, target, target_entry, kind, node)
        return
    filled = set(written)
    for name in target.required:
        if name not in filled:
            yield Diagnostic(
                Severity.ERROR, "unfilled-argument", f"{target.name!r} requires {name!r}, and nothing fills it",
                tool_place(node, path), f"add {name}: to 'arguments', from call.… or known.…",
            )  # fmt: skip
    for name, value in written.items():
        at = (*path, "arguments", name)
        if name not in target.properties and not target.open:
            what = f"{target.name!r} takes no argument {name!r}"
            cure = _instead_of(name, target)
            yield Diagnostic(Severity.ERROR, "unknown-argument", what, node.key_place(at), cure)
            continue
        yield from _from_call(at, value, failed, node)
        yield from _types(at, name, value, failed, target, node)


def _passed(
    path: NodePath, failed: ToolInfo, target: ToolInfo, target_entry: ToolEntry, kind: str, node: Node
) -> Iterator[Diagnostic]:
    """Arguments that the map leaves out: by name where the map says what the tool takes, else those of the failed call."""
    place = tool_place(node, path)
    by_name = target_entry.takes is not None
    passed: list[str] = []
    if kind == "later":
        unfilled = []  # the step before fills it
    elif kind == "repair" and not by_name:
        unfilled = list(target.required)
    else:
        passed = [name for name in failed.properties if name in target.properties or not by_name]
        unfilled = [name for name in target.required if name not in failed.properties]
    for name in unfilled:
        cure = f"write 'arguments' with {name}:"
        if by_name:
            severity = Severity.NOTE if kind == "repair" else Severity.WARNING
            what = f"{target.name!r} requires {name!r}, which {failed.name!r} lacks: only a value seen before fills it"
        else:
            severity = Severity.ERROR
            what = f"{target.name!r} requires {name!r}, and nothing fills it"
        yield Diagnostic(severity, "unfilled-argument", what, place, cure)
    for name in passed:
        if name not in target.properties and not target.open:
            what = f"{target.name!r} takes no argument {name!r}, and is passed that of {failed.name!r}"
            yield Diagnostic(
                Severity.ERROR, "unknown-argument", what, place, "write 'arguments', or say what it 'takes'"
            )
        elif name in target.properties and not fits(failed.types(name), target.types(name)):
            yield _mismatch(place, name, failed.types(name), target)


def _from_call(path: NodePath, value: Any, failed: ToolInfo, node: Node) -> Iterator[Diagnostic]:
    for text in _texts(value):
        try:
            read = referenced_names(text)
        except TemplateError:  # the format's own check has said so
            continue
        for dotted in sorted(read):
            root, _, rest = dotted.partition(".")
            field = rest.partition(".")[0]
            if (
                root == "call"
                and field
                and field not in failed.properties
                and field not in OF_CALL
                and not failed.open
            ):
                place = node.at(path).word_place(field)
                what = f"the failed call of {failed.name!r} has no argument {field!r}"
                yield Diagnostic(Severity.ERROR, "unknown-argument", what, place, _instead_of(field, failed))


def _instead_of(argument: str, tool: ToolInfo) -> str:
    """Return the cure for an argument that a tool does not take."""
    close = nearest(argument, tool.properties)
    return f"did you mean {close!r}?" if close else f"it takes {', '.join(tool.takes) or 'no arguments'}"


def _types(
    path: NodePath, name: str, value: Any, failed: ToolInfo, target: ToolInfo, node: Node
) -> Iterator[Diagnostic]:
    """What is written against what the tool takes; an expression's type is only known for ``{{ call.x }}``."""
    place = node.at(path).place
    given = frozenset((json_type(value),))
    if isinstance(value, str) and "{{" in value:
        alone = _CALL_ALONE.match(value)
        if alone and alone.group(1) in failed.properties:
            given = failed.types(alone.group(1))
        elif re.fullmatch(r"\s*\{\{[^{}]*\}\}\s*", value):
            return
    if not fits(given, target.types(name)):
        yield _mismatch(place, name, given, target)


def _mismatch(place: Place, name: str, given: frozenset[str], target: ToolInfo) -> Diagnostic:
    wanted = " or ".join(sorted(target.types(name)))
    what = f"{name!r} of {target.name!r} is given {' or '.join(sorted(given))}"
    return Diagnostic(Severity.ERROR, "type-mismatch", what, place, f"it takes {wanted}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)
