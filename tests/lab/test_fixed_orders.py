"""Fixed orders know what btm knows and learn nothing; the arms of a sceptic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btm.lab.arms import ARMS, ORDERS
from btm.lab.faults.settings import FaultSettings
from btm.lab.metrics import Episode
from btm.lab.request import Evaluation, Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario

UNIFORM = Request(
    arms=(
        "order:retry2-then-switch",
        "order:switch-then-retry2",
        "order:retry0-then-switch",
        "retry3",
        "retry3:any",
    ),
    faults=FaultSettings(seed=7),
)


@pytest.fixture(scope="module")
def uniform() -> Evaluation:
    return evaluate(UNIFORM)


def share(evaluation: Evaluation, arm: str, scenario: Scenario) -> float:
    here = [e for e in evaluation.episodes if e.arm == arm and e.scenario == scenario]
    return sum(e.solved for e in here) / len(here)


def mine(evaluation: Evaluation, arm: str) -> list[Episode]:
    return [e for e in evaluation.episodes if e.arm == arm]


def test_there_is_an_order_for_every_number_of_repeats_before_and_after_the_substitutes() -> None:
    names = {
        f"order:{first}" for n in range(4) for first in (f"retry{n}-then-switch", f"switch-then-retry{n}")
    }
    assert names == set(ORDERS) <= set(ARMS)


def test_an_order_with_repeats_and_substitutes_solves_what_either_heals(uniform: Evaluation) -> None:
    for arm in ("order:retry2-then-switch", "order:switch-then-retry2"):
        assert share(uniform, arm, Scenario.RETRY_WORKS) > 0.95
        assert share(uniform, arm, Scenario.SWITCH_NEEDED) > 0.6
        assert share(uniform, arm, Scenario.IMPOSSIBLE) == 0.0


def test_without_repeats_what_only_a_repeat_heals_stays_undone(uniform: Evaluation) -> None:
    assert share(uniform, "order:retry0-then-switch", Scenario.RETRY_WORKS) < share(
        uniform, "order:retry2-then-switch", Scenario.RETRY_WORKS
    )


def test_repeats_on_any_named_error_heal_more_than_repeats_on_exceptions(uniform: Evaluation) -> None:
    assert share(uniform, "retry3:any", Scenario.RETRY_WORKS) > share(uniform, "retry3", Scenario.RETRY_WORKS)
    assert share(uniform, "retry3:any", Scenario.SWITCH_NEEDED) == 0.0


def test_no_fixed_order_writes_twice(uniform: Evaluation) -> None:
    assert sum(e.double_writes for arm in (*ORDERS, "retry3:any") for e in mine(uniform, arm)) == 0


def test_when_nothing_fails_arms_of_a_sort_make_the_same_calls() -> None:
    sorts = (("bare", "retry3", "retry3:any", "oracle", *ORDERS), ("btm", "btm:flat", "btm:priors-only"))
    for arms in sorts:
        calm = evaluate(replace(UNIFORM, scenarios=(Scenario.CLEAN,), arms=arms, tasks=14))
        made = [[e.calls for e in mine(calm, arm)] for arm in arms]
        assert all(calls == made[0] for calls in made)
