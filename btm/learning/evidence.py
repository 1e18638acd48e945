"""Summed evidence per key, and the pools it makes up.

Evidence is a plain sum. A pool is not: one busy key must not speak for all. A key with n tries that believes its pool with s
pseudo-counts tells the pool no more than s + 1 tries would, however large n is, so it enters with the weight
(s + 1)/(s + n) a try; kinds (or targets) enter the level above them in the same way. (The weight follows from the
beta-binomial: the variance of k/n about the pool's mean m is m(1-m)(s + n)/(n(s + 1)), that of n(s + 1)/(s + n)
independent tries.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from btm.model import Action, ErrorKind, EvidenceKey

Level = tuple[str, ...]
"""A pooling level's name: ``("family", "transient", "retry", "1")`` and so on, general to special."""


class Counts(NamedTuple):
    """Summed weights of successes and failures."""

    successes: float
    failures: float

    @property
    def total(self) -> float:
        """All weight together."""
        return self.successes + self.failures

    def times(self, factor: float) -> Counts:
        """Return both sums multiplied."""
        return Counts(self.successes * factor, self.failures * factor)


NOTHING = Counts(0.0, 0.0)


class Beside(NamedTuple):
    """A tool's record after another error: its weighted counts, and those of its own levels without them."""

    key: EvidenceKey
    counts: Counts
    top: Counts
    middle: Counts


@lru_cache(maxsize=4_096)
def levels(key: EvidenceKey) -> tuple[Level, ...]:
    """Return the levels that a key is pooled over, most general first, the key itself last.

    A retry or a revise is pooled over the error's family, then its kind: what heals a timeout here heals one
    there. An action on another tool (switch, repair, verify) is pooled over all such actions, then over that target:
    whether a substitute answers depends on the substitute, hardly on how the first tool failed. The level before the
    key holds what this tool did after other errors: some tools are bad after anything.
    """
    ordinal = str(key.ordinal)
    here: Level = ("tool", key.tool, key.action, key.target, ordinal)
    own: Level = ("key", key.tool, key.kind, key.action, key.target, ordinal)
    return (*pools_of(key), here, own)


def pools_of(key: EvidenceKey) -> tuple[Level, Level]:
    """Return the two levels that a key shares with other tools' keys, the first of :func:`levels`."""
    return _pools(None if key.target else key.kind, key.action, key.target, key.ordinal)


@lru_cache(maxsize=4_096)
def _pools(kind: ErrorKind | None, action: Action, target: str, ordinal: int) -> tuple[Level, Level]:
    number = str(ordinal)
    if kind is None:
        return ("action", action, number), ("target", action, target, number)
    return ("family", kind.family, action, number), ("kind", kind, action, number)


Strengths = tuple[float, float, float]

_Here = tuple[str, Action, str, int]

_STEPS = 64
"""Pools are kept for one decay factor, in so many steps a half-life: they change by a hundredth from one to the next."""


@dataclass
class _Pools:
    """Weighted sums of every pool, for one choice of strengths and one decay factor."""

    strengths: Strengths
    scale: float
    told: dict[EvidenceKey, Counts] = field(default_factory=dict)  # of the keys that were asked about
    middle: dict[Level, Counts] = field(default_factory=dict)
    top: dict[Level, Counts] = field(default_factory=dict)

    def weighed(self, counts: Counts) -> Counts:
        """Return what one key tells its pool."""
        return _weighed(counts, self.strengths[2], self.scale)

    def told_by(self, key: EvidenceKey, counts: Counts) -> Counts:
        """Return what a key of these sums tells its pool, and keep it: keys beside one another ask for it again."""
        told = self.told.get(key)
        if told is None:
            told = self.told[key] = self.weighed(counts)
        return told

    def within_top(self, middle: Level) -> Counts:
        """Return what one middle pool tells the level above it."""
        return _weighed(self.middle.get(middle, NOTHING), self.strengths[1])

    def top_without(self, top: Level, middle: Level) -> Counts:
        """Return what a top pool holds that one of its middle pools did not tell it."""
        return _minus(self.top.get(top, NOTHING), self.within_top(middle))

    def moved(self, key: EvidenceKey, before: Counts, after: Counts) -> None:
        """Take in that a key's sums have changed."""
        top, middle = pools_of(key)
        above = self.within_top(middle)
        old, new = self.told_by(key, before), self.weighed(after)
        self.told[key] = new
        pool = self.middle.get(middle, NOTHING)
        self.middle[middle] = _plus(pool, new.successes - old.successes, new.failures - old.failures)
        now = self.within_top(middle)
        pool = self.top.get(top, NOTHING)
        self.top[top] = _plus(pool, now.successes - above.successes, now.failures - above.failures)


