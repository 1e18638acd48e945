"""Intervals for what is measured on the same tasks in several worlds: both are drawn anew, episodes are not.

Episodes of one world share its tools, and episodes of one task its script, so they are not independent: an interval that
takes them for it is too narrow. Here worlds and tasks are resampled each for itself, with replacement, and an episode
counts as often as its world and its task were drawn together (the pigeonhole bootstrap: A. B. Owen, "The pigeonhole
bootstrap", Annals of Applied Statistics 1, 2007; somewhat too wide rather than too narrow).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from btm.lab.intervals import Interval

DRAWS = 2_000

Cell = tuple[int, str]
"""A world and a task."""


class Mean(NamedTuple):
    """A mean with its 95 % interval, and the two-sided p-value of its being 0."""

    value: float
    interval: Interval
    p: float


def mean_over(values: Mapping[Cell, tuple[float, int]], seed: int = 0) -> Mean:
    """Return the mean of episodes, given their sum and number in each (world, task).

    With one world, tasks alone are resampled. Raises ValueError when there is nothing to average.
    """
    if not values:
        raise ValueError("there is nothing to average")
    worlds = {world: n for n, world in enumerate(sorted({world for world, _ in values}))}
    tasks = {task: n for n, task in enumerate(sorted({task for _, task in values}))}
    sums, counts = np.zeros((len(worlds), len(tasks))), np.zeros((len(worlds), len(tasks)))
    for (world, task), (total, number) in values.items():
        sums[worlds[world], tasks[task]] += total
        counts[worlds[world], tasks[task]] += number
    rng = np.random.default_rng(seed)
    by_world = _drawn(rng, len(worlds)) if len(worlds) > 1 else np.ones((DRAWS, 1))
    by_task = _drawn(rng, len(tasks))
    drawn = ((by_world @ counts) * by_task).sum(axis=1)
    means = ((by_world @ sums) * by_task).sum(axis=1)[drawn > 0] / drawn[drawn > 0]
    low, high = np.quantile(means, (0.025, 0.975))
    tail = min((means <= 0).mean(), (means >= 0).mean())
    return Mean(
        float(sums.sum() / counts.sum()), Interval(float(low), float(high)), min(1.0, 2.0 * float(tail))
    )


def _drawn(rng: np.random.Generator, number: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return how often each of so many units was drawn, draw by draw."""
    return rng.multinomial(number, np.full(number, 1.0 / number), size=DRAWS).astype(float)
