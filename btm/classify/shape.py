"""What a tool's successes look like, learned: each JSON path's presence and types as sums, judged as Beta posteriors.

Evidence is a plain sum per (path, type), so that two profiles merge by addition and a store needs one atomic
``count = count + n`` a row. A row counts answers, not list members: members of one answer are no independent
observations. One walk over a JSON value is bounded in paths, depth, nodes and text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from btm.classify.reading import members
from btm.model import ErrorKind
from btm.support.forks import no_fork
from btm.support.untrusted import redact

OBJECT = ""
"""The type name of the row that counts the objects at a path: the chances that their fields had."""

ANY_KEY = "*"
"""Stands for the keys of an object whose keys are data (ids, dates, names)."""

MAX_PATHS = 400
MAX_DEPTH = 6
MAX_NODES = 5_000
MAX_KEYS = 60
"""Fields of one object beyond which it is a map whose keys are data."""

LIST_SAMPLE = 20
"""Members of a list that are looked at: its first ones."""

MAX_TEXT = 1_000_000
"""Characters of a JSON text beyond which it is not parsed."""


def json_type(value: object) -> str:
    """Return the JSON type name of a value: string, integer, number, boolean, array, object or null."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return "string"


def parsed(result: Any) -> Any:
    """Return the JSON values of a result: a JSON text is parsed (up to ``MAX_TEXT``), the rest is taken as it is."""
    if isinstance(result, str) and len(result) <= MAX_TEXT and result[:200].lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except ValueError:
            return result
    return result


def parent_of(path: str) -> str:
    """Return the path that a path hangs on: ``$.a`` for ``$.a[]`` and for ``$.a.b``, ``""`` for ``$``."""
    if path.endswith("[]"):
        return path[:-2]
    return path.rpartition(".")[0]


def shares(result: Any) -> dict[str, dict[str, float]]:
    """Return, per path, which share of its chances in this one answer had a value of which type.

    One answer counts once however long its lists are: a field that 15 of 20 members have counts 0.75. The path
    itself, where it is an object, has the row ``OBJECT`` with 1.
    """
    counted, chances = _count(parsed(result))
    found: dict[str, dict[str, float]] = {}
    for path, kinds in counted.items():
        whole = chances.get(path, 1)
        found[path] = {kind: n / whole for kind, n in kinds.items()}
        if "object" in kinds:
            found[path][OBJECT] = 1.0
    return found


def _count(value: Any) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    chances: dict[str, int] = {}
    queue: list[tuple[str, Any, int]] = [("$", value, 0)]
    position = 0
    while position < len(queue) and position < MAX_NODES:
        path, node, depth = queue[position]
        position += 1
        kinds = counted.get(path)
        if kinds is None:
            if len(counted) >= MAX_PATHS:
                continue
            kinds = counted[path] = {}
        kind = json_type(node)
        kinds[kind] = kinds.get(kind, 0) + 1
        if depth < MAX_DEPTH and kind in ("object", "array"):
            queue.extend(_below(path, node, depth + 1))
    for path, kinds in counted.items():
        parent = parent_of(path)
        below = counted.get(parent, {})
        members = path.endswith(("[]", "." + ANY_KEY))
        chances[path] = sum(kinds.values()) if members else below.get("object", 1)
    return counted, chances


def _below(path: str, node: Any, depth: int) -> list[tuple[str, Any, int]]:
    if not isinstance(node, Mapping):
        return [(f"{path}[]", member, depth) for member in node[:LIST_SAMPLE]]
    node = members(node)
    if keys_are_data(node):
        keys = [k for _, k in zip(range(LIST_SAMPLE), node, strict=False)]
        return [(f"{path}.{ANY_KEY}", node[key], depth) for key in keys]
    return [(f"{path}.{key}", member, depth) for key, member in node.items() if isinstance(key, str)]


def keys_are_data(node: Mapping[Any, Any]) -> bool:
    """Whether an object is a map whose keys are ids, dates or names rather than a record with fields."""
    if len(node) > MAX_KEYS:
        return True
    odd = sum(1 for key in node if not isinstance(key, str) or _looks_like_data(key))
    return odd * 2 > len(node)


