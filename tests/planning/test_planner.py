"""From an incident, beliefs and rules to a plan."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from core_kit import MAP, call
from hypothesis import assume, given
from hypothesis import strategies as st

from btm.fallback import Step
from btm.learning.posterior import BetaPosterior
from btm.model import Action, Attempt, Effect, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall
from btm.planning.plan import Options, RecoveryPlan, options_for
from btm.planning.planner import MAX_TRIES, Believe, Planner, Settings, best_beginning, each
from btm.planning.policy import Policies

FREE = Planner(Policies())
RULED = Planner(Policies.load())


def belief(mean: float, n: float = 1_000.0) -> BetaPosterior:
    return BetaPosterior(mean * n, (1 - mean) * n, n, mean * n)


def always(mean: float) -> Believe:
    return each(lambda _: belief(mean))


def chances(**by_target: float) -> Believe:
    """Chances by the target of a switch, or by the action."""
    return each(lambda key: belief(by_target.get(key.target or key.action, 0.001)))


def incident(kind: str = "timeout", tool: str = "get_order", **changes: Any) -> Incident:
    failed = changes.pop("call", None) or call(tool, order_id="o1")
    outcome = changes.pop("outcome", Outcome(ErrorKind(kind)))
    return Incident("i", "talk", failed, ErrorKind(kind), outcome, 0.0, **changes)


def tried(*actions: tuple[str, str, str | None]) -> tuple[Attempt, ...]:
    """Attempts as (action, target, failed as; None: it worked)."""
    return tuple(
        Attempt(
            "i",
            f"c{n}",
            EvidenceKey("get_order", ErrorKind.TIMEOUT, Action(action), target, 1),
            success=kind is None,
            at=0.0,
            failed_as=ErrorKind(kind) if kind else None,
        )
        for n, (action, target, kind) in enumerate(actions)
    )


def switch(tool: str, value: float = 1.0, cost: float = 1.0, *, irreversible: bool = False) -> Step:
    return Step(Action.SWITCH, tool, {}, coverage=value, cost=cost, irreversible=irreversible)


def tools(plan: RecoveryPlan) -> list[str]:
    return [step.tool for step in plan.steps]


def actions(plan: RecoveryPlan) -> list[Action]:
    return [step.action for step in plan.steps]


# -- order and worth -----------------------------------------------------------------------------------------------


def test_steps_are_ordered_by_chance_times_value_over_cost() -> None:
    options = Options(
        switches=(switch("dear", cost=4.0), switch("partial", value=0.5), switch("good"), switch("weak"))
    )
    plan = FREE.plan(incident(), options, chances(dear=0.9, partial=0.9, good=0.8, weak=0.3))
    assert tools(plan) == ["good", "partial", "weak", "dear"]


def test_equals_keep_the_order_of_the_map() -> None:
    options = Options(switches=(switch("b"), switch("a"), switch("c")))
    assert tools(FREE.plan(incident(), options, chances(a=0.5, b=0.5, c=0.5))) == ["b", "a", "c"]


@given(
    st.lists(st.tuples(st.floats(0.001, 0.999), st.floats(0.05, 1), st.floats(0.1, 50)), max_size=8),
    st.floats(1, 100),
)
def test_the_plan_is_what_is_worth_trying_in_the_best_order(
    candidates: list[tuple[float, float, float]], worth: float
) -> None:
    options = Options(switches=tuple(switch(f"t{n}", v, c) for n, (_, v, c) in enumerate(candidates)))
    planner = Planner(Policies(), Settings(value_of_success=worth))
    plan = planner.plan(
        incident(), options, chances(**{f"t{n}": p for n, (p, _, _) in enumerate(candidates)})
    )
    taken = [step for step in plan.steps if step.action is Action.SWITCH]
    scores = [step.chance * step.coverage / step.cost for step in taken]
    assert scores == sorted(scores, reverse=True)
    for step in taken:
        assert step.belief is not None
        assert step.belief.high * step.coverage * worth > step.cost
    for step in plan.rejected:
        assert step.chance * step.coverage * worth <= step.cost
    weighed = [step.tool for step in (*taken, *plan.rejected) if step.action is Action.SWITCH]
    assert sorted(weighed) == sorted(step.tool for step in options.switches), "nothing is lost or doubled"


def test_a_step_is_worth_trying_while_success_is_worth_more_than_it_costs() -> None:
    options = Options(switches=(switch("x", cost=4.9), switch("y", cost=5.3)))
    planner = Planner(Policies(), Settings(value_of_success=10.0))
    plan = planner.plan(incident(), options, each(lambda _: belief(0.5, 1e6)))
    assert "x" in tools(plan)
    assert "y" not in tools(plan)
    assert [step.tool for step in plan.rejected] == ["y"]


def test_what_is_hardly_known_gets_the_benefit_of_the_doubt() -> None:
    options = Options(switches=(switch("x", cost=8.0),))
    planner = Planner(Policies(), Settings(value_of_success=10.0))
    assert "x" in tools(planner.plan(incident(), options, each(lambda _: BetaPosterior(0.5, 0.5))))
    assert "x" not in tools(planner.plan(incident(), options, each(lambda _: belief(0.5))))


def test_knowing_when_to_stop_is_learned() -> None:
    def falling(key: EvidenceKey) -> BetaPosterior:
        return belief({1: 0.8, 2: 0.3, 3: 0.001}[key.ordinal])

    attempts = tried(("retry", "", "timeout"), ("retry", "", "timeout"))
    assert actions(FREE.plan(incident(), Options(), each(falling))) == [Action.RETRY]
    assert actions(FREE.plan(incident(attempts=attempts[:1]), Options(), each(falling))) == [Action.RETRY]
    assert actions(FREE.plan(incident(attempts=attempts), Options(), each(falling))) == [Action.ABANDON]


def test_beliefs_are_asked_for_by_the_next_ordinal() -> None:
    asked: list[EvidenceKey] = []

    def believe(key: EvidenceKey) -> BetaPosterior:
        asked.append(key)
        return belief(0.5)

    FREE.plan(
        incident(attempts=tried(("retry", "", "timeout"))), Options(switches=(switch("x"),)), each(believe)
    )
    # A repeat is weighed with those that could follow it.
    assert [(key.action, key.target, key.ordinal) for key in asked] == [
        *(("retry", "", 2), ("retry", "", 3)),
        ("switch", "x", 1),
    ]


# -- what is possible ----------------------------------------------------------------------------------------------


def test_arguments_are_revised_only_where_they_can_be_at_fault() -> None:
    assert Action.REVISE in actions(FREE.plan(incident("not_found"), Options(), always(0.5)))
    assert Action.REVISE not in actions(FREE.plan(incident("timeout"), Options(), always(0.5)))


def test_a_substitute_is_tried_again_only_after_errors_that_pass_and_not_for_ever() -> None:
    options = Options(switches=(switch("x"),))

    def offered(*kinds: str) -> bool:
        attempts = tried(*(("switch", "x", kind) for kind in kinds))
        return "x" in tools(FREE.plan(incident(attempts=attempts), options, always(0.5)))

    assert offered("timeout")
    assert not offered("not_found")
    assert not offered(*["timeout"] * MAX_TRIES)


def test_a_repair_is_tried_once() -> None:
    options = Options(repairs=(Step(Action.REPAIR, "log_in"),))
    assert Action.REPAIR in actions(FREE.plan(incident("auth_error"), options, always(0.5)))
    again = incident("auth_error", attempts=tried(("repair", "log_in", "auth_error")))
    assert Action.REPAIR not in actions(FREE.plan(again, options, always(0.5)))


def test_a_look_that_could_not_tell_is_not_repeated_until_something_was_done() -> None:
    verify = Step(Action.VERIFY, "get_order", {})
    failed = incident("timeout", "cancel", outcome=Outcome(ErrorKind.TIMEOUT, ambiguous=True))
    looked = replace(failed, attempts=tried(("verify", "get_order", None)))
    assert Action.VERIFY in actions(FREE.plan(failed, Options(verify=verify), always(0.9)))
    assert Action.VERIFY not in actions(FREE.plan(looked, Options(verify=verify), always(0.9)))


# -- policies ------------------------------------------------------------------------------------------------------


def test_a_required_look_comes_first_and_what_is_forbidden_is_left_out() -> None:
    failed = incident("timeout", "cancel", outcome=Outcome(ErrorKind.TIMEOUT, ambiguous=True))
    options = options_for(failed, MAP, {})
    plan = RULED.plan(failed, options, each(lambda key: belief(0.3 if key.action is Action.VERIFY else 0.99)))
    assert plan.first is not None
    assert plan.first.action is Action.VERIFY
    assert not {Action.RETRY, Action.SWITCH} & set(actions(plan))
    assert {step.action for step in plan.rejected} >= {Action.RETRY, Action.SWITCH}


def test_escalating_stands_alone_and_only_when_nothing_is_worth_trying() -> None:
    options = Options(switches=(switch("x"),), escalation_tool="human")
    assert Action.ESCALATE not in actions(FREE.plan(incident(), options, always(0.5)))
    plan = FREE.plan(incident(), options, always(0.0001))
    assert actions(plan) == [Action.ESCALATE]
    assert tools(plan) == ["human"]
    assert plan.exhausted


def test_where_nobody_can_be_asked_the_last_resort_is_to_give_up() -> None:
    plan = FREE.plan(incident(), Options(), always(0.0001))
    assert actions(plan) == [Action.ABANDON]
    assert plan.exhausted


def test_a_forbidden_step_does_not_keep_a_plan_from_being_exhausted() -> None:
    plan = RULED.plan(incident("unknown_tool"), Options(escalation_tool="human"), always(0.9))
    assert actions(plan) == [Action.ESCALATE]


# -- waiting -------------------------------------------------------------------------------------------------------


def wait_of(plan: RecoveryPlan) -> float:
    (step,) = [s for s in (*plan.steps, *plan.rejected) if s.action is Action.RETRY]
    return step.wait_s


@pytest.mark.parametrize(("retries", "wait"), [(0, 1.0), (1, 2.0), (2, 4.0), (9, 4.0)])
def test_waits_double_with_every_retry(retries: int, wait: float) -> None:
    attempts = tried(*[("retry", "", "timeout")] * retries)
    assert wait_of(FREE.plan(incident(attempts=attempts), Options(), always(0.5))) == wait


def test_waits_have_a_longest() -> None:
    planner = Planner(Policies(), Settings(first_wait_s=50.0))
    assert wait_of(planner.plan(incident(), Options(), always(0.5))) == 30.0


@pytest.mark.parametrize("asked", [0.0, 2.5, 3_600.0])
def test_a_tools_own_retry_after_goes_first(asked: float) -> None:
    failed = incident("rate_limit", outcome=Outcome(ErrorKind.RATE_LIMIT, retry_after_s=asked))
    assert wait_of(FREE.plan(failed, Options(), always(0.5))) == asked


def test_waiting_costs() -> None:
    def retried(seconds: float) -> bool:
        failed = incident("rate_limit", outcome=Outcome(ErrorKind.RATE_LIMIT, retry_after_s=seconds))
        return Action.RETRY in actions(FREE.plan(failed, Options(), always(0.5)))

    assert retried(10.0)
    assert not retried(100_000.0)
    assert not retried(float("inf"))
    assert not retried(float("nan"))


def test_a_retry_after_in_the_past_is_no_wait() -> None:
    failed = incident("rate_limit", outcome=Outcome(ErrorKind.RATE_LIMIT, retry_after_s=-5.0))
    assert wait_of(FREE.plan(failed, Options(), always(0.5))) == 0.0


# -- exploring -----------------------------------------------------------------------------------------------------


def test_without_exploring_a_chance_is_the_mean() -> None:
    plan = FREE.plan(incident(), Options(switches=(switch("x"),)), each(lambda _: BetaPosterior(2, 3)))
    assert {step.chance for step in plan.steps} == {0.4}


def test_exploring_draws_from_the_belief_with_the_given_generator() -> None:
    def drawn(seed: int) -> list[float]:
        planner = Planner(Policies(), explore=random.Random(seed))
        plan = planner.plan(
            incident(), Options(switches=(switch("x"), switch("y"))), each(lambda _: BetaPosterior(2, 3))
        )
        return [step.chance for step in (*plan.steps, *plan.rejected)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 0.4 not in drawn(1)


def test_irreversible_writes_are_never_explored() -> None:
    planner = Planner(Policies(), explore=random.Random(1))
    options = Options(switches=(switch("x"),), irreversible=True)
    plan = planner.plan(incident("timeout", "cancel"), options, each(lambda _: BetaPosterior(2, 3)))
    assert {step.chance for step in plan.steps} == {0.4}


def test_an_irreversible_substitute_of_a_harmless_write_is_not_explored_either() -> None:
    planner = Planner(Policies(), explore=random.Random(1))
    options = Options(switches=(switch("x", irreversible=True), switch("y")))
    plan = planner.plan(incident(), options, each(lambda _: BetaPosterior(2, 3)))
    chance = {step.tool: step.chance for step in (*plan.steps, *plan.rejected)}
    assert chance["x"] == 0.4
    assert chance["y"] != 0.4


# -- purity --------------------------------------------------------------------------------------------------------


@given(st.sampled_from(ErrorKind), st.floats(0.01, 0.99), st.booleans(), st.integers(0, 4))
def test_the_same_situation_gives_the_same_plan(
    kind: ErrorKind, mean: float, ambiguous: bool, retries: int
) -> None:
    failed = incident(
        kind,
        "cancel",
        outcome=Outcome(kind, ambiguous=ambiguous),
        attempts=tried(*[("retry", "", "timeout")] * retries),
    )
    options = options_for(failed, MAP, {"user_id": "u1"})
    plan = RULED.plan(failed, options, always(mean))
    assert plan == RULED.plan(failed, options, always(mean))
    assert plan.first is not None
    if ambiguous:
        assert Action.RETRY not in actions(plan)


def test_arguments_that_cannot_be_compared_do_not_break_a_plan() -> None:
    class Array:
        def __eq__(self, other: object) -> bool:
            raise ValueError("the truth value of an array is ambiguous")

        __hash__ = None  # type: ignore[assignment]

    failed = incident(call=ToolCall("get_order", {"rows": Array()}, Effect.READ, "talk", "c1"))
    plan = FREE.plan(failed, Options(switches=(switch("x"),)), chances(x=0.5, retry=0.0001))
    assert tools(plan) == ["x"]
    assert [step.action for step in plan.rejected] == [Action.RETRY]


@given(st.floats(0.02, 0.98))
def test_a_better_belief_in_a_step_never_moves_it_back(mean: float) -> None:
    assume(mean < 0.97)
    options = Options(switches=(switch("a"), switch("x"), switch("b")))
    planner = Planner(Policies(), Settings(value_of_success=1e6))

    def place(p: float) -> int:
        return tools(planner.plan(incident(), options, chances(a=0.3, b=0.6, x=p))).index("x")

    assert place(mean + 0.01) <= place(mean)


# -- repeats hang together -----------------------------------------------------------------------------------------


def by_try(retry: tuple[float, ...], **switches: float) -> Believe:
    def believe(key: EvidenceKey) -> BetaPosterior:
        sure = retry[key.ordinal - 1] if key.action is Action.RETRY else switches[key.target]
        return belief(sure, 1e6)

    return each(believe)


def test_a_tool_that_heals_at_the_second_repeat_is_not_given_up_at_the_first() -> None:
    options = Options(switches=(switch("x", cost=2.0),))
    slow, stubborn = by_try((0.05, 0.9, 0.9), x=0.5), by_try((0.05, 0.05, 0.05), x=0.5)
    assert FREE.plan(incident(), options, slow).first.action is Action.RETRY  # type: ignore[union-attr]
    assert FREE.plan(incident(), options, stubborn).first.action is Action.SWITCH  # type: ignore[union-attr]


def test_a_first_repeat_that_is_not_worth_its_cost_is_made_for_the_sake_of_the_second() -> None:
    once = Planner(Policies(), Settings(value_of_success=3.0))
    (step, *_) = once.plan(incident(), Options(), by_try((0.01, 0.95, 0.95))).steps
    assert step.action is Action.RETRY
    assert step.chance < 0.02


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.1, 5.0)), min_size=1, max_size=5))
def test_the_best_beginning_is_the_best_of_all_beginnings(tries: list[tuple[float, float]]) -> None:
    def bought(number: int) -> float:
        failed, works, cost = 1.0, 0.0, 0.0
        for chance, price in tries[:number]:
            works, cost, failed = works + failed * chance, cost + failed * price, failed * (1 - chance)
        return works / cost

    assert best_beginning(tries) == pytest.approx(max(bought(n) for n in range(1, len(tries) + 1)))


def test_a_tool_that_is_down_for_everyone_is_not_called_again_after_a_repair_either() -> None:
    repair = Step(Action.REPAIR, "log_in", {})
    for down in (False, True):
        plan = FREE.plan(incident("auth_error"), Options(repairs=(repair,), down=down), always(0.9))
        assert ("log_in" in tools(plan)) is not down


@pytest.mark.parametrize(("kind", "silent", "offered"), [
    ("partial_data", True, False), ("schema_drift", True, False), ("stale_data", True, True), ("timeout", False, True),
])  # fmt: skip
def test_half_an_answer_is_not_exchanged_for_another_half(kind: str, silent: bool, offered: bool) -> None:
    offers = Options(switches=(switch("track_shipment", 0.5), switch("list_orders")))
    failed = incident(kind, outcome=Outcome(ErrorKind(kind), silent=silent))
    assert ("track_shipment" in tools(FREE.plan(failed, offers, always(0.9)))) is offered
    assert "list_orders" in tools(FREE.plan(failed, offers, always(0.9)))


@pytest.mark.parametrize(("gives", "lacks", "offered"), [
    (("status",), (), True), (("total",), (), False), ((), (), True), ((), ("status",), False),
])  # fmt: skip
def test_a_half_that_has_just_what_is_missing_is_offered(gives: Any, lacks: Any, offered: bool) -> None:
    missing = Outcome(
        ErrorKind.PARTIAL_DATA, silent=True, reason="the required field status is missing", missing="status"
    )
    other = replace(switch("half", value=0.8), gives=gives, lacks=lacks)
    plan = FREE.plan(incident("partial_data", outcome=missing), Options(switches=(other,)), always(0.9))
    assert ("half" in tools(plan)) is offered
