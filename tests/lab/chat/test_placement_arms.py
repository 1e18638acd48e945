from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from fake_openai import FakeServer, working

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.chat.agents import MAX_TURNS, SYSTEM_PROMPT, connect
from btm.lab.chat.arms import ARMS, check_arms
from btm.lab.chat.episode import ChatEpisode, play
from btm.lab.chat.request import Server
from btm.lab.chat.tasks import ChatTask, draw_tasks
from btm.lab.chat.trouble import trouble_for
from btm.lab.scenarios import Scenario

SHOP = FallbackMap.load("shop")
TASKS = draw_tasks(11, 10)
BTM = ("user_reminder", "tool_result", "system")
ROLES = {"user_reminder": "user", "tool_result": "tool", "system": "system"}
SWITCH, RETRY, IMPOSSIBLE = Scenario.SWITCH_NEEDED, Scenario.RETRY_WORKS, Scenario.IMPOSSIBLE


def played(
    server: FakeServer, arm: str, scenario: Scenario, task: ChatTask, *, shown: bool = False
) -> ChatEpisode:
    model = connect(Server(server.url, "fake", timeout_s=10.0))
    return play(arm, scenario, task, trouble_for(scenario, task, 11, SHOP), model, SHOP, shown=shown)


def after_the_error(server: FakeServer) -> list[dict[str, Any]]:
    """The messages of the first request that has a failed result in it."""
    for body in server.requests:
        if any(m["role"] == "tool" and not m["content"].startswith("{") for m in body["messages"]):
            return list(body["messages"])
    raise AssertionError("nothing failed")


def request_after_an_error(arm: str) -> list[dict[str, Any]]:
    with FakeServer(partial(working, follows=None)).running() as server:
        played(server, arm, SWITCH, TASKS[0])
        return after_the_error(server)


def test_without_btm_nothing_follows_the_error_and_the_system_message_is_the_agents_own() -> None:
    messages = request_after_an_error("none")
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool"]
    assert messages[0]["content"] == SYSTEM_PROMPT
    assert "<recovery" not in str(messages)


def test_the_control_says_the_request_again_as_a_last_user_message_and_advises_nothing() -> None:
    messages = request_after_an_error("neutral")
    assert messages[:-1] == request_after_an_error("none")
    assert messages[-1] == {
        "role": "user",
        "content": f"The call failed. Continue with: {TASKS[0].request}",
    }


def test_the_stronger_control_closes_as_btms_context_does_and_advises_nothing() -> None:
    messages = request_after_an_error("neutral_call")
    assert messages[:-1] == request_after_an_error("none")
    assert messages[-1]["role"] == "user"
    assert f"The request is still: {TASKS[0].request}\n\nMake the" in messages[-1]["content"]
    assert "next:" not in messages[-1]["content"]


def test_the_reminder_stands_last_in_the_users_role_and_ends_with_what_to_do_for_the_request() -> None:
    messages = request_after_an_error("user_reminder")
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "user"]
    assert messages[-1]["content"].startswith("<recovery")
    assert messages[-1]["content"].endswith(
        f'The request is still: {TASKS[0].request}\n\nMake the call that stands after "next:" above now.'
    )
    assert "<recovery tool=" not in str(messages[:-1])


def test_the_context_in_the_result_stands_behind_the_error_text() -> None:
    messages = request_after_an_error("tool_result")
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool"]
    error = request_after_an_error("none")[-1]["content"]
    reminder = request_after_an_error("user_reminder")[-1]["content"]
    assert messages[-1]["content"] == f"{error}\n\n{reminder}"  # the same words in another place


def test_the_context_in_the_system_message_stands_at_its_end() -> None:
    messages = request_after_an_error("system")
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool"]
    assert messages[0]["content"].startswith(SYSTEM_PROMPT)
    reminder = request_after_an_error("user_reminder")[-1]["content"]
    assert messages[0]["content"].endswith(f"id is forged.\n\n{reminder}")
    assert "<recovery tool=" not in str(messages[1:])


@pytest.mark.parametrize("arm", BTM)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)
def test_a_model_that_follows_the_context_where_it_stands_solves_what_can_be_solved(
    arm: str, task: ChatTask
) -> None:
    with FakeServer(partial(working, follows=ROLES[arm])).running() as server:
        for scenario in (Scenario.CLEAN, RETRY, SWITCH):
            episode = played(server, arm, scenario, task)
            assert episode.good, (scenario, episode)
            assert episode.problem == ""


