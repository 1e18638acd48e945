"""What a tool's successes look like, learned: each JSON path's presence and type as sums, judged as Beta posteriors.

Evidence is a plain sum per (path, type), so that two profiles merge by addition and a store needs one atomic
``count = count + n`` a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from btm.classify.expected import json_type
from btm.model import ErrorKind

PRESENT = ""
"""The type of the row that counts how often an object was there to hold its fields."""

MAX_PATHS = 400
MAX_DEPTH = 6
MAX_NODES = 5_000
LIST_SAMPLE = 20
"""Members of a list that are looked at: its first ones. Fields of later members are not needed to know the shape."""
MAX_KEYS = 60
"""Fields of one object beyond which it is a map whose keys are data."""
MAX_TEXT = 1_000_000
"""Characters of a JSON text beyond which it is not parsed."""

MIN_EVIDENCE = 20
THRESHOLD = 0.9
"""A path is all but certain when the 5 % quantile of its Beta(1 + seen, 1 + not seen) is at least 0.9.

That takes 28 of 28 observations (0.05 ** (1 / 29) = 0.902), or 46 of 47: an optional field that has been there by
chance in all of 28 answers is there in nine of ten at least, and a field that was absent twice needs 61.
"""


class ShapeRow(NamedTuple):
    """One row of evidence: at ``path``, ``json_type`` was seen ``count`` times among successes.

    The row with ``json_type == ""`` counts the observations of the object at ``path`` itself: the number of
    chances its fields had. ``path`` is dotted from ``$``, lists folded to ``[]``, keys that are data to ``*``.
    """

    path: str
    json_type: str
    count: float


class ShapeVerdict(NamedTuple):
    """What is wrong with a result: the kind, how sure, the path, and why."""

    kind: ErrorKind
    confidence: float
    path: str
    reason: str


def _nothing() -> Mapping[tuple[str, str], float]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ShapeProfile:
    """The learned shape of one tool's good results; frozen, a new observation gives a new profile."""

    counts: Mapping[tuple[str, str], float] = field(default_factory=_nothing)

    @classmethod
    def from_rows(cls, rows: Iterable[ShapeRow | tuple[str, str, float]]) -> ShapeProfile:
        """Return the profile of stored rows; rows of the same path and type are added up."""
        counts: dict[tuple[str, str], float] = {}
        for path, kind, count in rows:
            counts[path, kind] = counts.get((path, kind), 0.0) + count
        return cls(MappingProxyType(counts))

    def rows(self) -> Iterator[ShapeRow]:
        """Yield the evidence, in a stable order."""
        for (path, kind), count in sorted(self.counts.items()):
            yield ShapeRow(path, kind, count)

    def observe(self, result: Any, weight: float = 1.0) -> ShapeProfile:
        """Return the profile after one more successful result; what is new beyond ``MAX_PATHS`` paths is left out."""
        return self.merge(ShapeProfile.from_rows(observation(result, weight)))

    def merge(self, other: ShapeProfile) -> ShapeProfile:
        """Return the sum of two profiles."""
        counts = dict(self.counts)
        paths = {path for path, _ in counts}
        for (path, kind), count in other.counts.items():
            if path not in paths:
                if len(paths) >= MAX_PATHS:
                    continue
                paths.add(path)
            counts[path, kind] = counts.get((path, kind), 0.0) + count
        return ShapeProfile(MappingProxyType(counts))

    def verdict(self, result: Any) -> ShapeVerdict | None:
        """Return what an otherwise successful result lacks or has of another type than was all but certain, or None.

        A missing path is PARTIAL_DATA; a path of another type, or one that is gone while a new one stands beside
        it (a renamed field), is SCHEMA_DRIFT. The confidence is the path's posterior lower bound. Paths under a
        missing one are not looked at, nor are objects whose keys are data.
        """
        seen = _observe(result)
        for parent, kinds in seen.items():
            chances = self.counts.get((parent, PRESENT), 0.0)
            if chances < MIN_EVIDENCE and parent != "$":
                continue
            found = self._wrong_type(parent, kinds) or (self._missing_field(parent, seen, chances) if PRESENT in kinds else None)
            if found is not None:
                return found
        return None

    def _total(self, path: str) -> float:
        return sum(n for (p, kind), n in self.counts.items() if p == path and kind != PRESENT)

    def _wrong_type(self, path: str, kinds: Mapping[str, float]) -> ShapeVerdict | None:
        total = self._total(path)
        if total < MIN_EVIDENCE:
            return None
        for kind in kinds:
            if kind == PRESENT or self.counts.get((path, kind), 0.0) > 0:
                continue
            group = _group(kind)
            alike = sum(n for (p, k), n in self.counts.items() if p == path and k != PRESENT and _group(k) == group)
            sure = lower_bound(total - alike, alike)
            if sure < THRESHOLD:
                continue
            usual = max((n, k) for (p, k), n in self.counts.items() if p == path and k != PRESENT)[1]
            if kind == "null":
                return ShapeVerdict(ErrorKind.PARTIAL_DATA, sure, path, f"{path} is null, and was {usual} in {total:.0f} answers")
            return ShapeVerdict(ErrorKind.SCHEMA_DRIFT, sure, path, f"{path} is {kind}, and was {usual} in {total:.0f} answers")
        return None

    def _missing_field(self, parent: str, seen: Mapping[str, Mapping[str, float]], chances: float) -> ShapeVerdict | None:
        if chances < MIN_EVIDENCE or f"{parent}.*" in self._children(parent):
            return None
        here = seen[parent].get(PRESENT, 0.0)
        gone: tuple[float, str] | None = None
        for path in self._children(parent):
            present = self._total(path)
            got = sum(n for kind, n in seen.get(path, {}).items() if kind != PRESENT)
            if got >= here:
                continue
            sure = lower_bound(present, chances - present)
            if sure >= THRESHOLD and (gone is None or sure > gone[0]):
                gone = (sure, path)
        if gone is None:
            return None
        sure, path = gone
        fresh = [p for p in seen if _parent(p) == parent and self._total(p) == 0]
        kind = ErrorKind.SCHEMA_DRIFT if fresh else ErrorKind.PARTIAL_DATA
        beside = f"; {fresh[0]} is new" if fresh else ""
        return ShapeVerdict(kind, sure, path, f"{path} is missing, and was in {self._total(path):.0f} of {chances:.0f} answers{beside}")

    def _children(self, parent: str) -> set[str]:
        return {path for path, kind in self.counts if kind != PRESENT and _parent(path) == parent}


