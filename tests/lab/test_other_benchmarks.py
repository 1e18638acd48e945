"""tau2 airline and telecom, and BFCL's multi-turn tasks, as environments. Skipped where the package is absent."""

from __future__ import annotations

from collections import Counter

import pytest

from btm.errors import MissingExtraError
from btm.lab.decisive import dry_run
from btm.lab.environment import Environment, Task, double_writes, load_environment
from btm.lab.environment_check import check_environment
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import TROUBLED

FEW = 6


def domain(name: str) -> Environment:
    try:
        return load_environment(name)
    except MissingExtraError as missing:
        pytest.skip(f"not installed: {missing}")


def right(name: str, arm: str, tasks: int = FEW) -> bool:
    """Whether an arm solves what can be solved, and hands over what cannot, on the first tasks."""
    run = evaluate(Request(domain=name, arms=(arm,), scenarios=TROUBLED, tasks=tasks))
    return all(e.escalated if e.scenario == "impossible" else e.solved for e in run.episodes)


def test_a_domain_whose_package_is_absent_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "bfcl_eval", None)
    with pytest.raises(MissingExtraError, match="pip install --no-deps bfcl-eval mpmath"):
        load_environment("bfcl")


@pytest.mark.parametrize(("name", "kept"), [("tau2:airline", 42), ("tau2:telecom", 114), ("bfcl", 200)])
def test_every_kept_task_reaches_its_goal_and_not_without_its_last_change(name: str, kept: int) -> None:
    report = check_environment(domain(name))
    assert (report.gold, report.tasks, report.cut_short) == (kept, kept, 0)
    assert {flaw.check for flaw in report.flaws} <= {"scripted"}


def test_of_fifty_airline_tasks_seven_ask_for_nothing_and_one_for_what_nobody_said() -> None:
    reasons = Counter("doing nothing" in why for why in domain("tau2:airline").left_out.values())
    assert reasons == {True: 7, False: 1}


def test_the_airlines_goal_is_what_the_plain_gold_actions_leave_in_tau2s_own_environment() -> None:
    environment = domain("tau2:airline")
    from tau2.domains.airline.environment import get_environment

    from btm.lab.tau2.airline import AirlineHolder
    from btm.lab.tau2.source import source_tasks

    gold = {source.task_id: source.calls for source in source_tasks("airline")}
    for task in environment.tasks[::7]:
        theirs, ours = get_environment(), AirlineHolder()
        for tool, arguments in gold[task.task_id]:
            theirs.use_tool(tool, **arguments)
        for step in task.steps:
            ours.invoke(step.tool, step.arguments)
        here = ours._environment.tools.db
        assert dict(here.reservations.items()) == theirs.tools.db.reservations, task.task_id
        assert dict(here.users.items()) == theirs.tools.db.users, task.task_id
        assert dict(here.flights.items()) == theirs.tools.db.flights, task.task_id


def test_at_every_telecom_goal_all_that_tau2_asserts_holds() -> None:
    environment = domain("tau2:telecom")
    for task in environment.tasks[::5]:
        run, session = dry_run(environment, task)
        assert session.holder.asserted(), task.task_id  # type: ignore[attr-defined]
        assert double_writes(task, session.writes) == 0
        assert not run.escalated


def on_the_phone(environment: Environment, task: Task) -> list[str]:
    return [step.tool for step in task.steps if environment.tools[step.tool].by_user]


def test_no_fault_strikes_the_users_own_phone_and_nothing_is_done_there_before_the_customer_is_known() -> (
    None
):
    environment = domain("tau2:telecom")
    task = next(t for t in environment.tasks if on_the_phone(environment, t))
    run, session = dry_run(environment, task, blocked=("get_customer_by_phone",))
    assert session.writes == []
    assert run.stuck_at is not None
    from btm.fallback import FallbackMap
    from btm.lab.shapes import shapes_of

    shapes = shapes_of(environment, FallbackMap.load("telecom"))
    assert set(on_the_phone(environment, task)) <= shapes.exempt


@pytest.mark.parametrize("name", ["tau2:airline", "tau2:telecom", "bfcl"])
def test_act_mode_does_what_the_oracle_does(name: str) -> None:
    domain(name)
    if name == "tau2:airline":
        pytest.skip("no read of the airline has a second source: switch_needed cannot be made")
    assert right(name, "oracle")
    assert right(name, "btm")