def _looks_like_data(key: str) -> bool:
    if not key or len(key) > 40 or not (key[0].isalpha() or key[0] in "_@$"):
        return True
    return sum(c.isdigit() for c in key) >= 3 or not all(c.isalnum() or c in "_-$@" for c in key)


MIN_EVIDENCE = 20.0
THRESHOLD = 0.9
"""A path is all but certain when the 5 % quantile of its Beta(1 + seen, 1 + missed) is at least 0.9.

That takes 28 answers of 28 (0.05 ** (1 / 29) = 0.902), 46 of 47, or 61 of 63: a field that only nine answers in ten
have would have been seen in all of 28 by chance once in twenty times. ``MIN_EVIDENCE`` is a floor beside it for
decayed evidence.
"""

_NOTHING: Mapping[str, float] = MappingProxyType({})


class ShapeRow(NamedTuple):
    """One row of evidence: at ``path``, a value of ``json_type`` was seen in ``answers`` answers among successes.

    The row with ``json_type == ""`` counts the answers in which there was an object at ``path``: the chances that
    its fields had. ``path`` is dotted from ``$``; lists are folded to ``[]``, keys that are data to ``*``. The number
    is fractional where only some members of a list had the field, and where evidence is decayed.
    """

    path: str
    json_type: str
    answers: float


class ShapeVerdict(NamedTuple):
    """What is wrong with a result: the kind, how sure (the posterior's lower bound), the path, and why."""

    kind: ErrorKind
    confidence: float
    path: str
    reason: str


