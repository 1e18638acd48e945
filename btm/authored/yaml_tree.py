"""A YAML text as a tree of nodes that remember where they stand.

Tags, merge keys, several documents, duplicate keys and aliases that multiply are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from btm.authored.slips import Slip, slip_of
from btm.authored.yaml_scalars import CORE_TAG, NotPlainError, Scalar, read_scalar
from btm.errors import AuthoredFileError

MAX_CHARACTERS = 4_000_000
MAX_DEPTH = 64
MAX_NODES = 400_000
"""Nodes of one file after its aliases are expanded."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

NodePath = tuple[str | int, ...]


class Place(NamedTuple):
    """Where something stands in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int


@dataclass(slots=True, eq=False)
class Node:
    """One value of a file and its place: a scalar, a list (``items``) or a mapping (``entries``, ``keys``)."""

    place: Place
    scalar: Scalar = None
    items: list[Node] | None = None
    entries: dict[str, Node] | None = None
    keys: dict[str, Place] = field(default_factory=dict)
    size: int = 1
    end: tuple[int, int] = (0, 0)  # line and column just after it, where it is written out
    flow: bool = False  # whether a collection is written in braces or brackets
    inset: int | None = None  # columns from the place to a scalar's first character, if it is one line

    def value(self) -> Any:
        """Return the node as plain Python values."""
        if self.entries is not None:
            return {key: node.value() for key, node in self.entries.items()}
        if self.items is not None:
            return [node.value() for node in self.items]
        return self.scalar

    def walk(self, path: Iterable[str | int]) -> Iterator[tuple[str | int, Node | None]]:
        """Yield each part of ``path`` with the node it leads to, or with None when it leads nowhere."""
        here = self
        for part in path:
            found = here.child(part)
            yield part, found
            here = found or here

    def child(self, part: str | int) -> Node | None:
        """Return the node under a key or an index, or None."""
        if self.entries is not None and isinstance(part, str):
            return self.entries.get(part)
        if self.items is not None and isinstance(part, int) and 0 <= part < len(self.items):
            return self.items[part]
        return None

    def at(self, path: Iterable[str | int]) -> Node:
        """Return the deepest node that ``path`` leads to; parts that lead nowhere are passed over."""
        here = self
        for _, node in self.walk(path):
            here = node or here
        return here

    def word_place(self, word: str) -> Place:
        """Return the place of a word inside a text that stands on one line, or the text's own place."""
        text = self.scalar if isinstance(self.scalar, str) else ""
        found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
        if found is None or self.inset is None:
            return self.place
        return self.place._replace(column=self.place.column + self.inset + found.start())

    def key_place(self, path: NodePath) -> Place:
        """Return the place of the key (or list item) that ``path`` ends with."""
        parent = self.at(path[:-1])
        return parent.keys.get(str(path[-1])) or self.at(path).place if path else self.place


def parse(text: str, file: str, error: type[AuthoredFileError] = AuthoredFileError) -> Node:
    """Return the tree of a YAML text; raises ``error`` with the place of whatever is not allowed in one."""
    if len(text) > MAX_CHARACTERS:
        raise error(f"the file has {len(text)} characters", file=file, expected=f"at most {MAX_CHARACTERS}")
    builder = _Builder(file, error)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take(event)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        if mark and problem.context_mark and mark.line >= len(text.splitlines()):
            mark = problem.context_mark  # what is not closed says more than the end of the file
        said = " ".join(part for part in (problem.context, problem.problem) if part)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        found = slip_of(text, line, column, said) or Slip(f"this is not YAML: {said}", "", line, column)
        raise error(
            found.what, file=file, line=found.line, column=found.column, expected=found.expected
        ) from problem
    except yaml.YAMLError as problem:  # the reader's own complaint about characters has no mark
        line, column = _first_unreadable(text)
        raise error("this character is not allowed in YAML", file=file, line=line, column=column) from problem
    if builder.root is None:
        raise error("the file is empty", file=file, line=1, column=1)
    return builder.root


def _first_unreadable(text: str) -> tuple[int, int]:
    for number, line in enumerate(text.split("\n"), 1):
        for column, character in enumerate(line, 1):
            if not character.isprintable() and character not in "\t\r\x85\ufeff":
                return number, column
    return 1, 1