class Evidence:
    """Summed evidence per key, with its pools in step. Not thread-safe: its owner holds the lock."""

    def __init__(self, rows: Iterable[tuple[EvidenceKey, float, float]] = ()) -> None:
        self._keys: dict[EvidenceKey, Counts] = {}
        self._beside: defaultdict[_Here, list[EvidenceKey]] = defaultdict(list)
        self._switches: defaultdict[tuple[str, ErrorKind], list[EvidenceKey]] = defaultdict(list)
        self._unit = 1.0  # what weights were multiplied by when their landmark was moved
        self._pools: _Pools | None = None
        for key, successes, failures in rows:
            if key in self._keys:
                self.add(key, successes, failures)
            else:
                self._keys[key] = Counts(
                    0.0 if successes < 0.0 else successes, 0.0 if failures < 0.0 else failures
                )
                self._put_beside(key)

    def add(self, key: EvidenceKey, successes: float, failures: float) -> None:
        """Add weight to a key; negative weight takes evidence back."""
        before = self._keys.get(key)
        after = self._keys[key] = _plus(before or NOTHING, successes, failures)
        if before is None:
            self._put_beside(key)
        if self._pools is not None:
            self._pools.moved(key, before or NOTHING, after)

    def _put_beside(self, key: EvidenceKey) -> None:
        tool, kind, action, target, ordinal = key
        self._beside[tool, action, target, ordinal].append(key)
        if action is Action.SWITCH:
            self._switches[tool, kind].append(key)

    def put(self, counts: Mapping[EvidenceKey, Counts]) -> None:
        """Have keys that are known stand at these sums."""
        self._keys.update(counts)
        self._pools = None

    def rescale(self, factor: float) -> None:
        """Multiply all weights, when their landmark is moved."""
        self._keys = {key: counts.times(factor) for key, counts in self._keys.items()}
        self._unit *= factor
        self._pools = None

    def counts(self, key: EvidenceKey) -> Counts:
        """Return the undecayed sums of one key."""
        return self._keys.get(key, NOTHING)

    def rows(self) -> Iterator[tuple[EvidenceKey, float, float]]:
        """Iterate over every key with its sums."""
        for key, (successes, failures) in self._keys.items():
            yield key, successes, failures

    def switches(self, tool: str, kind: ErrorKind) -> Iterator[tuple[EvidenceKey, Counts]]:
        """Iterate over what other tools did after a failure of this one, without a look at all the rest."""
        for key in self._switches.get((tool, kind), ()):
            yield key, self._keys[key]

    def __contains__(self, key: EvidenceKey) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    # -- pools --------------------------------------------------------------------------------------------------

    def pool(self, level: Level, strengths: Strengths) -> Counts:
        """Return the weighted, undecayed counts of a pool (a top or middle level)."""
        pools = self._pooled(strengths, 1.0)
        return pools.middle.get(level) or pools.top.get(level, NOTHING)

    def top(self, key: EvidenceKey, strengths: Strengths) -> Counts:
        """Return the most general of what :meth:`around` returns, alone."""
        return self._pooled(strengths, 1.0).top_without(*pools_of(key))

    def around(
        self, key: EvidenceKey, strengths: Strengths, scale: float = 1.0
    ) -> tuple[Counts, Counts, Counts, list[Beside]]:
        """Return what a key believes under these strengths; ``scale`` is the decay factor at the time of reading.

        The weighted counts of its levels, general to special, each without what stands below it, and what the same tool
        did after other errors.
        """
        top, middle, own = self.above(key, strengths, scale)
        pools = self._pooled(strengths, scale)
        beside: list[Beside] = []
        for other in self._others(key):
            theirs = pools.told_by(other, self._keys[other])
            if key.target:
                beside.append(Beside(other, theirs, top, middle))
                continue
            above, level = pools_of(other)
            rest = _minus(pools.middle.get(level, NOTHING), theirs)
            beside.append(Beside(other, theirs, pools.top_without(above, level), rest))
        return top, middle, own, beside

    def above(
        self, key: EvidenceKey, strengths: Strengths, scale: float = 1.0
    ) -> tuple[Counts, Counts, Counts]:
        """Return what :meth:`around` does, but for the tool's other kinds."""
        pools = self._pooled(strengths, scale)
        top_level, middle_level = pools_of(key)
        top = pools.top_without(top_level, middle_level)
        middle = _minus(pools.middle.get(middle_level, NOTHING), pools.told_by(key, self.counts(key)))
        if key.target:  # other kinds are of the same pool, where they would count twice
            for other in self._others(key):
                middle = _minus(middle, pools.told_by(other, self._keys[other]))
        return top, middle, self.counts(key).times(scale)

    def _others(self, key: EvidenceKey) -> Iterator[EvidenceKey]:
        """Iterate over the same tool's keys of other kinds."""
        return (other for other in self._beside.get(_here(key), ()) if other != key)

    def _pooled(self, strengths: Strengths, scale: float) -> _Pools:
        # In steps that the landmark does not move: the same evidence at the same time is pooled in the same way.
        step = round(math.log2(max(scale * self._unit, 1e-300)) * _STEPS)
        scale = math.exp2(step / _STEPS) / self._unit
        if self._pools is None or (self._pools.strengths, self._pools.scale) != (strengths, scale):
            self._pools = self._pool_all(strengths, scale)
        return self._pools

    def _pool_all(self, strengths: Strengths, scale: float) -> _Pools:
        pools = _Pools(strengths, scale)
        tops: dict[Level, Level] = {}
        told_to: dict[Level, tuple[list[float], list[float]]] = {}
        # There are tens of thousands of keys, but few of what tells their pools: all but the tool.
        of_rest: dict[tuple[object, ...], tuple[list[float], list[float]]] = {}
        for key, counts in self._keys.items():
            parts = of_rest.get(key[1:])
            if parts is None:
                top, middle = pools_of(key)
                tops[middle] = top
                parts = of_rest[key[1:]] = told_to.setdefault(middle, ([], []))
            worked, failed = pools.weighed(counts)
            parts[0].append(worked)
            parts[1].append(failed)
        pools.middle = {
            middle: Counts(sum(worked), sum(failed)) for middle, (worked, failed) in told_to.items()
        }
        for middle, top in tops.items():
            told = pools.within_top(middle)
            pools.top[top] = _plus(pools.top.get(top, NOTHING), told.successes, told.failures)
        return pools


def _here(key: EvidenceKey) -> _Here:
    """Return what a tool's keys share that differ in the error alone."""
    return key.tool, key.action, key.target, key.ordinal


def _weighed(counts: Counts, strength: float, scale: float = 1.0) -> Counts:
    """Return what a group of tries, each of this weight, tells about the mean of its pool, in tries."""
    worked, failed = counts
    total = scale * (worked + failed)
    if total > 1.0:
        scale *= (strength + 1.0) / (strength + total)
    return Counts(scale * worked, scale * failed)


# Sums of floats can leave -1e-17 where zero is meant, and what is taken back may have been learned elsewhere.


def _plus(counts: Counts, successes: float, failures: float) -> Counts:
    return Counts(max(counts.successes + successes, 0.0), max(counts.failures + failures, 0.0))


def _minus(whole: Counts, part: Counts) -> Counts:
    return Counts(max(whole.successes - part.successes, 0.0), max(whole.failures - part.failures, 0.0))
