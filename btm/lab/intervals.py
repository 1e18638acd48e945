"""Intervals and tests for shares: how sure a rate is, and whether two arms differ on the same tasks.

Standard library only; every function is exact or closed-form, so the same counts give the same figures.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: an interval of plus and minus this many errors holds 95 %."""


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def wilson(successes: int, n: int) -> Interval:
    """Return the 95 % interval of a rate: Wilson's score interval, (0, 1) when nothing was observed.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
    """
    if n == 0:
        return Interval(0.0, 1.0)
    rate, z2 = successes / n, Z95 * Z95
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    # The bounds at 0 and 1 are exact; the formula may miss them by a rounding error.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high)


class Pairs(NamedTuple):
    """Outcomes of two arms on the same episodes: both solved it, only the first, only the second, neither."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """Episodes."""
        return sum(self)

    @property
    def difference(self) -> float:
        """Success rate of the first arm minus that of the second; 0 when nothing was observed."""
        return (self.only_a - self.only_b) / self.n if self.n else 0.0


def paired_interval(pairs: Pairs) -> Interval:
    """Return the 95 % interval of the difference of two paired rates, (-1, 1) when nothing was observed.

    Newcombe's method 10 (square-and-add of Wilson intervals with the pairs' correlation), which keeps its width
    where a bootstrap shrinks to a point, as it does when one arm solves all and the other none.
    R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
    paired data", Statistics in Medicine 17 (1998).
    """
    n = pairs.n
    if n == 0:
        return Interval(-1.0, 1.0)
    a, b, c, _ = pairs
    p1, p2 = (a + b) / n, (a + c) / n
    (l1, u1), (l2, u2) = wilson(a + b, n), wilson(a + c, n)
    phi = _correlation(pairs)
    below = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    above = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    difference = p1 - p2
    return Interval(
        max(-1.0, difference - math.sqrt(max(0.0, below))), min(1.0, difference + math.sqrt(max(0.0, above)))
    )


def _correlation(pairs: Pairs) -> float:
    a, b, c, d = pairs
    scale = (a + b) * (c + d) * (a + c) * (b + d)
    if scale == 0:
        return 0.0
    product = a * d - b * c
    # Newcombe's continuity correction, for positive products only.
    corrected = max(product - pairs.n / 2, 0.0) if product > 0 else float(product)
    return corrected / math.sqrt(scale)


def mcnemar(pairs: Pairs) -> float:
    """Return the exact two-sided p-value of "both arms solve equally many": McNemar's test on the differing pairs."""
    n = pairs.only_a + pairs.only_b
    smaller = min(pairs.only_a, pairs.only_b)
    tail = sum(math.comb(n, k) for k in range(smaller + 1)) / (1 << n)
    return min(1.0, 2 * tail)