def _inset(event: Any) -> int | None:
    """How far inside its token a scalar's text begins, when token and text match character by character."""
    begin, end = event.start_mark, event.end_mark
    quotes = 1 if event.style in ("'", '"') else 0
    same_length = end.column - begin.column - 2 * quotes == len(event.value)
    return quotes if event.style not in ("|", ">") and begin.line == end.line and same_length else None


def _end(event: Any) -> tuple[int, int]:
    mark = event.end_mark
    if mark.column == 0 and mark.line > event.start_mark.line:
        return mark.line, 1  # a block scalar ends where the next line begins
    return mark.line + 1, mark.column + 1


class _Builder:
    """Builds the tree from parser events without recursion, so that no file can exhaust the stack."""

    def __init__(self, file: str, error: type[AuthoredFileError]) -> None:
        self.file = file
        self.error = error
        self.root: Node | None = None
        self._open: list[tuple[Node, str | None]] = []  # collections being filled, each with its anchor
        self._key: list[tuple[str, Place] | None] = []  # the pending key of each open mapping
        self._anchors: dict[str, Node] = {}
        self._total = 0

    def take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            node = Node(self._place(event), self._scalar(event), end=_end(event), inset=_inset(event))
            self._finish(node, event.anchor, merge=event.implicit[0] and event.value == "<<")
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._start(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            node, anchor = self._open.pop()
            self._key.pop()
            if node.flow or node.end == (0, 0):
                node.end = _end(event)
            self._finish(node, anchor)
        elif isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(str(event.anchor))
            if known is None:
                raise self._error(
                    self._place(event), f"the alias *{event.anchor} has no finished anchor before it"
                )
            self._total += known.size
            self._bound(event)
            self._finish(known, None, end=_end(event))
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise self._error(self._place(event), "a second document begins here", "one document a file")

    def _start(self, event: Any) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", CORE_TAG + ("map" if mapping else "seq")):
            raise self._error(
                self._place(event), f"the tag {event.tag!r} is not allowed", "plain YAML without tags"
            )
        if len(self._open) >= MAX_DEPTH:
            raise self._error(self._place(event), f"this is nested more than {MAX_DEPTH} levels deep")
        node = Node(self._place(event), flow=bool(event.flow_style))
        if mapping:
            node.entries = {}
        else:
            node.items = []
        self._open.append((node, event.anchor))
        self._key.append(None)

    def _finish(
        self, node: Node, anchor: str | None, *, merge: bool = False, end: tuple[int, int] | None = None
    ) -> None:
        if anchor:
            self._anchors[anchor] = node
        self._total += 1
        if self._total > MAX_NODES:
            raise self._too_many(node.place)
        if not self._open:
            self.root = node
            return
        parent, _ = self._open[-1]
        parent.end = end or node.end
        if parent.items is not None:
            parent.items.append(node)
            parent.size += node.size
        elif (pending := self._key[-1]) is None:
            self._key[-1] = (self._name(node, merge=merge, parent=parent), node.place)
        elif parent.entries is not None:
            key, place = pending
            parent.entries[key] = node
            parent.keys[key] = place
            parent.size += node.size + 1
            self._key[-1] = None

    def _name(self, node: Node, *, merge: bool, parent: Node) -> str:
        if merge:
            raise self._error(node.place, "merge keys (<<) are not supported", "the keys themselves")
        key = node.scalar
        if not isinstance(key, str) or node.items is not None or node.entries is not None:
            shown = "a list or mapping" if node.items is not None or node.entries is not None else repr(key)
            raise self._error(node.place, f"{shown} is used as a key", "text; put it in quotes")
        if parent.entries is not None and key in parent.entries:
            first = parent.keys[key]
            what = f"{key!r} is here a second time; it is first on line {first.line}"
            raise self._error(node.place, what, "each key once")
        return key

    def _scalar(self, event: Any) -> Scalar:
        try:
            return read_scalar(event)
        except NotPlainError as problem:
            raise self._error(self._place(event), problem.what, problem.expected) from problem

    def _bound(self, event: Any) -> None:
        if self._total > MAX_NODES:
            raise self._too_many(self._place(event))

    def _too_many(self, place: Place) -> AuthoredFileError:
        return self._error(place, f"with its aliases expanded the file has more than {MAX_NODES} values")

    def _place(self, event: Any) -> Place:
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _error(self, place: Place, what: str, expected: str = "") -> AuthoredFileError:
        return self.error(what, file=self.file, line=place.line, column=place.column, expected=expected)