@pytest.mark.parametrize("arm", BTM)
def test_a_model_that_reads_another_place_does_not_get_the_advice(arm: str) -> None:
    elsewhere = next(role for role in ROLES.values() if role != ROLES[arm])
    with FakeServer(partial(working, follows=elsewhere)).running() as server:
        assert not played(server, arm, SWITCH, TASKS[0]).good


def test_repeating_the_request_is_enough_where_a_repeat_helps_and_not_where_a_switch_is_needed() -> None:
    with FakeServer(partial(working, follows=None)).running() as server:
        assert played(server, "neutral", RETRY, TASKS[0]).good
        assert not played(server, "none", RETRY, TASKS[0]).good
        assert not played(server, "neutral", SWITCH, TASKS[0]).good


def test_where_nothing_can_work_the_context_leads_to_a_human() -> None:
    with FakeServer(working).running() as server:
        episode = played(server, "user_reminder", IMPOSSIBLE, TASKS[0])
    assert episode.good
    assert episode.handed_over
    assert not episode.claimed


def test_a_claim_where_nothing_can_work_is_wrong() -> None:
    with FakeServer(lambda _: "Your order has been cancelled.").running() as server:
        episode = played(server, "none", IMPOSSIBLE, TASKS[2])
    assert episode.claimed
    assert not episode.good


def test_demonstrations_come_first_and_nothing_fails_in_them() -> None:
    with FakeServer(partial(working, follows=None)).running() as server:
        played(server, "none", SWITCH, TASKS[0], shown=True)
    first = server.requests[0]["messages"]
    assert sum(m["role"] == "user" for m in first) == 3
    assert first[-1]["content"] == TASKS[0].request
    assert all(m["content"].startswith("{") for m in first if m["role"] == "tool")


def test_the_model_is_asked_for_the_most_likely_answer_of_bounded_length_with_the_tasks_tools() -> None:
    with FakeServer(working).running() as server:
        played(server, "none", Scenario.CLEAN, TASKS[0])
    body = server.requests[0]
    assert body["temperature"] == 0
    assert body["max_completion_tokens"] == 512
    assert tuple(tool["function"]["name"] for tool in body["tools"]) == TASKS[0].tools


NONSENSE: dict[str, Any] = {
    "words": "blah",
    "nothing": "",
    "an unknown tool": ("fly_to_moon", {}),
    "wrong arguments": ("track_shipment", {"planet": 3}),
    "arguments that are no JSON": ("track_shipment", '{"order_id": '),
    "arguments that are a list": ("track_shipment", "[1, 2]"),
    "no choices": {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": []},
    "no document": {},
    "a refusal": 400,
    "a broken server": 500,
}


@pytest.mark.parametrize("said", NONSENSE.values(), ids=NONSENSE.keys())
@pytest.mark.parametrize("arm", ["none", "user_reminder"])
def test_nonsense_is_an_unsolved_task_and_no_crash(arm: str, said: Any) -> None:
    with FakeServer(lambda _: said).running() as server:
        episode = played(server, arm, SWITCH, TASKS[0])
    assert not episode.good
    assert episode.turns <= MAX_TURNS


def test_a_model_that_never_ends_is_stopped() -> None:
    calls = iter(range(100))

    def forever(_: Mapping[str, Any]) -> Any:
        return "track_shipment", {"order_id": f"S{next(calls)}"}

    with FakeServer(forever).running() as server:
        episode = played(server, "none", SWITCH, TASKS[0])
    assert episode.turns == MAX_TURNS
    assert "not done after" in episode.problem


def test_an_answer_that_takes_too_long_is_an_unsolved_task(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    def slow(_: Mapping[str, Any]) -> str:
        time.sleep(0.5)
        return "late"

    with FakeServer(slow).running() as server:
        model = connect(Server(server.url, "fake", timeout_s=0.05))
        episode = play("none", SWITCH, TASKS[0], trouble_for(SWITCH, TASKS[0], 11, SHOP), model, SHOP)
    assert "Timeout" in episode.problem
    assert not episode.good


@pytest.mark.parametrize("status", [401, 403, 404])
def test_no_right_or_no_such_model_ends_the_measurement(status: int) -> None:
    with (
        FakeServer(lambda _: status).running() as server,
        pytest.raises(EvaluationError, match="cannot be asked"),
    ):
        played(server, "none", SWITCH, TASKS[0])


def test_arms_stand_in_one_order_and_an_unknown_one_is_told_with_the_nearest() -> None:
    assert check_arms(("system", "none", "none")) == ("none", "system")
    assert check_arms(tuple(ARMS)) == tuple(ARMS)
    with pytest.raises(EvaluationError, match="did you mean 'user_reminder'"):
        check_arms(("user_remainder",))
    with pytest.raises(EvaluationError, match="no arm is named"):
        check_arms(())
