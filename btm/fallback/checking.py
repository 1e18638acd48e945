"""What is wrong with a map that is well-formed: tools that do not exist, writes offered for reads, unknown fields."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from btm.authored.expressions import referenced_names
from btm.authored.loading import Node, NodePath, Place
from btm.errors import AuthoredFileError, FallbackMapError, nearest
from btm.fallback.schema import CrossCheck, Fallback, MapFile, ToolEntry, ToolRole, Verify, ViaStep
from btm.model import Effect

OF_CALL = frozenset(("tool", "arguments"))
"""What templates see under ``call`` beside its arguments."""


def problems_in(model: MapFile, node: Node) -> list[AuthoredFileError]:
    """Return every problem of a well-formed map, in the order of the file."""
    checker = _Checker(model, node)
    found = [problem for name, entry in model.tools.items() for problem in checker.tool(name, entry)]
    return sorted(found, key=lambda e: (e.line, e.column))


def steps_of(fallback: Fallback) -> tuple[ViaStep, ...]:
    """Return a fallback's calls in their order: one for ``tool``, several for ``via``."""
    if fallback.tool is not None:
        return (ViaStep(tool=fallback.tool, arguments=fallback.arguments),)
    return tuple(ViaStep(tool=step) if isinstance(step, str) else step for step in fallback.via)


def tool_place(node: Node, path: NodePath) -> Place:
    """Return where the offer at ``path`` names its tool, or where it begins if it names none."""
    here = node.at(path)
    named = here.child("tool")
    return named.place if named is not None else here.place


