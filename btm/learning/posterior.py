"""Beta posteriors over "does this recovery work?", pooled over levels and forgetting with time.

Evidence is a plain sum of weights per key, so that any number of processes can add to it and two databases merge
by addition. Three ideas turn sums into a belief:

* **Pooling.** A key's prior is its parent level's mean with a strength of s pseudo-counts
  (alpha0 = s·m, beta0 = s·(1-m)), computed from the parent's evidence *without* the key's own, so that nothing
  is counted twice. With much evidence of its own a key stands alone; with none it believes what its like did.
* **Forward decay** (Cormode et al., "Forward Decay", ICDE 2009). An observation at time t adds
  w = 2^((t - L)/h) with a landmark L and half-life h; reading at ``now`` multiplies by 2^(-(now - L)/h).
* **Ordinals.** A retry's chance falls with each try, so the try's ordinal is part of the key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from scipy.special import betaincinv

from btm.model import MAX_ORDINAL, Action, EvidenceKey, Family

Level = tuple[str, ...]
"""A pooling level's name: ``("family", "transient", "retry", "1")`` and so on, general to special."""


@dataclass(frozen=True, slots=True)
class BetaPosterior:
    """Belief about a success probability: Beta(alpha, beta).

    ``n`` is how much of it is the key's own (decayed) evidence, ``worked`` how much of that was success.
    """

    alpha: float
    beta: float
    n: float = 0.0
    worked: float = 0.0

    @property
    def mean(self) -> float:
        """Expected success probability."""
        return self.alpha / (self.alpha + self.beta)

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """Return the central credible interval that holds ``mass`` of the belief (Beta quantiles)."""
        tail = (1.0 - mass) / 2.0
        low, high = betaincinv(self.alpha, self.beta, (tail, 1.0 - tail))
        return float(low), float(high)

    @property
    def low(self) -> float:
        """Lower end of the 95 % credible interval."""
        return self.interval()[0]

    @property
    def high(self) -> float:
        """Upper end of the 95 % credible interval."""
        return self.interval()[1]


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

_FARTHEST = 500.0  # half-lives from the landmark; weights are moved to a new one long before


@dataclass(frozen=True, slots=True)
class Decay:
    """Forward decay: ``half_life_s`` may be infinite (never forget); ``landmark`` is L, in epoch seconds."""

    half_life_s: float = math.inf
    landmark: float = 0.0

    def weight(self, at: float) -> float:
        """What an observation at time ``at`` adds to its counter."""
        return self._power((at - self.landmark) / self.half_life_s)

    def scale(self, now: float) -> float:
        """What a counter is multiplied by when it is read at time ``now``."""
        return self._power((self.landmark - now) / self.half_life_s)

    def _power(self, half_lives: float) -> float:
        # A clock that is far off must not overflow: beyond these powers a weight is everything, or nothing.
        return math.exp2(min(max(half_lives, -_FARTHEST), _FARTHEST))

    def overdue(self, now: float) -> bool:
        """Whether the landmark should be moved to ``now`` before weights lose precision or overflow."""
        return (now - self.landmark) / self.half_life_s > 200


@lru_cache(maxsize=4_096)
def levels(key: EvidenceKey) -> tuple[Level, ...]:
    """Return the levels that a key is pooled over, most general first, the key itself last.

    A retry or a revise is pooled over the error's family, then its kind: what heals a timeout here heals one
    there. An action on another tool (switch, repair, verify) is pooled over that target instead: whether a
    substitute answers depends on the substitute, hardly on how the first tool failed.
    """
    ordinal = str(key.ordinal)
    top: Level = ("family", key.kind.family, key.action, ordinal)
    middle: Level = (
        ("target", key.action, key.target, ordinal) if key.target else ("kind", key.kind, key.action, ordinal)
    )
    return top, middle, ("key", key.tool, key.kind, key.action, key.target, ordinal)


# What the shipped beliefs start from, by family and action, for the first, second and later tries. They are weak
# (see Priors.strengths) and give way to a handful of observations. The shape follows the design's table of what
# usually helps; that an unchanged call after a caller's error does not work is measured: `btm fit` of the InterCode
# SQL logs counts 0 of 1,530.
_START: Mapping[tuple[Family | None, Action], tuple[float, float, float]] = {
    (Family.TRANSIENT, Action.RETRY): (0.65, 0.5, 0.3),
    (Family.PERSISTENT, Action.RETRY): (0.05, 0.03, 0.02),
    (Family.CALLER, Action.RETRY): (0.02, 0.01, 0.01),
    (Family.SILENT, Action.RETRY): (0.1, 0.05, 0.05),
    (Family.UNKNOWN, Action.RETRY): (0.4, 0.2, 0.1),
    (Family.CALLER, Action.REVISE): (0.6, 0.45, 0.3),
    (None, Action.REVISE): (0.35, 0.25, 0.15),
    (None, Action.REPAIR): (0.6, 0.3, 0.1),
    (None, Action.SWITCH): (0.75, 0.55, 0.35),
    (None, Action.VERIFY): (0.9, 0.7, 0.5),
    (None, Action.ESCALATE): (0.95, 0.9, 0.9),
    (None, Action.ABANDON): (0.5, 0.5, 0.5),
}


def start_mean(family: Family, action: Action, ordinal: int) -> float:
    """Return the shipped starting chance of an action after an error of this family."""
    means = _START.get((family, action)) or _START[(None, action)]
    return means[min(ordinal, MAX_ORDINAL) - 1]


