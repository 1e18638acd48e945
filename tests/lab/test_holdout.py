from __future__ import annotations

from dataclasses import replace

import pytest

from btm.errors import EvaluationError
from btm.lab.faults.kinds import REPEAT_HEALS
from btm.lab.faults.settings import FaultSettings
from btm.lab.metrics import pair_up
from btm.lab.report import command_line, document
from btm.lab.request import Evaluation, Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario

ABLATION = Request(
    arms=("btm", "btm:rules-only", "btm:shuffled", "btm:flat", "retry3", "oracle"),
    scenarios=(Scenario.MIXED,),
    profile="heterogeneous",
    # The kinds after which there is an order to choose. Of the nine, five leave a substitute or nothing.
    faults=FaultSettings(seed=0, weights=dict.fromkeys(REPEAT_HEALS, 1.0)),
)

pytestmark = pytest.mark.xdist_group("holdout")  # one process makes what these tests share


@pytest.fixture(scope="module")
def ablation() -> Evaluation:
    return evaluate(ABLATION)


def solved(evaluation: Evaluation, arm: str) -> int:
    return sum(e.solved for e in evaluation.episodes if e.arm == arm)


def test_every_arm_runs_the_half_that_was_not_learned_on_in_every_world(ablation: Evaluation) -> None:
    runs = {arm: {(e.world, e.task_id) for e in ablation.episodes if e.arm == arm} for arm in ABLATION.arms}
    assert all(run == runs["btm"] for run in runs.values())
    assert len(runs["btm"]) == 4 * 21
    assert {world for world, _ in runs["btm"]} == {0, 1, 2, 3}


def test_right_numbers_beat_shuffled_ones_by_five_points_at_least(ablation: Evaluation) -> None:
    # Four worlds are too few to be sure of it; the README's claim is measured on twelve.
    (row,) = (r for r in document(ablation)["paired"] if {r["a"], r["b"]} == {"btm", "btm:shuffled"})
    assert row["a"] == "btm:shuffled"
    assert row["difference"] <= -0.05


def test_right_numbers_beat_no_numbers_and_numbers_that_are_not_pooled(ablation: Evaluation) -> None:
    assert solved(ablation, "btm") > solved(ablation, "btm:flat") > solved(ablation, "btm:rules-only")
    assert solved(ablation, "retry3") < solved(ablation, "btm:rules-only")
    assert solved(ablation, "btm") < solved(ablation, "oracle") <= len(ablation.episodes) / len(ABLATION.arms)


def test_right_numbers_save_calls(ablation: Evaluation) -> None:
    calls = {arm: sum(e.calls for e in ablation.episodes if e.arm == arm) for arm in ABLATION.arms}
    assert calls["btm"] < min(calls["btm:shuffled"], calls["btm:flat"], calls["btm:rules-only"])


def test_a_budget_ends_episodes_undone_and_never_before_a_fault(ablation: Evaluation) -> None:
    ended = [e for e in ablation.episodes if e.exhausted]
    assert ended
    assert all(not e.solved and e.dropped for e in ended)
    calm = evaluate(replace(ABLATION, arms=("btm",), scenarios=(Scenario.CLEAN,), worlds=1, passes=1))
    assert all(e.solved and not e.exhausted for e in calm.episodes)


def test_the_same_request_gives_the_same_episodes() -> None:
    small = replace(ABLATION, tasks=8, worlds=1, passes=2, arms=("btm", "btm:shuffled"))
    assert evaluate(small).episodes == evaluate(small).episodes


def test_an_arm_is_frozen_whoever_else_runs() -> None:
    small = replace(ABLATION, tasks=8, worlds=1, passes=2, arms=("btm:flat", "btm"))
    alone = replace(small, arms=("btm",))
    assert [e for e in evaluate(small).episodes if e.arm == "btm"] == list(evaluate(alone).episodes)


def test_two_halves_need_two_tasks() -> None:
    with pytest.raises(EvaluationError, match="two tasks at least"):
        evaluate(replace(ABLATION, tasks=1))
    with pytest.raises(EvaluationError, match="at least one world"):
        evaluate(replace(ABLATION, worlds=0))


def test_pairs_are_of_the_same_world() -> None:
    small = evaluate(replace(ABLATION, tasks=4, worlds=3, passes=1, arms=("bare", "btm")))
    assert pair_up(small.episodes, "btm", "bare").n == 3 * 2


def test_the_command_says_how_many_worlds_and_passes() -> None:
    line = command_line(ABLATION)
    assert line.endswith("--profile heterogeneous --worlds 4 --passes 5")
    assert "--scenario" not in line
