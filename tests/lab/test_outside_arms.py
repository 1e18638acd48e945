"""Arms that stand for what people build without btm."""

from __future__ import annotations

import pytest

from btm.lab.arms import ARMS
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario

OUTSIDE = ("tenacity", "chain", "breaker")


@pytest.fixture(scope="module")
def solved() -> dict[tuple[str, str], int]:
    scenarios = (Scenario.CLEAN, Scenario.RETRY_WORKS, Scenario.SWITCH_NEEDED, Scenario.IMPOSSIBLE)
    run = evaluate(Request(tasks=16, arms=("bare", *OUTSIDE, "btm"), scenarios=scenarios))
    found: dict[tuple[str, str], int] = {}
    for e in run.episodes:
        found[e.arm, e.scenario] = found.get((e.arm, e.scenario), 0) + e.solved
    return found


def test_there_are_more_than_eighteen_arms() -> None:
    assert len(ARMS) >= 18


@pytest.mark.parametrize("arm", OUTSIDE)
def test_nothing_is_lost_where_nothing_fails(arm: str, solved: dict[tuple[str, str], int]) -> None:
    assert solved[arm, "clean"] == 16
    assert solved[arm, "impossible"] == 0


def test_each_helps_where_it_can(solved: dict[tuple[str, str], int]) -> None:
    for arm in ("tenacity", "breaker"):
        assert solved[arm, "retry_works"] > solved["bare", "retry_works"]
        assert solved[arm, "switch_needed"] == solved["bare", "switch_needed"]
    assert solved["chain", "switch_needed"] > solved["bare", "switch_needed"]


def test_btm_is_ahead_of_each_where_something_fails(solved: dict[tuple[str, str], int]) -> None:
    for arm in OUTSIDE:
        both = [sum(solved[a, s] for s in ("retry_works", "switch_needed")) for a in (arm, "btm")]
        assert both[0] < both[1]