def observation(result: Any, weight: float = 1.0) -> list[ShapeRow]:
    """Return the rows that one successful result adds to its tool's profile: what a store has to add."""
    return [ShapeRow(path, kind, n * weight) for path, kinds in _observe(result).items() for kind, n in kinds.items()]


def _parent(path: str) -> str:
    if path.endswith("[]"):
        return path[:-2]
    return path.rpartition(".")[0]


def _group(kind: str) -> str:
    return "number" if kind == "integer" else kind


@lru_cache(maxsize=4_096)
def lower_bound(seen: float, missed: float) -> float:
    """Return the 5 % quantile of Beta(1 + seen, 1 + missed): the presence is at least this with 95 % credibility.

    Exact where ``missed`` is 0 (the quantile is 0.05 ** (1 / (1 + seen))), else by bisection of the binomial tail.
    """
    if seen <= 0:
        return 0.0
    if missed <= 0:
        return float(0.05 ** (1.0 / (1.0 + seen)))
    from scipy.special import betaincinv

    return float(betaincinv(1.0 + seen, 1.0 + missed, 0.05))


def parsed(result: Any) -> Any:
    """Return JSON values of a result: a JSON text is parsed (up to ``MAX_TEXT`` characters), the rest is taken as it is."""
    if isinstance(result, str) and len(result) <= MAX_TEXT and result.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(result)
        except ValueError:
            return result
    return result


def _observe(result: Any) -> dict[str, dict[str, float]]:
    """Count, for each path, its objects and the types of its values; bounded in paths, depth and nodes."""
    seen: dict[str, dict[str, float]] = {}
    budget = MAX_NODES
    queue: list[tuple[str, Any, int]] = [("$", parsed(result), 0)]
    position = 0
    while position < len(queue) and budget > 0:
        path, value, depth = queue[position]
        position += 1
        budget -= 1
        kinds = seen.get(path)
        if kinds is None:
            if len(seen) >= MAX_PATHS:
                continue
            kinds = seen[path] = {}
        kind = json_type(value)
        kinds[kind] = kinds.get(kind, 0.0) + 1.0
        if depth >= MAX_DEPTH:
            continue
        if kind == "object":
            kinds[PRESENT] = kinds.get(PRESENT, 0.0) + 1.0
            if _keys_are_data(value):
                queue.extend((f"{path}.*", value[k], depth + 1) for k in list(value)[:LIST_SAMPLE])
            else:
                queue.extend((f"{path}.{k}", v, depth + 1) for k, v in value.items() if isinstance(k, str))
        elif kind == "array":
            queue.extend((f"{path}[]", v, depth + 1) for v in value[:LIST_SAMPLE])
    return seen


def _keys_are_data(value: Mapping[Any, Any]) -> bool:
    """Whether an object is a map whose keys are ids, dates or names rather than a record with fields."""
    if len(value) > MAX_KEYS:
        return True
    odd = sum(1 for k in value if not isinstance(k, str) or not k or len(k) > 40 or _looks_like_data(k))
    return odd * 2 > len(value)


def _looks_like_data(key: str) -> bool:
    digits = sum(c.isdigit() for c in key)
    return digits >= 3 or not key[0].isalpha() or not all(c.isalnum() or c in "_-$@" for c in key)