class _Checker:
    def __init__(self, model: MapFile, node: Node) -> None:
        self.tools = model.tools
        self.node = node
        self.fields = _fields_of(model)

    def tool(self, name: str, entry: ToolEntry) -> Iterator[AuthoredFileError]:
        at: NodePath = ("tools", name)
        if entry.effective is None:
            yield self._error(
                self.node.key_place(at),
                f"the tool {name!r} has neither an effect nor a role",
                "effect: read or write",
            )
        yield from self._wish(at, name, entry)
        for index, fallback in enumerate(entry.fallbacks):
            yield from self._fallback((*at, "fallbacks", index), name, entry, fallback)
        for index, repair in enumerate(entry.repairs):
            path = (*at, "repairs", index)
            yield from self._target(path, name, repair.tool, "repairs")
            yield from self._arguments(path, entry, repair.tool, repair.arguments, ("call", "known"))
        for key, check in (("verify", entry.verify), ("cross_check", entry.cross_check)):
            if check is not None:
                yield from self._reading((*at, key), name, entry, check)

    def _wish(self, at: NodePath, name: str, entry: ToolEntry) -> Iterator[AuthoredFileError]:
        """Check what tells one wish from another: arguments of a write."""
        places: dict[NodePath, str] = {
            (*at, "identity", index): argument for index, argument in enumerate(entry.identity)
        }
        if entry.idempotency_key is not None:
            places[(*at, "idempotency_key")] = entry.idempotency_key
        for path, argument in places.items():
            if entry.effective is Effect.READ:
                yield self._error(
                    self._place(path), f"{name!r} is a read: it may be repeated freely", "a write"
                )
            elif entry.takes is not None and argument not in entry.argument_names:
                known = entry.argument_names
                yield self._error(
                    self._place(path), f"{name!r} takes no argument {argument!r}",
                    "one of " + ", ".join(known) if known else "no arguments", nearest(argument, known),
                )  # fmt: skip

    def _reading(
        self, path: NodePath, name: str, entry: ToolEntry, check: Verify | CrossCheck
    ) -> Iterator[AuthoredFileError]:
        yield from self._target(path, name, check.tool, str(path[-1]).replace("_", "-"))
        target = self.tools.get(check.tool)
        if target is not None and target.effective is Effect.WRITE:
            yield self._error(
                self._place((*path, "tool")), f"{check.tool!r} is a write, and a check must not change anything",
                "a tool with effect: read",
            )  # fmt: skip
        yield from self._arguments(path, entry, check.tool, check.arguments, ("call", "known"))
        texts = {"pick": check.pick, "done_when": check.done_when if isinstance(check, Verify) else None}
        for key, text in texts.items():
            yield from self._expression((*path, key), entry, text, ("call", "result"))

    def _fallback(
        self, path: NodePath, name: str, entry: ToolEntry, fallback: Fallback
    ) -> Iterator[AuthoredFileError]:
        if (fallback.tool is None) == (not fallback.via):
            yield self._error(self._place(path), "a fallback has both 'tool' and 'via'" if fallback.via else
                              "a fallback has neither 'tool' nor 'via'", "one of them")  # fmt: skip
            return
        if fallback.via and len(fallback.via) < 2:
            yield self._error(
                self._place((*path, "via")), "'via' names one call", "two calls or more, or 'tool'"
            )
        if fallback.via and fallback.arguments is not None:
            yield self._error(
                self.node.key_place((*path, "arguments")), "a composition's arguments belong to its steps",
                "via: [{tool: ..., arguments: {...}, as: name}, ...]",
            )  # fmt: skip
        for field in sorted(set(fallback.gives) & set(fallback.lacks)):
            index = fallback.lacks.index(field)
            yield self._error(
                self._place((*path, "lacks", index)), f"{field!r} is both given and lacking", "one of them"
            )
        names = ["call", "known"]
        for index, step in enumerate(steps_of(fallback)):
            here = path if fallback.tool is not None else (*path, "via", index)
            yield from self._step(here, name, entry, step, tuple(names), first=index == 0)
            if step.as_:
                if step.as_ in ("call", "known", "result"):
                    yield self._error(
                        self._place((*here, "as")), f"{step.as_!r} has a meaning already", "another name"
                    )
                names.append(step.as_)
        yield from self._expression((*path, "pick"), entry, fallback.pick, (*names, "result"))

    def _step(
        self,
        path: NodePath,
        name: str,
        entry: ToolEntry,
        step: ViaStep,
        names: tuple[str, ...],
        *,
        first: bool,
    ) -> Iterator[AuthoredFileError]:
        yield from self._target(path, name, step.tool, "stands in for")
        target = self.tools.get(step.tool)
        place = tool_place(self.node, path)
        if target is not None and target.role is ToolRole.ESCALATION:
            yield self._error(
                place, f"{step.tool!r} escalates, and is no substitute", "a tool that does the work"
            )
        elif target is not None and entry.effective is Effect.READ and target.effective is Effect.WRITE:
            yield self._error(
                place, f"{step.tool!r} is a write, offered for the read {name!r}", "a tool with effect: read"
            )
        if not first and step.arguments is None and target is not None and target.takes is None:
            yield self._error(
                place, f"nothing says what arguments {step.tool!r} gets from the step before",
                f"'arguments' in this step, or 'takes' under {step.tool!r}",
            )  # fmt: skip
        yield from self._arguments(path, entry, step.tool, step.arguments, names)

    def _target(self, path: NodePath, name: str, target: str, verb: str) -> Iterator[AuthoredFileError]:
        place = tool_place(self.node, path)
        if target == name:
            yield self._error(place, f"{name!r} {verb} itself", "another tool")
        elif target not in self.tools:
            yield self._error(
                place, f"the tool {target!r} is not declared", "a tool that stands under 'tools'",
                nearest(target, self.tools),
            )  # fmt: skip

    def _arguments(
        self,
        path: NodePath,
        entry: ToolEntry,
        tool: str,
        written: Mapping[str, Any] | None,
        names: tuple[str, ...],
    ) -> Iterator[AuthoredFileError]:
        if written is None:
            return
        target = self.tools.get(tool)
        for argument, value in written.items():
            at = (*path, "arguments", argument)
            if target is not None and target.takes is not None and argument not in target.argument_names:
                known = target.argument_names
                yield self._error(
                    self.node.key_place(at), f"{tool!r} takes no argument {argument!r}",
                    "one of " + ", ".join(known) if known else "no arguments", nearest(argument, known),
                )  # fmt: skip
            for place, text in _texts(at, value):
                yield from self._names(place, entry, referenced_names(text), names)

    def _expression(
        self, path: NodePath, entry: ToolEntry, text: str | None, names: tuple[str, ...]
    ) -> Iterator[AuthoredFileError]:
        if text is not None:
            yield from self._names(path, entry, referenced_names(text, expression=True), names)

    def _names(
        self, path: NodePath, entry: ToolEntry, read: Collection[str], names: tuple[str, ...]
    ) -> Iterator[AuthoredFileError]:
        for dotted in sorted(read):
            root, _, rest = dotted.partition(".")
            field = rest.partition(".")[0]
            if root not in names:
                expected = "one of " + ", ".join(names)
                yield self._error(self._word(path, root), f"the name {root!r} means nothing here", expected,
                                  nearest(root, names))  # fmt: skip
            elif root == "known" and field and field not in self.fields:
                yield self._error(
                    self._word(path, field), f"nobody has the field {field!r}: no tool of this map takes or returns it",
                    "a field that a tool takes or returns (declare it with 'takes' or 'returns')",
                    nearest(field, self.fields),
                )  # fmt: skip
            elif root == "call" and field and entry.takes is not None and field not in OF_CALL:
                known = entry.argument_names
                if field not in known:
                    yield self._error(
                        self._word(path, field), f"the failed call has no argument {field!r}",
                        "one of " + ", ".join(known) if known else "", nearest(field, known),
                    )  # fmt: skip

    def _place(self, path: NodePath) -> Place:
        return self.node.at(path).place

    def _word(self, path: NodePath, word: str) -> Place:
        return self.node.at(path).word_place(word)

    @staticmethod
    def _error(place: Place, what: str, expected: str = "", suggestion: str = "") -> FallbackMapError:
        return FallbackMapError(what, **place._asdict(), expected=expected, suggestion=suggestion)


def _texts(path: NodePath, value: Any) -> Iterator[tuple[NodePath, str]]:
    if isinstance(value, str):
        yield path, value
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from _texts((*path, key), inner)


def _fields_of(model: MapFile) -> frozenset[str]:
    """Every field that the map says a tool takes or returns."""
    paths: set[str] = set()
    for entry in model.tools.values():
        paths.update(entry.argument_names, entry.returns)
        for fallback in entry.fallbacks:
            paths.update(fallback.gives, fallback.lacks)
            for step in steps_of(fallback) if fallback.tool or fallback.via else ():
                paths.update(step.arguments or ())
        for check in (*entry.repairs, entry.verify, entry.cross_check):
            paths.update((check.arguments or ()) if check is not None else ())
        paths.update(entry.cross_check.compare if entry.cross_check else ())
        if entry.expect is not None:
            paths.update(entry.expect.required, entry.expect.types, entry.expect.ranges)
            paths.update((entry.expect.fresh.field,) if entry.expect.fresh else ())
    return frozenset(part.removesuffix("[]") for path in paths for part in path.split("."))
