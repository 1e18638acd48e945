"""Has the chance of a recovery changed at some moment? Then what was seen before says nothing about it any more.

Decay forgets slowly whatever happened; a tool that broke or was mended last night is another tool at once. A key's
latest attempts are split at every place where its chance may have changed, and each split is weighed against none: with
the marginal likelihoods B(1 + k, 1 + f) of the counts on either side, and a chance of 1/100 an attempt that it changes. This
is the posterior of the latest run's beginning of Adams & MacKay, "Bayesian online changepoint detection" (2007), over a
window and for counts that fade. Nothing here reads a clock or keeps anything.

A trend is what people are told: the later half of a key's attempts against the earlier half. Sums of evidence cannot tell,
since they hold no order; the attempts that a memory lived through can. What was fitted from logs is only there as sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from btm.learning.evidence import Counts
from btm.model import EvidenceKey

HAZARD = 0.01
"""Chance, from one attempt to the next, that a recovery's chance changes. As in circuit breakers."""

CERTAIN = 0.95
"""How probable a change has to be before what was seen until then is let go."""


_FEWEST = 12.0
_FEWEST_OF_EACH = 2.0


class WeighedAttempt(NamedTuple):
    """An attempt: whether it worked, and its decayed weight."""

    success: bool
    weight: float


def may_show_change(total: Counts) -> bool:
    """Whether a key's decayed counts are enough for a change to show: few attempts, or all alike, never do."""
    worked, failed = total
    return worked + failed >= _FEWEST and min(worked, failed) >= _FEWEST_OF_EACH


def since_change(latest: Sequence[WeighedAttempt], total: Counts, known: Callable[[], Counts]) -> int | None:
    """Return from which of the latest attempts on a key's chance is another one; None where none is that probable.

    ``latest`` are in the order of time, and part of ``total``, the key's decayed counts. ``known`` returns the
    pseudo-counts that the key believes without evidence of its own; it is asked only where a change is probable. That is
    one only if what came after it would have been foretold no worse without what came before (the prequential log
    loss; A. P. Dawid, "Statistical theory: the prequential approach", JRSS A 147, 1984).
    """
    worked = np.array([a.weight * a.success for a in latest])[::-1].cumsum()[::-1]
    failed = np.array([a.weight * (not a.success) for a in latest])[::-1].cumsum()[::-1]
    before_worked = np.maximum(total.successes - worked, 0.0)
    before_failed = np.maximum(total.failures - failed, 0.0)
    gain = (
        betaln(1.0 + worked, 1.0 + failed)
        + betaln(1.0 + before_worked, 1.0 + before_failed)
        - betaln(1.0 + total.successes, 1.0 + total.failures)
    )
    odds = HAZARD * np.exp(np.minimum(gain, 700.0))
    if not len(latest) or odds.sum() <= CERTAIN / (1.0 - CERTAIN):
        return None
    first = int(gain.argmax())
    after, without = Counts(float(worked[first]), float(failed[first])), known()
    with_before = Counts(without.successes + before_worked[first], without.failures + before_failed[first])
    return first if _foretold(without, after) >= _foretold(with_before, after) else None


def _foretold(known: Counts, after: Counts) -> float:
    """Return the log likelihood of counts, each foretold from ``known`` and from those before it."""
    return float(betaln(known.successes + after.successes, known.failures + after.failures) - betaln(*known))


FEWEST = 8
"""Attempts below which no trend is told."""

CLEAR = 0.95
"""How sure it has to be that a chance has moved before it is said."""


class Direction(StrEnum):
    """What the attempts say about a chance."""

    BETTER = "better"
    WORSE = "worse"
    STEADY = "steady"


@dataclass(frozen=True, slots=True)
class Trend:
    """The earlier and the later half of a recovery's attempts, and how likely its chance is the higher one now.

    ``better`` is P(later chance > earlier chance) under Beta(1, 1) for each.
    """

    earlier: Counts
    later: Counts
    better: float

    @property
    def direction(self) -> Direction:
        """Which way it went, if that is clear."""
        if self.better >= CLEAR:
            return Direction.BETTER
        return Direction.WORSE if self.better <= 1.0 - CLEAR else Direction.STEADY


def trends(halves: Iterable[tuple[EvidenceKey, Counts, Counts]]) -> Mapping[EvidenceKey, Trend]:
    """Return the trend of every key with ``FEWEST`` attempts at least, from its earlier and its later half."""
    return {
        key: Trend(earlier, later, chance_higher(later, earlier))
        for key, earlier, later in halves
        if earlier.total + later.total >= FEWEST
    }


@lru_cache(maxsize=4_096)  # of tens of thousands of keys, most have few attempts, and so the same counts
def chance_higher(a: Counts, b: Counts) -> float:
    """Return P(p > q) for p from Beta(1, 1) updated by whole counts ``a``, and q likewise by ``b``.

    The closed form for whole parameters: the sum over i < alpha_a of
    B(alpha_b + i, beta_a + beta_b) / ((beta_a + i) B(1 + i, beta_a) B(alpha_b, beta_b)).
    """
    alpha_a, beta_a = 1.0 + a.successes, 1.0 + a.failures
    alpha_b, beta_b = 1.0 + b.successes, 1.0 + b.failures
    i = np.arange(round(alpha_a))
    terms = betaln(alpha_b + i, beta_a + beta_b) - np.log(beta_a + i) - betaln(1.0 + i, beta_a)
    return float(np.exp(terms - betaln(alpha_b, beta_b)).sum())
