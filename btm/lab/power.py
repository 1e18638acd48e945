"""What a sample of this size can show at all: the smallest true difference that would mostly be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from btm.lab.intervals import Z95, Pairs
from btm.lab.metrics import ALL, Episode, pair_up

Z80 = 0.8416212335729143
"""The 80 % quantile of the normal distribution: power of 80 %."""

_DECISIVE = 6
"""So many differing pairs, all one way, are the fewest that McNemar's exact test takes for a difference (p = 0.031)."""


def detectable_difference(pairs: Pairs) -> float:
    """Return the smallest true difference of two paired rates that 5 % two-sided finds with 80 % power, at most 1.

    R. J. Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics 43 (1987),
    solved for the difference, with the share of differing pairs as observed; never less than what makes enough pairs
    differ at all. 1 when nothing was observed.
    """
    n = pairs.n
    if n == 0:
        return 1.0
    # Pairs that differ all one way are the best case: then the share of those is the difference.
    share = (pairs.only_a + pairs.only_b) / n
    low, high = _DECISIVE / n, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        differing = max(share, middle)
        needed = (
            Z95 * math.sqrt(differing) + Z80 * math.sqrt(max(0.0, differing - middle**2))
        ) ** 2 / middle**2
        low, high = (low, middle) if needed <= n else (middle, high)
    return min(1.0, high)


def detectable(episodes: Sequence[Episode], a: str, b: str, scenario: str = ALL) -> float:
    """Return the smallest difference that these episodes could show. Episodes of one task count as one: they are alike."""
    here = [e for e in episodes if scenario in (e.scenario, ALL)]
    pairs = pair_up(here, a, b)
    tasks = len({e.task_id for e in here if e.arm in (a, b)})
    share = tasks / pairs.n if pairs.n else 0.0
    only_a, only_b = round(pairs.only_a * share), round(pairs.only_b * share)
    return detectable_difference(Pairs(max(0, tasks - only_a - only_b), only_a, only_b, 0))
