from __future__ import annotations

import pytest

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.chat.tasks import FAMILIES, HAND_OVER, ChatTask, demonstrations, draw_tasks
from btm.lab.chat.trouble import SCENARIOS, trouble_for
from btm.lab.faults.injector import Injector
from btm.lab.scenarios import Scenario
from btm.lab.shop.tools import TOOLS, ShopSession
from btm.model import Effect

SHOP = FallbackMap.load("shop")
TASKS = draw_tasks(3, 60)


def played(task: ChatTask, scenario: Scenario, *, repeat: bool = False) -> str:
    """The shop after the gold calls under a scenario's faults; a failed call is made once more if asked."""
    session = ShopSession()
    call = Injector(session.call, trouble_for(scenario, task, 3, SHOP))
    for gold in task.gold:
        for _ in range(1 + repeat):
            try:
                call(gold.tool, gold.arguments)
                break
            except Exception as error:  # noqa: BLE001 - the fault
                last = error
        else:
            return f"failed: {last}"
    return session.digest()


def test_the_same_seed_draws_the_same_tasks_and_a_longer_draw_begins_with_a_shorter_one() -> None:
    assert draw_tasks(3, 10) == TASKS[:10]
    assert draw_tasks(4, 10) != TASKS[:10]


def test_tasks_are_all_different_and_the_families_take_turns() -> None:
    assert len({task.request for task in TASKS}) == len(TASKS)
    assert [task.family for task in TASKS[:5]] == list(FAMILIES)


def test_more_tasks_than_there_are_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="different tasks, fewer than 10000"):
        draw_tasks(0, 10_000)


def test_no_wording_is_left_unfilled_and_every_task_has_five_tools_with_a_way_to_a_human() -> None:
    for task in TASKS:
        assert "{" not in task.request + task.closing
        assert len(task.tools) == 5
        assert HAND_OVER in task.tools
        assert {gold.tool for gold in task.gold} <= set(task.tools) <= set(TOOLS)
        assert 1 <= len(task.gold) <= 2


def test_demonstrations_are_played_on_records_that_no_task_uses() -> None:
    drawn = " ".join(task.task_id for task in draw_tasks(0, 140))
    for tools in {task.tools for task in TASKS}:
        shown = demonstrations(tools)
        assert len(shown) == 2
        for task in shown:
            assert all(word not in drawn for word in task.task_id.split("-")[1:-2])
            assert task.played()


def test_gold_calls_go_through_where_nothing_fails_and_where_a_repeat_helps() -> None:
    for task in TASKS:
        goal, _ = task.played()
        assert played(task, Scenario.CLEAN) == goal
        assert played(task, Scenario.RETRY_WORKS).startswith("failed")
        assert played(task, Scenario.RETRY_WORKS, repeat=True) == goal


@pytest.mark.parametrize("scenario", [Scenario.SWITCH_NEEDED, Scenario.IMPOSSIBLE])
def test_a_lasting_fault_is_one_that_no_repeat_heals(scenario: Scenario) -> None:
    assert all(played(task, scenario, repeat=True).startswith("failed") for task in TASKS)


def test_where_another_tool_has_to_stand_in_there_is_one_that_the_agent_has_and_that_works() -> None:
    for task in TASKS:
        trouble = trouble_for(Scenario.SWITCH_NEEDED, task, 3, SHOP)
        assert trouble.tools == {task.target}
        assert SHOP.substitutes(task.target) & set(task.tools)


def test_where_nothing_can_work_every_substitute_fails_as_well_but_the_way_to_a_human_does_not() -> None:
    for task in TASKS:
        trouble = trouble_for(Scenario.IMPOSSIBLE, task, 3, SHOP)
        assert SHOP.substitutes(task.target) & set(task.tools) <= trouble.tools
        assert HAND_OVER not in trouble.tools


def test_a_fault_of_a_write_leaves_no_doubt_whether_it_happened() -> None:
    for task in TASKS:
        for scenario in SCENARIOS[1:]:
            trouble = trouble_for(scenario, task, 3, SHOP)
            writes = [tool for tool in trouble.tools if SHOP.effect(tool) is Effect.WRITE]
            if writes and trouble.kind is not None:
                assert trouble.kind.value in ("rate_limit", "auth_error")