def _empty() -> Mapping[str, Mapping[str, float]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ShapeProfile:
    """The learned shape of one tool's good results: per path, the count of each JSON type. Frozen."""

    counts: Mapping[str, Mapping[str, float]] = field(default_factory=_empty)

    @classmethod
    def from_rows(cls, rows: Iterable[ShapeRow | tuple[str, str, float]]) -> ShapeProfile:
        """Return the profile of stored rows; rows of the same path and type are added up."""
        counts: dict[str, dict[str, float]] = {}
        for path, kind, count in rows:
            kinds = counts.setdefault(path, {})
            kinds[kind] = kinds.get(kind, 0.0) + count
        return cls(MappingProxyType(counts))

    def rows(self) -> Iterator[ShapeRow]:
        """Yield the evidence, in a stable order."""
        for path in sorted(self.counts):
            for kind in sorted(self.counts[path]):
                yield ShapeRow(path, kind, self.counts[path][kind])

    def evidence(self, result: Any, weight: float = 1.0) -> tuple[ShapeRow, ...]:
        """Return the rows that one more successful result adds: what a store has to add to its sums.

        New paths are left out beyond ``MAX_PATHS`` in all or ``MAX_KEYS`` under one object, so that maps whose keys
        are data cannot grow a profile, or the store behind it, without end. So are keys that are addresses, card
        numbers or the like.
        """
        room = MAX_PATHS - len(self.counts)
        siblings: dict[str, int] | None = None
        rows: list[ShapeRow] = []
        for path, kinds in shares(result).items():
            if path not in self.counts:
                if siblings is None:
                    siblings = {}
                    for known in self.counts:
                        siblings[parent_of(known)] = siblings.get(parent_of(known), 0) + 1
                above = parent_of(path)
                if room <= 0 or siblings.get(above, 0) >= MAX_KEYS or _holds_a_secret(path):
                    continue
                siblings[above] = siblings.get(above, 0) + 1
                room -= 1
            rows.extend(ShapeRow(path, kind, share * weight) for kind, share in kinds.items())
        return tuple(rows)

    def observe(self, result: Any, weight: float = 1.0) -> ShapeProfile:
        """Return the profile after one more successful result."""
        return self.merge(ShapeProfile.from_rows(self.evidence(result, weight)))

    def merge(self, other: ShapeProfile) -> ShapeProfile:
        """Return the sum of two profiles."""
        counts = dict(self.counts)
        for path, kinds in other.counts.items():
            mine = counts.get(path, _NOTHING)
            counts[path] = {kind: mine.get(kind, 0.0) + kinds.get(kind, 0.0) for kind in {**mine, **kinds}}
        return ShapeProfile(MappingProxyType(counts))

    def verdict(self, result: Any) -> ShapeVerdict | None:
        """Return what an otherwise successful result lacks, or has of another type, against what was all but certain.

        A missing path is PARTIAL_DATA; one of another type, or gone while a new one stands beside it (a renamed
        field), is SCHEMA_DRIFT. What lies under a missing path is not looked at, nor are maps whose keys are data.
        """
        seen = shares(result)
        children: dict[str, list[str]] = {}
        for path in self.counts:
            children.setdefault(parent_of(path), []).append(path)
        for path, kinds in seen.items():
            found = self._wrong_type(path, kinds)
            if found is None and OBJECT in kinds:
                found = self._missing_field(path, seen, children.get(path, []))
            if found is not None:
                return found
        return None

    def _total(self, path: str) -> float:
        return sum(n for kind, n in self.counts.get(path, _NOTHING).items() if kind != OBJECT)

    def _wrong_type(self, path: str, kinds: Mapping[str, float]) -> ShapeVerdict | None:
        known = self.counts.get(path)
        if known is None:
            return None
        for kind in kinds:
            if kind == OBJECT or kind in known:
                continue
            # A field that has been null until now says nothing about what it holds when it holds something.
            told = {k: n for k, n in known.items() if k != OBJECT and (k != "null" or kind == "null")}
            total = sum(told.values())
            if total < MIN_EVIDENCE:
                continue
            alike = sum(n for k, n in told.items() if _group(k) == _group(kind))
            sure = lower_bound(total - alike, alike)
            if sure >= THRESHOLD:
                usual = max((n, k) for k, n in told.items())[1]
                what = ErrorKind.PARTIAL_DATA if kind == "null" else ErrorKind.SCHEMA_DRIFT
                return ShapeVerdict(
                    what, sure, path, f"{path} is {kind}, and was {usual} in {total:.0f} answers"
                )
        return None

    def _missing_field(
        self, parent: str, seen: Mapping[str, Mapping[str, float]], children: list[str]
    ) -> ShapeVerdict | None:
        chances = self.counts.get(parent, _NOTHING).get(OBJECT, 0.0)
        if chances < MIN_EVIDENCE or f"{parent}.{ANY_KEY}" in children or len(children) >= MAX_KEYS:
            return None
        gone: tuple[float, str] | None = None
        for path in children:
            here = sum(share for kind, share in seen.get(path, _NOTHING).items() if kind != OBJECT)
            present = self._total(path)
            # Where only some members lack it, the others show that the field itself is known to be optional or not.
            if here > 0.999 or not path.startswith(f"{parent}."):
                continue
            sure = lower_bound(present, max(0.0, chances - present))
            if sure >= THRESHOLD and (gone is None or sure > gone[0]):
                gone = (sure, path)
        if gone is None:
            return None
        sure, path = gone
        fresh = [p for p in seen if parent_of(p) == parent and p not in self.counts]
        reason = f"{path} is missing, and was in {self._total(path):.0f} of {chances:.0f} answers"
        if fresh:
            return ShapeVerdict(ErrorKind.SCHEMA_DRIFT, sure, path, f"{reason}; {fresh[0]} is new")
        return ShapeVerdict(ErrorKind.PARTIAL_DATA, sure, path, reason)


def _group(kind: str) -> str:
    return "number" if kind == "integer" else kind


@lru_cache(maxsize=4_096)
def lower_bound(seen: float, missed: float) -> float:
    """Return the 5 % quantile of Beta(1 + seen, 1 + missed): the presence is at least this with 95 % credibility.

    Where nothing was missed it is 0.05 ** (1 / (1 + seen)) in closed form.
    """
    if seen <= 0:
        return 0.0
    if missed <= 0:
        return float(0.05 ** (1.0 / (1.0 + seen)))
    with no_fork():
        from scipy.special import betaincinv  # noqa: PLC0415 - only fields that were absent before need it

    return float(betaincinv(1.0 + seen, 1.0 + missed, 0.05))


def _holds_a_secret(path: str) -> bool:
    return redact(path, len(path) + 1) != " ".join(path.split())
