from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from btm import Action, EvidenceKey, IncidentOpened, ToolMemory
from btm.fallback import FallbackMap
from btm.model import ErrorKind, ToolCall
from btm.runtime.drivers import Handled

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  cancel_order:
    effect: write
    irreversible: true
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'cancelled'"}
    fallbacks: [{tool: void_order, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}]
  void_order:
    effect: write
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'cancelled'"}
  reopen_order:
    effect: write
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'open'"}
  get_order: {effect: read}
""")


class Shop:
    """A shop whose ``cancel_order`` says yes and does nothing."""

    def __init__(self, *, works: bool = False) -> None:
        self.works, self.status = works, "open"
        self.calls: list[str] = []
        self.down: set[str] = set()

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append(tool)
        if tool in self.down:
            self.down.discard(tool)
            raise TimeoutError("timed out")
        if tool in ("cancel_order", "void_order") and self.works:
            self.status = "cancelled"
        if tool == "reopen_order":
            self.status = "open"
        return {**arguments, "status": self.status} if tool == "get_order" else {"ok": True}


def call(memory: ToolMemory, shop: Shop, tool: str, order: str = "O1") -> Handled:
    return memory.call(ToolCall(tool, {"order_id": order}, memory.effect_of(tool), "c"), shop)


def open_memory(mode: str = "advise", path: Path | None = None) -> ToolMemory:
    return ToolMemory.open(path, fallback_map=MAP, mode=mode, sleep=lambda _: None)


@pytest.mark.parametrize("mode", ["advise", "guard", "act"])
def test_a_write_that_did_nothing_is_found_out_by_the_agents_own_look(mode: str) -> None:
    memory, shop = open_memory(mode), Shop()
    opened: list[IncidentOpened] = []
    memory.on(IncidentOpened, opened.append)
    assert call(memory, shop, "cancel_order").outcome.ok
    looked = call(memory, shop, "get_order")
    assert looked.result == {"order_id": "O1", "status": "open"}
    assert [event.incident.tool for event in opened] == ["cancel_order"]
    assert looked.context is not None
    lines = looked.context.text.splitlines()
    assert lines[0].startswith('<recovery tool="cancel_order" error="factual_error" id="')
    assert lines[1].startswith('next: switch to void_order {"order_id":"O1"}')


def test_a_write_that_was_done_is_left_alone() -> None:
    memory, shop = open_memory(), Shop(works=True)
    call(memory, shop, "cancel_order")
    assert call(memory, shop, "get_order").context is None


def test_a_look_at_another_order_says_nothing() -> None:
    memory, shop = open_memory(), Shop()
    call(memory, shop, "cancel_order")
    assert call(memory, shop, "get_order", "O2").context is None


def test_a_later_write_about_the_same_thing_may_undo_it() -> None:
    memory, shop = open_memory(), Shop(works=True)
    call(memory, shop, "cancel_order")
    call(memory, shop, "reopen_order")
    assert call(memory, shop, "get_order").context is None


def test_the_success_that_was_learned_is_moved_here_and_in_the_database(tmp_path: Path) -> None:
    shop = Shop()
    shop.down = {"cancel_order"}
    key = EvidenceKey("cancel_order", ErrorKind.TIMEOUT, Action.SWITCH, "void_order", 1)
    with open_memory("advise", tmp_path / "a.db") as memory:
        call(memory, shop, "cancel_order")
        call(memory, shop, "void_order")
        before = memory.belief(key)
        call(memory, shop, "get_order")
        after = memory.belief(key)
        assert (before.worked, after.worked) == (pytest.approx(1.0, rel=1e-3), pytest.approx(0.0, abs=1e-3))
    with open_memory("advise", tmp_path / "a.db") as memory:
        assert memory.belief(key).worked == pytest.approx(0.0, abs=1e-3)


ALWAYS = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  cancel_order:
    effect: write
    irreversible: true
    verify:
      tool: get_order
      arguments: {order_id: "{{ call.order_id }}"}
      done_when: "result.status == 'cancelled'"
      always: true
  get_order: {effect: read}
""")


REVERSIBLE = FallbackMap.from_text("""
version: 1
domain: alarms
tools:
  set_alarm:
    effect: write
    verify: {tool: get_alarm, arguments: {alarm: "{{ call.alarm }}"}, done_when: result.on, always: true}
  get_alarm: {effect: read}
""")


def test_where_the_map_says_always_act_looks_after_every_success_and_repeats_nothing_that_cannot_be_undone() -> (
    None
):
    for works in (True, False):
        shop = Shop(works=works)
        memory = ToolMemory.open(fallback_map=ALWAYS, mode="act", sleep=lambda _: None)
        handled = call(memory, shop, "cancel_order")
        assert shop.calls == ["cancel_order", "get_order"]
        assert handled.result == {"ok": True}
        assert (handled.context is None) is works
        if handled.context is not None:
            assert "factual_error" in handled.context.text


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("idle", [0, 1, 2, 3])
def test_act_makes_a_write_again_that_said_yes_and_did_nothing(idle: int, asynchronous: bool) -> None:
    memory = ToolMemory.open(fallback_map=REVERSIBLE, mode="act", sleep=lambda _: None)
    made: list[str] = []

    def run(tool: str, arguments: Mapping[str, Any]) -> Any:
        made.append(tool)
        on = made.count("set_alarm") > idle
        return {**arguments, "on": on} if tool == "get_alarm" else "The alarm is set."

    async def run_awaited(tool: str, arguments: Mapping[str, Any]) -> Any:
        return run(tool, arguments)

    async def no_sleep(_: float) -> None: ...

    wish = ToolCall("set_alarm", {"alarm": "a1"}, memory.effect_of("set_alarm"), "c")
    handled = (
        asyncio.run(memory.acall(wish, run_awaited, sleep=no_sleep))
        if asynchronous
        else memory.call(wish, run)
    )
    times = min(idle + 1, 3)
    assert made == ["set_alarm", "get_alarm"] * times
    assert handled.outcome.ok is (idle < 3)
    assert (handled.context is None) is (idle < 3)


def test_where_the_map_says_always_advise_asks_for_the_look() -> None:
    handled = call(ToolMemory.open(fallback_map=ALWAYS), Shop(works=True), "cancel_order")
    assert handled.context is not None
    assert (
        'next: verify with get_order {"order_id":"O1"} whether cancel_order went through'
        in handled.context.text
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_a_read_beside_another_such_write_shows_nothing_about_the_first(reverse: bool) -> None:
    memory, opened = open_memory("observe"), []
    memory.on(IncidentOpened, opened.append)

    def begin(tool: str, number: str) -> Any:
        return memory.begin(ToolCall(tool, {"order_id": "O1"}, memory.effect_of(tool), "c", number))

    memory.finish(begin("cancel_order", "1"), result={"ok": True})
    beside = [
        (begin("cancel_order", "2"), {"ok": True}),
        (begin("get_order", "3"), {"order_id": "O1", "status": "open"}),
    ]
    for ticket, result in reversed(beside) if reverse else beside:
        memory.finish(ticket, result=result)
    assert opened == []
    memory.finish(begin("get_order", "4"), result={"order_id": "O1", "status": "open"})
    assert [event.incident.tool for event in opened] == ["cancel_order"]
