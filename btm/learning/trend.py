"""Has a recovery got better or worse lately? The later half of its attempts against the earlier half.

Sums of evidence cannot tell, since they hold no order; the attempts that a memory lived through can. What was fitted
from logs is only there as sums, and has no trend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import betaln

from btm.learning.posterior import Counts
from btm.model import EvidenceKey

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
