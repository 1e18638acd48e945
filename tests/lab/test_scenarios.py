"""The promises of the scenarios, over seeds: what an oracle can solve, and what nobody can."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btm.fallback import FallbackMap
from btm.lab.environment import Environment, load_environment
from btm.lab.faults import FAULT_KINDS, RAISED, REPEAT_HEALS, FaultSettings
from btm.lab.metrics import Episode
from btm.lab.runner import Evaluation, Request, evaluate
from btm.lab.scenarios import TROUBLED, Scenario, Stage
from btm.model import Effect, ErrorKind

SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def shop() -> Environment:
    return load_environment("shop")


def stage(shop: Environment, seed: int = 0, **more: object) -> Stage:
    return Stage(shop, FallbackMap.load("shop"), FaultSettings(seed=seed, **more))  # type: ignore[arg-type]


def run(seed: int, *scenarios: Scenario, arms: tuple[str, ...] = ("oracle",), **more: object) -> Evaluation:
    faults = FaultSettings(seed=seed, **more)  # type: ignore[arg-type]
    return evaluate(Request(scenarios=scenarios or TROUBLED, arms=arms, faults=faults))


def solved(evaluation: Evaluation, scenario: Scenario) -> list[Episode]:
    return [e for e in evaluation.episodes if e.scenario == scenario and e.solved]


@given(SEEDS)
@settings(max_examples=12)
def test_an_oracle_solves_all_that_can_be_solved_and_nothing_else(seed: int) -> None:
    evaluation = run(seed)
    for scenario in (Scenario.RETRY_WORKS, Scenario.SWITCH_NEEDED):
        assert len(solved(evaluation, scenario)) == 42 - evaluation.left_out[scenario]
    assert solved(evaluation, Scenario.IMPOSSIBLE) == []
    assert sum(e.double_writes for e in evaluation.episodes) == 0


@given(SEEDS, st.integers(1, 4), st.sampled_from([0.0, 0.4, 1.0]))
@settings(max_examples=8)
def test_the_promise_holds_for_other_rates_and_longer_runs_of_faults(
    seed: int, most: int, rate: float
) -> None:
    evaluation = run(seed, Scenario.RETRY_WORKS, rate=rate, max_consecutive=most)
    assert len(solved(evaluation, Scenario.RETRY_WORKS)) == 42
    assert max(e.identical_repeats for e in evaluation.episodes) <= 40


@pytest.mark.parametrize("kind", [ErrorKind.AUTH_ERROR, ErrorKind.STALE_DATA, ErrorKind.PARTIAL_DATA])
def test_other_kinds_pass_too_where_they_are_asked_for(kind: ErrorKind) -> None:
    evaluation = run(3, Scenario.RETRY_WORKS, weights={kind: 1.0}, max_consecutive=1)
    assert evaluation.episodes
    assert all(e.solved and kind in e.kinds for e in evaluation.episodes)


@pytest.mark.parametrize("kind", [ErrorKind.PARTIAL_DATA, ErrorKind.SCHEMA_DRIFT, ErrorKind.STALE_DATA])
def test_where_every_way_answers_wrongly_nothing_is_solved_by_who_knows_and_a_human_is_told(
    kind: ErrorKind,
) -> None:
    evaluation = run(2, Scenario.IMPOSSIBLE, arms=("bare", "oracle", "btm"), weights={kind: 1.0})
    by_arm = {arm: [e for e in evaluation.episodes if e.arm == arm] for arm in ("bare", "oracle", "btm")}
    assert all(e.kinds == {kind} and not e.solved for mine in by_arm.values() for e in mine)
    assert all(e.escalated for e in by_arm["oracle"])
    assert not any(e.escalated for e in by_arm["bare"])
    assert sum(e.escalated for e in by_arm["btm"]) > 0.8 * len(by_arm["btm"])


@given(SEEDS)
@settings(max_examples=8)
def test_the_bare_agent_fails_where_its_tool_is_blocked(seed: int) -> None:
    evaluation = run(seed, Scenario.SWITCH_NEEDED, Scenario.IMPOSSIBLE, arms=("bare",))
    assert [e for e in evaluation.episodes if e.solved] == []


@pytest.mark.parametrize("seed", [2, 7])
def test_an_oracle_comes_to_an_end_where_nothing_is_promised(seed: int) -> None:
    request = Request(arms=("oracle", "bare"), faults=FaultSettings(seed=seed), profile="heterogeneous")
    episodes = evaluate(request).episodes
    solved = {arm: sum(e.solved for e in episodes if e.arm == arm) for arm in ("oracle", "bare")}
    assert solved["bare"] < solved["oracle"] < len(episodes) / 2


def test_the_agent_solves_every_task_when_nothing_fails() -> None:
    evaluation = run(0, Scenario.CLEAN, arms=("bare",))
    assert len(solved(evaluation, Scenario.CLEAN)) == 42
    assert all(e.kinds == frozenset() for e in evaluation.episodes)


def test_every_kind_of_fault_is_met_where_it_may_be(shop: Environment) -> None:
    met: dict[Scenario, set[ErrorKind]] = {scenario: set() for scenario in TROUBLED}
    for seed in range(6):
        here = stage(shop, seed)
        for task in shop.tasks:
            for scenario in TROUBLED:
                setup = here.set_up(scenario, task)
                assert setup is not None
                assert setup.kinds
                met[scenario] |= setup.kinds
    assert met[Scenario.RETRY_WORKS] == set(REPEAT_HEALS)
    assert met[Scenario.SWITCH_NEEDED] == set(FAULT_KINDS)
    assert met[Scenario.IMPOSSIBLE] == set(RAISED)


def test_only_the_asked_kinds_are_injected(shop: Environment) -> None:
    here = stage(shop, weights={ErrorKind.STALE_DATA: 1.0})
    made = [here.set_up(Scenario.SWITCH_NEEDED, task) for task in shop.tasks]
    assert {kind for setup in made if setup for kind in setup.kinds} == {ErrorKind.STALE_DATA}
    healed = [
        here.set_up(Scenario.RETRY_WORKS, task) for task in shop.tasks
    ]  # by a repeat, since it was asked for
    assert {kind for setup in healed if setup for kind in setup.kinds} == {ErrorKind.STALE_DATA}


def test_a_blocked_write_can_be_checked_or_says_that_it_did_not_happen(shop: Environment) -> None:
    doubtful = {ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR, ErrorKind.MALFORMED}
    for seed in range(8):
        here = stage(shop, seed)
        for task in shop.tasks:
            setup = here.set_up(Scenario.SWITCH_NEEDED, task)
            assert setup is not None
            for number, step in enumerate(task.steps):
                if step.tool in setup.blocked and step.effect is Effect.WRITE and setup.kinds & doubtful:
                    assert number in here.replay(task).checkable


def test_substitutes_stay_whole(shop: Environment) -> None:
    here = stage(shop, 3)
    for task in shop.tasks:
        setup = here.set_up(Scenario.SWITCH_NEEDED, task)
        assert setup is not None
        assert len(setup.blocked) == 1


def test_mixed_draws_each_task_into_one_of_the_three(shop: Environment) -> None:
    here = stage(shop, 5)
    drawn = [setup.drawn for task in shop.tasks if (setup := here.set_up(Scenario.MIXED, task))]
    assert set(drawn) == set(TROUBLED)
    assert len(drawn) == 42
