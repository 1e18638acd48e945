"""Beta posteriors over "does this recovery work?", pooled over levels and forgetting with time.

Evidence is a plain sum of weights per key, so that any number of processes can add to it and two databases merge
by addition. Three ideas turn sums into a belief:

* **Pooling.** A key's prior is what its like did (:func:`~btm.learning.evidence.levels` says who those are), computed
  *without* the key's own evidence, so that nothing is counted twice. With much evidence of its own a key stands alone;
  with none it believes its pool. How sure a pool is of its mean is passed on: little evidence leaves wide intervals below.
* **Forward decay** (Cormode et al., "Forward Decay", ICDE 2009). An observation at time t adds
  w = 2^((t - L)/h) with a landmark L and half-life h; reading at ``now`` multiplies by 2^(-(now - L)/h).
* **Ordinals.** A retry's chance falls with each try, so the try's ordinal is part of the key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from btm.learning.evidence import NOTHING, Beside, Counts, Evidence, Level, levels
from btm.model import MAX_ORDINAL, Action, EvidenceKey, Family

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


# What the shipped beliefs start from, by family and action, for the first, second and later tries. They are weak
# (see Priors.strengths) and give way to a handful of observations. The shape follows the design's table of what
# usually helps; that an unchanged call after a caller's error does not work is measured: `btm fit` of the InterCode
# SQL logs counts 0 of 1,530 (what a pool says is never surer than 0.03, see _LEAST).
_START: Mapping[tuple[Family | None, Action], tuple[float, float, float]] = {
    (Family.TRANSIENT, Action.RETRY): (0.65, 0.5, 0.3),
    (Family.PERSISTENT, Action.RETRY): (0.05, 0.03, 0.03),
    (Family.CALLER, Action.RETRY): (0.03, 0.03, 0.03),
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


ACROSS = 12.0
"""See :class:`Priors`. Chosen on simulated tools, alike and different, none of which a claim is made on."""


@dataclass(frozen=True, slots=True)
class Priors:
    """How strongly each level believes its parent, and what the top level starts from.

    ``strengths`` are pseudo-counts s for (top, middle, key), ``across`` those that a tool's record after other errors has
    to outweigh. ``means`` overrides the shipped starting chance of a
    top level; offline fitting estimates both (see :mod:`btm.learning.priors`).
    """

    strengths: tuple[float, float, float] = (14.0, 9.0, 5.0)
    means: Mapping[Level, float] = field(default_factory=dict)
    across: float = ACROSS

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


def shares(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> tuple[Share, ...]:
    """Return level by level how the belief about ``key`` comes about, most general level first."""
    return tuple(
        Share(level, *part)
        for level, part in zip(levels(key), _chain(evidence, key, priors, scale), strict=True)
    )


def weights(found: Sequence[Share]) -> tuple[float, ...]:
    """Return how much of a belief comes from where: from what it started with, then from each level. They add to 1."""
    left, backwards = 1.0, []
    for share in reversed(found):
        own = share.counts.total / (share.strength + share.counts.total)
        backwards.append(left * own)
        left *= 1.0 - own
    return (left, *reversed(backwards))


_LEAST = 0.03
"""What a pool says about a key is never surer than this: with a mean near 0, a dozen failures of a key's own would leave
one chance in a thousand, and what no record has shown happens more often. A key's own evidence may go further."""

_SMALLEST = 0.05
_MOST_RATIO = 4.0


def _within(mean: float) -> float:
    return min(max(mean, _LEAST), 1.0 - _LEAST)


def _mean(strength: float, mean: float, counts: Counts) -> float:
    return (strength * mean + counts.successes) / (strength + (counts.successes + counts.failures))


def _beside(others: Sequence[Beside], priors: Priors, mean: float) -> Counts:
    """Return a tool's record after other errors, as if those were as easy to get over as this one is.

    A success where most succeed says less, a failure more: each is weighed by the odds of its own pool against ``mean``,
    what is believed here.
    """
    worked = failed = 0.0
    for other, counts, top, middle in others:
        expected = _down(other, top, middle, priors).kind
        worked += counts.successes * min(mean / expected, _MOST_RATIO)
        failed += counts.failures * min((1.0 - mean) / (1.0 - expected), _MOST_RATIO)
    return Counts(worked, failed)


class _Pooled(NamedTuple):
    """What a key's pools make of it, family before kind: the mean and the pseudo-counts each passes on."""

    start: float
    family: float
    family_size: float
    kind: float
    kind_size: float


def _down(key: EvidenceKey, top: Counts, middle: Counts, priors: Priors) -> _Pooled:
    """Go down a key's pools. What one says of a chance is a Beta distribution: its mean, and its size in pseudo-counts."""
    top_size, middle_size, own_size = priors.strengths
    start = priors.top_mean(key)
    first, size = _after(_within(start), top_size, top)
    first_size = _passed_on(first, size, middle_size)
    second, size = _after(first, first_size, middle)
    return _Pooled(start, first, first_size, second, _passed_on(second, size, own_size))


_Part = tuple[Counts, float, float, float]
"""A level's own counts, the mean that the one above hands to it, how strongly it believes that, what it makes of both."""


def _chain(
    evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float
) -> tuple[_Part, _Part, _Part, _Part]:
    """Go down the levels to the key itself."""
    top, middle, own, others = evidence.around(key, priors.strengths, scale)
    start, first, first_size, second, second_size = _down(key, top, middle, priors)
    beside, across = NOTHING, second
    if others:
        beside = _beside(others, priors, second)
        across = _within(_mean(priors.across, second, beside))
    return (
        (top, start, priors.strengths[0], first),
        (middle, first, first_size, second),
        (beside, second, priors.across, across),
        (own, across, second_size, _mean(second_size, across, own)),
    )


def _after(mean: float, size: float, counts: Counts) -> tuple[float, float]:
    """Return a pool's mean and size once it has heard these counts."""
    return _within(_mean(size, mean, counts)), size + (counts.successes + counts.failures)


def _passed_on(mean: float, size: float, strength: float) -> float:
    """Return the size of what a level below believes before its own evidence: spread about a mean that is itself unsure.

    Its variance is (m(1-m) - v)/(s + 1) + v, where v is that of this pool's mean; the Beta of that mean and variance.
    """
    most = mean * (1.0 - mean)
    unsure = most / (size + 1.0)
    spread = (most - unsure) / (strength + 1.0) + unsure
    return max(most / spread - 1.0, _SMALLEST)


def pooled(evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float = 1.0) -> BetaPosterior:
    """Return the belief about ``key``; ``scale`` is the decay factor at the time of reading."""
    (successes, failures), mean, strength, _ = _chain(evidence, key, priors, scale)[-1]
    return BetaPosterior(
        strength * mean + successes, strength * (1.0 - mean) + failures, successes + failures, successes
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
