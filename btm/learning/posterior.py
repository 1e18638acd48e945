"""Beta posteriors over "does this recovery work?", pooled over levels and forgetting with time.

Evidence is a plain sum of weights per key, so that any number of processes can add to it and two databases merge
by addition. Three ideas turn sums into a belief:

* **Pooling.** A key's prior is what its like did (:mod:`btm.learning.levels` says who those are), computed *without* the
  key's own evidence, so that nothing is counted twice. With much evidence of its own a key stands alone; with none it
  believes its pool. How sure a pool is of its own mean is passed on: little evidence leaves wide intervals below it.
* **Forward decay** (Cormode et al., "Forward Decay", ICDE 2009). An observation at time t adds
  w = 2^((t - L)/h) with a landmark L and half-life h; reading at ``now`` multiplies by 2^(-(now - L)/h).
* **Ordinals.** A retry's chance falls with each try, so the try's ordinal is part of the key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from btm.learning.evidence import Around, Evidence
from btm.learning.levels import NOTHING, Counts, Level, Priors, levels, start_mean
from btm.model import EvidenceKey

__all__ = [
    "NOTHING",
    "BetaPosterior",
    "Counts",
    "Decay",
    "Evidence",
    "Level",
    "Priors",
    "Share",
    "flat",
    "intervals",
    "levels",
    "pooled",
    "shares",
    "start_mean",
    "unlearned",
    "weights",
]


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


def intervals(beliefs: Sequence[BetaPosterior], mass: float = 0.95) -> list[tuple[float, float]]:
    """Return what :meth:`BetaPosterior.interval` does for each of many: at once, which takes a tenth of the time."""
    alpha, beta = (np.array(part) for part in ([b.alpha for b in beliefs], [b.beta for b in beliefs]))
    tail = (1.0 - mass) / 2.0
    ends = (betaincinv(alpha, beta, part).tolist() for part in (tail, 1.0 - tail))
    return list(zip(*ends, strict=True))


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


class Share(NamedTuple):
    """What one level contributes to a belief: its own counts and the mean it hands to the next level."""

    level: Level
    counts: Counts
    prior_mean: float
    strength: float
    mean: float


def shares(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> tuple[Share, ...]:
    """Return level by level how the belief about ``key`` comes about, most general level first."""
    chain = _BeliefSteps.of(evidence, key, priors, scale)
    around, third, across = chain.around, chain.third.mean, chain.across
    counts = (around.top, around.middle, chain.beside, around.own)
    told = (priors.top_mean(key), chain.first.mean, third, across)
    strengths = (priors.strengths[0], chain.second_size, priors.across, chain.strength)
    means = (chain.first.mean, third, across, _mean(chain.strength, across, around.own))
    return tuple(map(Share, levels(key), counts, told, strengths, means))


class _BeliefSteps(NamedTuple):
    """How a belief comes about: what each level believes once it has heard the one above it and its own counts."""

    around: Around
    first: _Belief
    second_size: float
    third: _Belief
    beside: Counts
    across: float
    strength: float

    @classmethod
    def of(cls, evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float) -> _BeliefSteps:
        around = evidence.around(key, priors.strengths, scale)
        first = _Belief.of(priors.top_mean(key), priors.strengths[0]).after(around.top)
        second = first.passed_on(priors.strengths[1])
        third = second.after(around.middle)
        beside, across = NOTHING, third.mean
        if around.beside:
            beside = _beside(around, second.size, first.mean, third.mean)
            across = _within(_mean(priors.across, across, beside))
        return cls(
            around, first, second.size, third, beside, across, third.passed_on(priors.strengths[2]).size
        )


def weights(found: Sequence[Share]) -> tuple[float, ...]:
    """Return how much of a belief comes from where: from what it started with, then from each level. They add to 1."""
    left, backwards = 1.0, []
    for share in reversed(found):
        own = share.counts.total / (share.strength + share.counts.total)
        backwards.append(left * own)
        left *= 1.0 - own
    return (left, *reversed(backwards))


class _Belief(NamedTuple):
    """A pool's chance as a Beta distribution: its mean, and its size in pseudo-counts."""

    mean: float
    size: float

    @classmethod
    def of(cls, mean: float, size: float) -> _Belief:
        return cls(_within(mean), size)

    def after(self, counts: Counts) -> _Belief:
        return _Belief.of(_mean(self.size, self.mean, counts), self.size + counts.total)

    def passed_on(self, strength: float) -> _Belief:
        """Return what a level below believes before its own evidence: spread about a mean that is itself unsure.

        Its variance is (m(1-m) - v)/(s + 1) + v, where v is that of this pool's mean; the Beta of that mean and variance.
        """
        most = self.mean * (1.0 - self.mean)
        unsure = most / (self.size + 1.0)
        spread = (most - unsure) / (strength + 1.0) + unsure
        return _Belief(self.mean, max(most / spread - 1.0, _SMALLEST))


_LEAST = 0.03
"""What a pool says about a key is never surer than this: with a mean near 0, a dozen failures of a key's own would leave
one chance in a thousand, and what no record has shown happens more often. A key's own evidence may go further."""

_SMALLEST = 0.05
_MOST_RATIO = 4.0


def _within(mean: float) -> float:
    return min(max(mean, _LEAST), 1.0 - _LEAST)


def _mean(strength: float, mean: float, counts: Counts) -> float:
    return (strength * mean + counts.successes) / (strength + counts.total)


def _beside(around: Around, size: float, above: float, mean: float) -> Counts:
    """Return a tool's record after other errors, as if those were as easy to get over as this one is.

    A success where most succeed says less, a failure more: each is weighed by the odds of its own pool, which believes the
    mean ``above`` it with so many pseudo-counts, against those here.
    """
    worked = failed = 0.0
    for counts, pool in around.beside:
        expected = _within(_mean(size, above, pool))
        worked += counts.successes * min(mean / expected, _MOST_RATIO)
        failed += counts.failures * min((1.0 - mean) / (1.0 - expected), _MOST_RATIO)
    return Counts(worked, failed)


def pooled(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> BetaPosterior:
    """Return the belief about ``key``; ``scale`` is the decay factor at the time of reading."""
    chain = _BeliefSteps.of(evidence, key, priors, scale)
    own, mean, strength = chain.around.own, chain.across, chain.strength
    return BetaPosterior(
        strength * mean + own.successes,
        strength * (1.0 - mean) + own.failures,
        own.total,
        own.successes,
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
