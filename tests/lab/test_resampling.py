from __future__ import annotations

import random

import pytest

from btm.lab.metrics import Episode, best_fixed, compare, results
from btm.lab.resampling import Cell, mean_over


def episode(arm: str, world: int, task: str, solved: bool) -> Episode:
    return Episode(arm, "mixed", task, frozenset(), solved, False, 3, 0, 0, 1.0, world=world)


def test_an_interval_over_worlds_is_wider_where_worlds_differ_than_where_only_episodes_do() -> None:
    rng = random.Random(0)
    alike: dict[Cell, tuple[float, int]] = {}
    differing: dict[Cell, tuple[float, int]] = {}
    for world in range(12):
        rate = world % 2
        for task in range(20):
            alike[world, f"t{task}"] = float(rng.random() < 0.5), 1
            differing[world, f"t{task}"] = float(rate), 1
    narrow, wide = mean_over(alike).interval, mean_over(differing).interval
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_the_mean_counts_each_episode_once_and_the_same_values_give_the_same_interval() -> None:
    values: dict[Cell, tuple[float, int]] = {(0, "a"): (2.0, 2), (0, "b"): (0.0, 1), (1, "a"): (0.0, 1)}
    assert mean_over(values).value == pytest.approx(0.5)
    assert mean_over(values) == mean_over(dict(reversed(values.items())))


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = random.Random(3)
    held = 0
    for number in range(100):
        values: dict[Cell, tuple[float, int]] = {}
        for world in range(12):
            rate = 0.5 + rng.uniform(-0.3, 0.3)
            values |= {(world, f"t{task}"): (float(rng.random() < rate), 1) for task in range(15)}
        low, high = mean_over(values, seed=number).interval
        held += low <= 0.5 <= high
    assert held >= 90


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ValueError, match="nothing to average"):
        mean_over({})


def test_over_several_worlds_rates_and_differences_are_resampled_by_world() -> None:
    run = [episode("btm", w, f"t{t}", w % 2 == 0) for w in range(8) for t in range(10)]
    run += [episode("bare", w, f"t{t}", False) for w in range(8) for t in range(10)]
    (row,) = (r for r in results(run) if r.arm == "btm" and r.fault_kind is None)
    assert (row.success, row.episodes) == (0.5, 80)
    assert row.high - row.low > 0.4  # 80 independent episodes would give 0.21
    found = compare(run, "btm", "bare")
    assert found.difference == 0.5
    assert found.low > 0.0
    assert found.p < 0.05


def test_the_best_order_is_chosen_in_hindsight_and_no_other_arm_is() -> None:
    run = [episode("btm", 0, "t", True), episode("order:a", 0, "t", False), episode("order:b", 0, "t", True)]
    assert best_fixed(run) == "order:b"
    assert best_fixed(run[:1]) is None
