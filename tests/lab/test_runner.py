from dataclasses import replace
from typing import ClassVar

import pytest

from btm.errors import EvaluationError
from btm.lab.declared import GoldTask, tool
from btm.lab.environment import load_environment
from btm.lab.faults import FaultSettings
from btm.lab.metrics import Episode
from btm.lab.runner import Evaluation, Request, choose_tasks, evaluate
from btm.lab.scenarios import Scenario

SMALL = Request(tasks=12)


def rates(evaluation: Evaluation, arm: str, scenario: Scenario) -> tuple[int, int]:
    here = [e for e in evaluation.episodes if e.arm == arm and e.scenario == scenario]
    return sum(e.solved for e in here), len(here)


def by_task(evaluation: Evaluation, arm: str) -> dict[tuple[str, str], Episode]:
    return {(e.scenario, e.task_id): replace(e, arm="") for e in evaluation.episodes if e.arm == arm}


pytestmark = pytest.mark.xdist_group("runner")  # one process makes what these tests share


@pytest.fixture(scope="module")
def full() -> Evaluation:
    return evaluate(Request(scenarios=(Scenario.CLEAN, *Request().scenarios)))


def test_the_same_request_gives_the_same_episodes() -> None:
    assert evaluate(SMALL).episodes == evaluate(SMALL).episodes


def test_another_seed_gives_other_faults() -> None:
    other = replace(SMALL, arms=("bare",), faults=FaultSettings(seed=1))
    assert evaluate(other).episodes != evaluate(replace(SMALL, arms=("bare",))).episodes


def test_arms_are_paired_on_the_same_tasks_and_faults(full: Evaluation) -> None:
    bare, btm = by_task(full, "bare"), by_task(full, "btm")
    assert bare.keys() == btm.keys()
    assert all(bare[key].kinds == btm[key].kinds for key in bare)


def test_an_arm_does_not_depend_on_the_arms_beside_it() -> None:
    together = evaluate(replace(SMALL, arms=("retry3", "btm")))
    alone = evaluate(replace(SMALL, arms=("btm",)))
    assert by_task(together, "btm") == by_task(alone, "btm")


def test_btm_in_act_mode_solves_what_can_be_solved_and_hands_over_the_rest(full: Evaluation) -> None:
    assert rates(full, "btm", Scenario.CLEAN) == (42, 42)
    assert rates(full, "btm", Scenario.RETRY_WORKS) == (42, 42)
    assert rates(full, "btm", Scenario.SWITCH_NEEDED) == (42, 42)
    impossible = [e for e in full.episodes if e.arm == "btm" and e.scenario == Scenario.IMPOSSIBLE]
    assert all(e.escalated and not e.solved for e in impossible)


def test_btm_never_makes_a_write_twice(full: Evaluation) -> None:
    assert sum(e.double_writes for e in full.episodes if e.arm == "btm") == 0
    assert sum(e.double_writes for e in full.episodes if e.arm == "retry3") > 0


def test_fixed_retries_do_not_help_where_a_switch_is_needed(full: Evaluation) -> None:
    assert rates(full, "retry3", Scenario.SWITCH_NEEDED)[0] == 0
    assert rates(full, "retry3", Scenario.RETRY_WORKS) > rates(full, "bare", Scenario.RETRY_WORKS)


@pytest.mark.parametrize("arm", ["btm:observe", "neutral"])
def test_who_only_watches_or_says_nothing_useful_changes_nothing(arm: str) -> None:
    evaluation = evaluate(replace(SMALL, arms=("bare", arm)))
    said_less = {key: replace(e, injected_chars=0) for key, e in by_task(evaluation, arm).items()}
    assert said_less == by_task(evaluation, "bare")


def test_advice_that_is_followed_helps() -> None:
    evaluation = evaluate(replace(SMALL, arms=("bare", "btm:advise", "btm:guard")))
    for arm in ("btm:advise", "btm:guard"):
        assert rates(evaluation, arm, Scenario.SWITCH_NEEDED) > rates(
            evaluation, "bare", Scenario.SWITCH_NEEDED
        )


def test_waiting_takes_simulated_time_only(full: Evaluation) -> None:
    waited = [e.elapsed_s for e in full.episodes if e.arm == "btm"]
    assert max(waited) > 10
    assert all(e.cost == e.calls for e in full.episodes)


def test_a_step_budget_ends_an_episode_undone() -> None:
    evaluation = evaluate(replace(SMALL, tasks=None, arms=("retry3",), profile="heterogeneous"))
    ended = [e for e in evaluation.episodes if e.exhausted]
    assert ended
    assert all(not e.solved and e.dropped for e in ended)


def test_the_ablation_arms_run_and_differ() -> None:
    arms = ("btm", "btm:rules-only", "btm:flat", "btm:shuffled")
    evaluation = evaluate(replace(SMALL, tasks=8, worlds=1, passes=1, arms=arms, profile="heterogeneous"))
    calls = {arm: sum(e.calls for e in evaluation.episodes if e.arm == arm) for arm in arms}
    assert len(set(calls.values())) > 1


def test_tasks_are_chosen_by_number_or_by_name() -> None:
    shop = load_environment("shop")
    assert [t.task_id for t in choose_tasks(shop, 2)] == ["shop-01", "shop-02"]
    assert [t.task_id for t in choose_tasks(shop, ("shop-09", "shop-03"))] == ["shop-03", "shop-09"]
    assert len(choose_tasks(shop, None)) == 42
    with pytest.raises(EvaluationError, match="did you mean 'shop-07'"):
        choose_tasks(shop, ("shop-007",))
    with pytest.raises(EvaluationError, match="at least 1"):
        choose_tasks(shop, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"domain": "shp"}, "did you mean 'shop'"),
        ({"arms": ("bear",)}, "did you mean 'bare'"),
        ({"arms": ()}, "no arm is named"),
        ({"profile": "heterogenous"}, "did you mean 'heterogeneous'"),
    ],
)
def test_a_wrong_name_gets_the_nearest_right_one(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(replace(SMALL, **wrong))  # type: ignore[arg-type]


class Chat:
    """An environment in which no tool decides anything."""

    @tool("read")
    def look(self) -> dict[str, str]:
        """Look out of the window."""
        return {"seen": "rain"}

    tasks: ClassVar = [GoldTask("Good morning.", gold=[("look", {})])]


def test_a_scenario_that_no_task_allows_is_an_error() -> None:
    domain = f"{__name__}:Chat"
    with pytest.raises(EvaluationError, match="impossible cannot be made"):
        evaluate(replace(SMALL, domain=domain, scenarios=(Scenario.IMPOSSIBLE,)))


def test_progress_is_told_of_every_episode() -> None:
    told: list[tuple[int, int]] = []
    evaluate(replace(SMALL, tasks=2, arms=("bare",)), progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 6) for n in range(1, 7)]
