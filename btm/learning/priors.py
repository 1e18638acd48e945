"""Empirical Bayes: how strongly each pooling level should believe its parent, and what the top levels start from.

Both are chosen so that evidence is likeliest under its own pool. The count of successes of a level that believes its
parent's mean m with s pseudo-counts is beta-binomial, and its likelihood is B(s·m + k, s·(1-m) + n - k) / B(s·m, s·(1-m))
(e.g. Gelman et al., *Bayesian Data Analysis*, 3rd ed., section 5.3). The mean m comes from the parent without the
level's own counts, as in :func:`btm.learning.posterior.pooled`, so that a level is judged by what it would have been told
beforehand. A log-normal prior about the shipped strengths keeps the answer sane where there is nothing to learn
from: no data, one tool, nothing but successes.

What a top level starts from is its shipped chance, its log odds shifted as is likeliest for the action's other top
levels: switches that do worse than shipped after some errors and tries will do worse after others. A level's own
counts are left out there too. Counted twice, in the mean and on top of it, they made held-out forecasts worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit, logit

from btm.learning.posterior import Counts, Evidence, Level, Priors, levels, pooled, start_mean
from btm.model import MAX_ORDINAL, Action, EvidenceKey, Family

EvidenceRow = tuple[EvidenceKey, float, float]

STRENGTH_BOUNDS = (0.1, 500.0)
"""Pseudo-counts between which strengths are sought."""

# Standard deviations of the priors about what is shipped: a strength by a factor of 1.65, and log odds by 0.5 (a
# chance of 0.5 to 0.62). Both were chosen on held-out attempts (`btm calibration`), where 0.3 and 1 do as well.
_LOG_STRENGTH_SD = 0.5
_LOG_ODDS_SD = 0.5
_LARGEST_SHIFT = 3.0
_ROUNDS = 3

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_NEAR = 1e-4  # of a strength, that part; of a chance, a fortieth of a percent at most

MOST_KEYS = 1_000
"""Keys that priors are fitted to."""


class _LevelCounts(NamedTuple):
    """Counts of levels, each with the mean that its parent tells it."""

    means: NDArray[np.float64]
    successes: NDArray[np.float64]
    failures: NDArray[np.float64]


def log_likelihood(
    strength: float, means: NDArray[np.float64], successes: NDArray[np.float64], failures: NDArray[np.float64]
) -> float:
    """Return the beta-binomial log likelihood of counts under priors of these means and this strength (nats)."""
    alpha, beta = strength * means, strength * (1.0 - means)
    return float(np.sum(betaln(alpha + successes, beta + failures) - betaln(alpha, beta)))


def fit_priors(evidence: Evidence, shipped: Priors | None = None) -> Priors:
    """Return priors under which ``evidence`` is likeliest; ``shipped`` is where the search starts and leans to."""
    shipped = shipped or Priors()
    evidence = some(evidence)
    keys = [key for key, successes, failures in evidence.rows() if successes + failures > 0]
    if not keys:
        return shipped
    priors = shipped
    for _ in range(_ROUNDS):  # strengths and means lean on each other; three rounds settle them
        priors = replace(priors, means=_shifted_means(evidence, keys, priors, shipped))
        tables = (
            _tops(evidence, keys, priors),
            _middles(evidence, keys, priors),
            _keys(evidence, keys, priors),
        )
        top, middle, own = (
            _strength(told, prior) for told, prior in zip(tables, shipped.strengths, strict=True)
        )
        priors = replace(priors, strengths=(top, middle, own))
    return priors


def refit_priors(
    evidence: Evidence, priors: Priors, held_out: Collection[EvidenceRow] | None, scale: float
) -> Priors:
    """Return priors fitted to all evidence but ``held_out``, if they foretell that no worse than ``priors``; else those.

    ``scale`` is the decay factor as of now. ``held_out`` are keys with sums, on the evidence's own scale; None: a tenth of
    every key's.
    """
    part = some(evidence, {key.tool for key, _, _ in held_out or ()})
    if held_out is None:
        held_out = [(key, 0.1 * worked, 0.1 * failed) for key, worked, failed in part.rows()]
    rest = Evidence((key, scale * worked, scale * failed) for key, worked, failed in part.rows())
    tests = [(key, scale * worked, scale * failed) for key, worked, failed in held_out if key in part]
    for key, worked, failed in tests:
        rest.add(key, -worked, -failed)
    fitted = fit_priors(rest)
    return fitted if _loss(rest, fitted, tests) <= _loss(rest, priors, tests) else priors


def some(evidence: Evidence, first: Collection[str] = ()) -> Evidence:
    """Return evidence, or all that it says of some tools where it has too many keys: the same ones each time.

    A few thousand keys tell how strongly pools are to be believed as well as more do, and a caller may be waiting.
    ``first`` are tools that are taken before others.
    """
    if len(evidence) <= MOST_KEYS:
        return evidence
    of_tool: dict[str, list[EvidenceRow]] = {}
    for row in evidence.rows():
        of_tool.setdefault(row[0].tool, []).append(row)
    order = sorted(
        of_tool, key=lambda tool: (tool not in first, crc32(tool.encode("utf-8", "replace")), tool)
    )
    taken: list[EvidenceRow] = []
    for tool in order:
        if len(taken) >= MOST_KEYS:
            break
        taken += of_tool[tool][: MOST_KEYS - len(taken)]
    return Evidence(taken)


def _loss(evidence: Evidence, priors: Priors, tests: Sequence[EvidenceRow]) -> float:
    """Return the log loss (nats, summed) of what ``evidence`` foretells about attempts it does not hold."""
    lost = 0.0
    for key, worked, failed in tests:
        chance = pooled(evidence, key, priors).mean
        lost -= worked * math.log(chance) + failed * math.log1p(-chance)
    return lost


def _strength(told: _LevelCounts, shipped: float) -> float:
    def cost(log_strength: float) -> float:
        lean = (log_strength - math.log(shipped)) ** 2 / (2.0 * _LOG_STRENGTH_SD**2)
        return lean - log_likelihood(math.exp(log_strength), *told)

    low, high = (math.log(bound) for bound in STRENGTH_BOUNDS)
    return math.exp(_least(cost, low, high))


def _least(cost: Callable[[float], float], low: float, high: float) -> float:
    """Return where a cost with one valley is least, by golden sections.

    SciPy's optimizers take longer to import than everything else on the way to a first plan.
    """
    x, y = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_x, at_y = cost(x), cost(y)
    while high - low > _NEAR:
        if at_x <= at_y:
            high, y, at_y = y, x, at_x
            x = high - _GOLDEN * (high - low)
            at_x = cost(x)
        else:
            low, x, at_x = x, y, at_y
            y = low + _GOLDEN * (high - low)
            at_y = cost(y)
    return (low + high) / 2.0


def _table(rows: Sequence[tuple[float, Counts]]) -> _LevelCounts:
    return _LevelCounts(
        np.array([mean for mean, _ in rows]),
        np.array([counts.successes for _, counts in rows]),
        np.array([counts.failures for _, counts in rows]),
    )


def _tops(evidence: Evidence, keys: Sequence[EvidenceKey], priors: Priors) -> _LevelCounts:
    tops = {levels(key)[0]: key for key in keys}
    return _table(
        [(priors.top_mean(key), evidence.pool(level, priors.strengths)) for level, key in tops.items()]
    )


def _middles(evidence: Evidence, keys: Sequence[EvidenceKey], priors: Priors) -> _LevelCounts:
    middles = {levels(key)[1]: key for key in keys}
    rows = [
        (
            _mean_above_middle(evidence.top(key, priors.strengths), key, priors),
            evidence.pool(level, priors.strengths),
        )
        for level, key in middles.items()
    ]
    return _table(rows)


def _keys(evidence: Evidence, keys: Sequence[EvidenceKey], priors: Priors) -> _LevelCounts:
    rows: list[tuple[float, Counts]] = []
    strength = priors.strengths[1]
    for key in keys:
        top, middle, own = evidence.above(key, priors.strengths)
        above = _mean_above_middle(top, key, priors)
        rows.append(((strength * above + middle.successes) / (strength + middle.total), own))
    return _table(rows)


def _mean_above_middle(top: Counts, key: EvidenceKey, priors: Priors) -> float:
    strength = priors.strengths[0]
    return (strength * priors.top_mean(key) + top.successes) / (strength + top.total)


def _shifted_means(
    evidence: Evidence, keys: Sequence[EvidenceKey], priors: Priors, shipped: Priors
) -> dict[Level, float]:
    """Return what every top level of the actions seen starts from, its log odds shifted as is likeliest."""
    means = dict(shipped.means)
    tops: dict[str, dict[Level, Counts]] = {}
    for key in keys:
        top = levels(key)[0]
        tops.setdefault(key.action, {})[top] = evidence.pool(top, priors.strengths)
    for seen in tops.values():
        start = {top: _shipped_mean(top, shipped) for top in (*seen, *_tops_like(next(iter(seen))))}
        everywhere = _shift(start, seen, priors.strengths[0])
        for top, mean in start.items():
            others = {level: counts for level, counts in seen.items() if level != top}
            shift = _shift(start, others, priors.strengths[0]) if top in seen else everywhere
            means[top] = float(expit(logit(mean) + shift))
    return means


def _shift(start: Mapping[Level, float], seen: Mapping[Level, Counts], strength: float) -> float:
    """Return the shift in log odds under which the counts of these levels are likeliest."""
    told = _table([(start[top], counts) for top, counts in seen.items()])

    def cost(shift: float) -> float:
        moved = expit(logit(told.means) + shift)
        lean = shift**2 / (2.0 * _LOG_ODDS_SD**2)
        return lean - log_likelihood(strength, moved, told.successes, told.failures)

    if not seen:
        return 0.0
    return _least(cost, -_LARGEST_SHIFT, _LARGEST_SHIFT)


def _tops_like(top: Level) -> list[Level]:
    """Return every top level of an action: by family and try, or by try alone for actions on another tool."""
    tries = [str(n) for n in range(1, MAX_ORDINAL + 1)]
    if top[0] == "action":
        return [("action", top[1], n) for n in tries]
    return [("family", family, top[2], n) for family in Family for n in tries]


def _shipped_mean(top: Level, shipped: Priors) -> float:
    mean = shipped.means.get(top)
    if mean is not None:
        return mean
    *_, action, ordinal = top
    # Where families do not matter, any one will do: they start alike.
    family = Family(top[1]) if top[0] == "family" else Family.UNKNOWN
    return start_mean(family, Action(action), int(ordinal))
