"""A memory tells what it does; hooks never break the agent."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from core_kit import MAP, Clock, Tools, call, memory_of

from btm import (
    ActionTaken,
    ContextGiven,
    IncidentClosed,
    IncidentOpened,
    IncidentState,
    MemoryEvent,
    ToolMemory,
)

SLOW = TimeoutError("timed out")


def told(**options: Any) -> tuple[ToolMemory, list[MemoryEvent]]:
    """A memory and everything that it tells."""
    events: list[MemoryEvent] = []
    return memory_of(hooks=[events.append], **options), events


def names(events: list[MemoryEvent]) -> list[str]:
    return [f"{e.name}:{e.action}" if isinstance(e, ActionTaken) else e.name for e in events]


def test_advise_mode_tells_of_an_incident_its_context_and_its_end() -> None:
    memory, events = told()
    with memory:
        tools = Tools(get_order=[SLOW, {"order_id": "o1"}])
        memory.call(call("get_order", call_id="c1", order_id="o1"), tools)
        memory.call(call("get_order", call_id="c2", order_id="o1"), tools)
    assert names(events) == ["incident_opened", "context_given", "incident_closed"]
    opened, given, closed = events
    assert isinstance(opened, IncidentOpened)
    assert opened.incident.tool == "get_order"
    assert isinstance(given, ContextGiven)
    assert given.text.startswith("<recovery")
    assert given.tokens > 0
    assert isinstance(closed, IncidentClosed)
    assert closed.incident.state is IncidentState.RESOLVED


def test_act_mode_tells_of_each_wait_and_each_retry_before_it_goes_on() -> None:
    memory, events = told(mode="act")
    with memory:
        memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW, SLOW, {"order_id": "o1"}]))
    assert names(events) == [
        "incident_opened", "action_taken:wait", "action_taken:retry", "action_taken:wait", "action_taken:retry",
        "incident_closed",
    ]  # fmt: skip
    waits = [e for e in events if isinstance(e, ActionTaken) and e.action == "wait"]
    assert all(wait.waited_s > 0 and wait.outcome is None for wait in waits)


def test_a_repair_a_verify_and_a_switch_are_told_by_their_names() -> None:
    memory, events = told(mode="act")
    denied = PermissionError("401 Unauthorized")
    with memory:
        memory.call(
            call("get_order", order_id="o1"), Tools(get_order=[denied, {"order_id": "o1"}], log_in=["ok"])
        )
        memory.call(
            call("cancel", order_id="o2"),
            Tools(cancel=[SLOW], get_order=[{"order_id": "o2", "status": "cancelled"}]),
        )
        find = Tools(find_user=[{"user_id": "u1"}])
        memory.call(call("find_user", email="a@example.com"), find)
        gone = Tools(
            get_order=[PermissionError("403 Forbidden")], list_orders=[[{"order_id": "o3"}]], log_in=[denied]
        )
        memory.call(call("get_order", order_id="o3"), gone)
    taken = [e.action for e in events if isinstance(e, ActionTaken)]
    assert {"repair", "retry", "verify", "switch"} <= set(taken)


def test_what_is_left_open_closes_as_abandoned_when_its_conversation_ends() -> None:
    memory, events = told()
    with memory:
        memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW]))
        memory.end("talk")
        assert names(events)[-1] == "incident_closed"
        assert isinstance(events[-1], IncidentClosed)
        assert events[-1].incident.state is IncidentState.ABANDONED


def test_a_call_that_was_watched_is_told_of_too() -> None:
    memory, events = told()
    with memory:
        ticket = memory.begin(call("get_order", order_id="o1"))
        assert ticket is not None
        memory.finish(ticket, error=SLOW)
        assert names(events) == ["incident_opened"]


@pytest.mark.parametrize("event", ["incident_opened", IncidentOpened])
def test_on_takes_one_sort_of_event_and_can_be_ended(event: Any) -> None:
    seen: list[Any] = []
    with memory_of() as memory:
        off = memory.on(event, seen.append)
        memory.call(call("get_order", call_id="c1", order_id="o1"), Tools(get_order=[SLOW]))
        off()
        memory.call(call("list_orders", call_id="c2", user_id="u"), Tools(list_orders=[SLOW]))
    assert names(seen) == ["incident_opened"]


def test_an_unknown_event_lists_what_there_is() -> None:
    with memory_of() as memory:
        with pytest.raises(ValueError, match=r"incident_opened, action_taken.*did you mean 'action_taken'"):
            memory.on("action_takn", print)
        with pytest.raises(TypeError, match="not int"):
            memory.on(3, print)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="callback is a function"):
            memory.on("action_taken", "print")  # type: ignore[call-overload]


def test_hooks_that_are_no_functions_fail_at_open() -> None:
    with pytest.raises(TypeError, match="hooks"):
        ToolMemory.open(hooks=print)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="each of hooks"):
        ToolMemory.open(hooks=["log"])  # type: ignore[list-item]


@pytest.mark.parametrize("mode", ["advise", "act"])
def test_a_raising_hook_changes_nothing_and_is_logged_once(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    def bad(_: MemoryEvent) -> None:
        raise RuntimeError("hook")

    with memory_of(mode=mode, hooks=[bad]) as memory:
        for number in range(3):
            tools = Tools(get_order=[SLOW, {"order_id": str(number)}])
            handled = memory.call(call("get_order", call_id=f"c{number}", order_id=str(number)), tools)
            assert handled.outcome.ok is (mode == "act")
    assert [r.levelname for r in caplog.records if "hook" in r.message] == ["WARNING"]


def test_hooks_hold_no_lock_so_they_may_use_the_memory_from_another_thread() -> None:
    found: list[Any] = []
    with memory_of(hooks=()) as memory:

        def look(_: MemoryEvent) -> None:
            thread = threading.Thread(target=lambda: found.append(memory.beliefs()))
            thread.start()
            thread.join(10.0)

        memory.on("incident_opened", look)
        memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW]))
    assert found == [[]]


def lines(caplog: pytest.LogCaptureFixture, do: Callable[[], None]) -> list[str]:
    with caplog.at_level(logging.INFO, logger="btm"):
        do()
    return [record.getMessage() for record in caplog.records if record.levelname == "INFO"]


def test_the_default_hook_logs_one_line_an_action(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()

    def act() -> None:
        with memory_of(clock, mode="act") as memory:
            memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW, {"order_id": "o1"}]))

    said = lines(caplog, act)
    assert said == [
        f"wait {clock.slept[0]:.1f} s, then repeat get_order",
        "retry for get_order: get_order worked",
    ]


def test_advise_mode_and_no_hooks_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def act(mode: str, **options: Any) -> None:
        with memory_of(mode=mode, **options) as memory:
            memory.call(call("get_order", order_id="o1"), Tools(get_order=[SLOW, {"order_id": "o1"}]))

    assert lines(caplog, lambda: act("advise")) == []
    assert lines(caplog, lambda: act("act", hooks=())) == []


def test_every_event_is_frozen_and_knows_its_name() -> None:
    event = IncidentOpened.__new__(IncidentOpened)
    with pytest.raises(AttributeError):
        event.incident = MAP  # type: ignore[misc, assignment]
    assert [cls.name for cls in (IncidentOpened, ActionTaken, ContextGiven, IncidentClosed)] == [
        "incident_opened", "action_taken", "context_given", "incident_closed",
    ]  # fmt: skip
