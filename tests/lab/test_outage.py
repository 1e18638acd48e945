"""A service that is down for everyone for a stretch of episodes, with and without circuit breakers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btm.errors import EvaluationError
from btm.lab.faults.settings import FaultSettings
from btm.lab.outage import OutageRow, outage_of
from btm.lab.report import command_line, document
from btm.lab.request import Request, default_scenarios
from btm.lab.runner import Evaluation, evaluate
from btm.lab.scenarios import Scenario

OUTAGE = Request(
    arms=("bare", "btm:no-breaker", "btm", "btm:guard", "btm:advise"),
    profile="outage",
    scenarios=default_scenarios("outage"),
    faults=FaultSettings(seed=3),
)


@pytest.fixture(scope="module")
def run() -> Evaluation:
    return evaluate(OUTAGE)


def rows(run: Evaluation) -> dict[str, OutageRow]:
    return {row.arm: row for row in outage_of(run.episodes)}


def test_a_breaker_halves_the_calls_of_what_is_down_and_the_waiting_and_loses_nothing(
    run: Evaluation,
) -> None:
    found = rows(run)
    for arm in ("btm", "btm:guard", "btm:advise"):
        assert found[arm].solved >= found["btm:no-breaker"].solved > found["bare"].solved
        assert found[arm].dead_calls * 2 <= found["btm:no-breaker"].dead_calls
        assert found[arm].waited_s * 2 <= found["btm:no-breaker"].waited_s


def test_before_and_after_it_nothing_fails(run: Evaluation) -> None:
    whole = [e for e in run.episodes if e.scenario == Scenario.CLEAN]
    assert all(e.solved and not e.faults_met for e in whole)
    assert len(whole) * 2 == len(run.episodes)


def test_the_document_tells_the_outage_and_the_command_that_makes_it_again(run: Evaluation) -> None:
    told = document(run)
    assert [row["arm"] for row in told["outage"]] == list(OUTAGE.arms)
    assert command_line(OUTAGE).endswith("--seed 3 --profile outage")


def test_an_outage_is_no_scenario_of_one_episode() -> None:
    with pytest.raises(EvaluationError, match="it is a profile"):
        evaluate(Request(arms=("bare",), scenarios=(Scenario.OUTAGE,)))


def test_rounds_of_several_seeds_stay_apart() -> None:
    several = evaluate(replace(OUTAGE, arms=("bare",), seeds=(1, 2), tasks=6))
    keys = [(e.scenario, e.task_id, e.world) for e in several.episodes]
    assert len(set(keys)) == len(keys) == 24