@dataclass(frozen=True, slots=True)
class Priors:
    """How strongly each level believes its parent, and what the top level starts from.

    ``strengths`` are pseudo-counts s for (top, middle, key). ``means`` overrides the shipped starting chance of a
    top level; offline fitting estimates both (see :mod:`btm.learning.priors`).
    """

    strengths: tuple[float, float, float] = (8.0, 4.0, 3.0)
    means: Mapping[Level, float] = field(default_factory=dict)

    def top_mean(self, key: EvidenceKey) -> float:
        """The mean that the top level of ``key`` starts from."""
        fitted = self.means.get(levels(key)[0]) if self.means else None
        return start_mean(key.kind.family, key.action, key.ordinal) if fitted is None else fitted


class Share(NamedTuple):
    """What one level contributes to a belief: its own counts and the mean it hands to the next level."""

    level: Level
    counts: Counts
    prior_mean: float
    strength: float
    mean: float


class Evidence:
    """Summed evidence per key and, kept in step, per pooling level. Not thread-safe: its owner holds the lock."""

    def __init__(self, rows: Iterable[tuple[EvidenceKey, float, float]] = ()) -> None:
        self._keys: dict[EvidenceKey, Counts] = {}
        self._levels: dict[Level, Counts] = {}
        for key, successes, failures in rows:
            self.add(key, successes, failures)

    def add(self, key: EvidenceKey, successes: float, failures: float) -> None:
        """Add weight to a key and to every level it is pooled into; negative weight takes evidence back."""
        self._keys[key] = _plus(self._keys.get(key, NOTHING), successes, failures)
        for level in levels(key)[:-1]:
            self._levels[level] = _plus(self._levels.get(level, NOTHING), successes, failures)

    def rescale(self, factor: float) -> None:
        """Multiply all weights, when their landmark is moved."""
        self._keys = {key: counts.times(factor) for key, counts in self._keys.items()}
        self._levels = {level: counts.times(factor) for level, counts in self._levels.items()}

    def counts(self, key: EvidenceKey) -> Counts:
        """Return the undecayed sums of one key."""
        return self._keys.get(key, NOTHING)

    def level(self, level: Level) -> Counts:
        """Return the undecayed sums of a pooling level above the keys."""
        return self._levels.get(level, NOTHING)

    def rows(self) -> Iterator[tuple[EvidenceKey, float, float]]:
        """Iterate over every key with its sums."""
        for key, counts in self._keys.items():
            yield key, counts.successes, counts.failures

    def chain(self, key: EvidenceKey) -> tuple[Counts, Counts, Counts]:
        """Return the counts of the key's levels (top, middle, own), each without those of the level below."""
        top_level, middle_level, _ = levels(key)
        own = self._keys.get(key, NOTHING)
        top = self._levels.get(top_level, NOTHING)
        middle = self._levels.get(middle_level, NOTHING)
        # A target is shared between families, so the middle is a part of the top only where it is a kind.
        below_top = own if key.target else middle
        return _minus(top, below_top), _minus(middle, own), own

    def __len__(self) -> int:
        return len(self._keys)


# Sums of floats can leave -1e-17 where zero is meant, and what is taken back may have been learned elsewhere.


def _plus(counts: Counts, successes: float, failures: float) -> Counts:
    return Counts(max(counts.successes + successes, 0.0), max(counts.failures + failures, 0.0))


def _minus(whole: Counts, part: Counts) -> Counts:
    return Counts(max(whole.successes - part.successes, 0.0), max(whole.failures - part.failures, 0.0))


def shares(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> tuple[Share, ...]:
    """Return level by level how the belief about ``key`` comes about, most general level first."""
    mean = priors.top_mean(key)
    found: list[Share] = []
    for level, counts, strength in zip(levels(key), evidence.chain(key), priors.strengths, strict=True):
        now = counts.times(scale)
        updated = (strength * mean + now.successes) / (strength + now.total)
        found.append(Share(level, now, mean, strength, updated))
        mean = updated
    return tuple(found)


def weights(found: Sequence[Share]) -> tuple[float, ...]:
    """Return how much of a belief comes from where: from what it started with, then from each level. They add to 1."""
    left, backwards = 1.0, []
    for share in reversed(found):
        own = share.counts.total / (share.strength + share.counts.total)
        backwards.append(left * own)
        left *= 1.0 - own
    return (left, *reversed(backwards))


def pooled(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> BetaPosterior:
    """Return the belief about ``key``; ``scale`` is the decay factor at the time of reading."""
    strengths = priors.strengths
    top, middle, own = evidence.chain(key)
    mean = priors.top_mean(key)
    mean = (strengths[0] * mean + scale * top.successes) / (strengths[0] + scale * top.total)
    mean = (strengths[1] * mean + scale * middle.successes) / (strengths[1] + scale * middle.total)
    strength = strengths[2]
    return BetaPosterior(
        strength * mean + scale * own.successes,
        strength * (1.0 - mean) + scale * own.failures,
        scale * own.total,
        scale * own.successes,
    )


def flat(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> BetaPosterior:  # noqa: ARG001
    """Return Beta(1, 1) updated by the key's own evidence alone: the baseline without pooling."""
    own = evidence.counts(key)
    worked, failed = scale * own.successes, scale * own.failures
    return BetaPosterior(1.0 + worked, 1.0 + failed, worked + failed, worked)


def unlearned(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> BetaPosterior:  # noqa: ARG001
    """Return the prior alone, whatever was observed: the baseline of rules without numbers."""
    mean, strength = priors.top_mean(key), priors.strengths[2]
    return BetaPosterior(strength * mean, strength * (1.0 - mean))
