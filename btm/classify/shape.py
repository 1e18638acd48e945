"""What a tool's successes look like, learned: each JSON path's presence and types as sums, judged as Beta posteriors.

Evidence is a plain sum per (path, type), so that two profiles merge by addition and a store needs one atomic
``count = count + n`` a row. A row counts answers, not list members: members of one answer are no independent
observations. One walk over a JSON value is bounded in paths, depth, nodes and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from types import MappingProxyType, NoneType
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


_TYPES: Mapping[type, str] = {
    str: "string", NoneType: "null", bool: "boolean", int: "integer", float: "number",
    dict: "object", list: "array", tuple: "array", Mapping: "object",
}  # fmt: skip


def json_type(value: object) -> str:
    """Return the JSON type name of a value: string, integer, number, boolean, array, object or null."""
    named = _TYPES.get(type(value))
    return named or next((name for kind, name in _TYPES.items() if isinstance(value, kind)), "string")


def parsed(result: Any) -> Any:
    """Return the JSON values of a result: a JSON text is parsed (up to ``MAX_TEXT``), the rest is taken as it is."""
    if isinstance(result, str) and len(result) <= MAX_TEXT and result[:200].lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except ValueError:
            return result
    return result


_NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    counted: dict[str, dict[str, int]] = {}
    queue: list[tuple[str, Any, int]] = [("$", parsed(result), 0)]
    for path, node, depth in islice(queue, MAX_NODES):  # it grows while it is walked
        if path not in counted and len(counted) >= MAX_PATHS:
            continue
        kinds, kind = counted.setdefault(path, {}), json_type(node)
        kinds[kind] = kinds.get(kind, 0) + 1
        if depth < MAX_DEPTH and kind in ("object", "array"):
            queue.extend(_below(path, node, depth + 1))
    found: dict[str, dict[str, float]] = {}
    for path, kinds in counted.items():
        one_of_many = path.endswith(("[]", "." + ANY_KEY))
        chances = (
            sum(kinds.values()) if one_of_many else counted.get(parent_of(path), _NOTHING).get("object", 1)
        )
        found[path] = {kind: n / chances for kind, n in kinds.items()}
        if "object" in kinds:
            found[path][OBJECT] = 1.0
    return found


def _below(path: str, node: Any, depth: int) -> list[tuple[str, Any, int]]:
    if not isinstance(node, Mapping):
        return [(f"{path}[]", member, depth) for member in node[:LIST_SAMPLE]]
    node = members(node)
    if keys_are_data(node):
        return [(f"{path}.{ANY_KEY}", node[key], depth) for key in islice(node, LIST_SAMPLE)]
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


@dataclass(frozen=True, slots=True)
class ShapeProfile:
    """The learned shape of one tool's good results: per path, the count of each JSON type. Frozen."""

    counts: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: _NOTHING)

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
        found = shares(result)
        fresh = found.keys() - self.counts.keys()
        siblings = Counter(map(parent_of, self.counts)) if fresh else Counter()
        rows: list[ShapeRow] = []
        for path, kinds in found.items():
            if path in fresh:
                above = parent_of(path)
                full = siblings.total() >= MAX_PATHS or siblings[above] >= MAX_KEYS
                if full or redact(path, len(path) + 1) != " ".join(path.split()):
                    continue
                siblings[above] += 1
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

    def _wrong_type(self, path: str, kinds: Mapping[str, float]) -> ShapeVerdict | None:
        known = self.counts.get(path, _NOTHING)
        for kind in (k for k in kinds if known and k != OBJECT and k not in known):
            # A field that has been null until now says nothing about what it holds when it holds something.
            told = {k: n for k, n in known.items() if k != OBJECT and (k != "null" or kind == "null")}
            total = sum(told.values())
            alike = sum(n for k, n in told.items() if {k, kind} <= _NUMBERS)
            sure = lower_bound(total - alike, alike) if total >= MIN_EVIDENCE else 0.0
            if sure >= THRESHOLD:
                usual = max((n, k) for k, n in told.items())[1]
                what = ErrorKind.PARTIAL_DATA if kind == "null" else ErrorKind.SCHEMA_DRIFT
                reason = f"{path} is {kind}, and was {usual} in {total:.0f} answers"
                return ShapeVerdict(what, sure, path, reason)
        return None

    def _missing_field(
        self, parent: str, seen: Mapping[str, Mapping[str, float]], children: list[str]
    ) -> ShapeVerdict | None:
        chances = self.counts.get(parent, _NOTHING).get(OBJECT, 0.0)
        if chances < MIN_EVIDENCE or f"{parent}.{ANY_KEY}" in children or len(children) >= MAX_KEYS:
            return None
        # Where only some members lack it, the others show that the field itself is known to be optional or not.
        lacking = [
            p for p in children if p.startswith(f"{parent}.") and _values(seen.get(p, _NOTHING)) <= 0.999
        ]
        bounds = ((lower_bound(n := _values(self.counts[p]), max(0.0, chances - n)), n, p) for p in lacking)
        sure, present, path = max(bounds, key=itemgetter(0), default=(0.0, 0.0, ""))
        if sure < THRESHOLD:
            return None
        fresh = [p for p in seen if parent_of(p) == parent and p not in self.counts]
        reason = f"{path} is missing, and was in {present:.0f} of {chances:.0f} answers"
        if fresh:
            return ShapeVerdict(ErrorKind.SCHEMA_DRIFT, sure, path, f"{reason}; {fresh[0]} is new")
        return ShapeVerdict(ErrorKind.PARTIAL_DATA, sure, path, reason)


def _values(kinds: Mapping[str, float]) -> float:
    """Return how many answers had a value, of whatever type."""
    return sum(n for kind, n in kinds.items() if kind != OBJECT)


_NUMBERS = frozenset({"integer", "number"})


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
