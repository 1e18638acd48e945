from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from btm import Breaker, BreakerClosed, BreakerOpened, ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.fallback import FallbackMap
from btm.lab.instruction import filled_in, standing
from btm.model import Effect, ErrorKind, ToolCall
from btm.runtime.breaker import Circuits, chance_down
from btm.runtime.drivers import Handled
from btm.store import watch, writer
from btm.testing import ManualClock

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    breaker: {group: orders-api}
    fallbacks: [{tool: list_orders, coverage: full, arguments: {user_id: "u1"}}]
  get_invoice: {effect: read, breaker: {group: orders-api}}
  cancel_order: {effect: write, breaker: {group: orders-api}}
  list_orders: {effect: read}
  send_mail: {effect: write}
""")

READ, WRITE = Effect.READ, Effect.WRITE


class Service:
    """Tools of which some are down: those answer after 30 s, with a timeout."""

    def __init__(self, clock: ManualClock, *down: str) -> None:
        self.clock, self.down = clock, set(down)
        self.calls: list[str] = []

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append(tool)
        if tool in self.down:
            self.clock.sleep(30.0)
            raise TimeoutError("Read timed out. (read timeout=30)")
        self.clock.sleep(0.1)
        return {"status": "shipped"}


class Agents:
    """A memory, its tools, and one conversation after the other."""

    def __init__(self, mode: str, *down: str, **options: Any) -> None:
        self.clock = ManualClock()
        self.service = Service(self.clock, *down)
        options = {"fallback_map": MAP, **options}
        self.memory = ToolMemory.open(mode=mode, clock=self.clock, sleep=self.clock.sleep, **options)
        self.events: list[Any] = []
        for event in (BreakerOpened, BreakerClosed):
            self.memory.on(event, self.events.append)
        self._number = 0

    def call(self, tool: str = "get_order", effect: Effect = READ) -> Handled:
        self._number += 1
        call = ToolCall(tool, {"order_id": f"O{self._number}"}, effect, f"talk {self._number}")
        handled = self.memory.call(call, self.service)
        self.clock.sleep(1.0)
        return handled

    def outage(self, *tools: str, calls: int = 20) -> None:
        """Let agents run into an outage, without waiting for it."""
        for number in range(calls):
            self.call(tools[number % len(tools)])
        self.service.calls.clear()


# -- the posterior -------------------------------------------------------------------------------------------------


def test_a_run_of_failures_is_an_outage_after_whatever_past() -> None:
    for past, failures in ((0, 5), (5, 9), (18, 7)):
        assert chance_down([*[True] * past, *[False] * failures], 0.2) > 0.95
        assert chance_down([*[True] * past, *[False] * (failures - 2)], 0.2) < 0.95


def test_a_tool_that_fails_half_of_the_time_is_as_good_as_never_down() -> None:
    rng, circuits, refused, calls = random.Random(5), Circuits(Breaker()), 0, 60_000
    for number in range(calls):  # one call a minute for a thousand hours
        if circuits.down("flaky", READ, number * 60.0) is not None:
            refused += 1
        else:
            circuits.record("flaky", None if rng.random() < 0.5 else ErrorKind.TIMEOUT, number * 60.0, READ)
    assert refused < 0.01 * calls


@pytest.mark.parametrize("kind", [ErrorKind.NOT_FOUND, ErrorKind.INVALID_ARGUMENTS, ErrorKind.STALE_DATA])
def test_what_a_caller_did_wrong_and_wrong_answers_are_no_outage(kind: ErrorKind) -> None:
    circuits = Circuits(Breaker())
    for number in range(100):
        assert circuits.record("get_order", kind, float(number), READ) == []
    assert circuits.down("get_order", READ, 100.0) is None


def test_failures_of_an_hour_ago_say_nothing_about_now() -> None:
    circuits = Circuits(Breaker())
    for number in range(10):
        circuits.record("get_order", ErrorKind.TIMEOUT, float(number), READ)
    for number in range(10):
        assert circuits.record("get_order", ErrorKind.TIMEOUT, 3_600.0 + number, READ) == []


def test_thresholds_can_be_set_and_are_checked() -> None:
    easy = Circuits(Breaker(certainty=0.5, least_failures=3))
    opened = [bool(easy.record("t", ErrorKind.TIMEOUT, float(n), READ)) for n in range(4)]
    assert opened.index(True) == 2
    with pytest.raises(ValueError, match="certainty is a probability"):
        Breaker(certainty=1.0)
    with pytest.raises(ValueError, match="first_probe_s"):
        Breaker(first_probe_s=700.0)
    with pytest.raises(TypeError, match="breaker is"):
        ToolMemory.open(breaker=3)  # type: ignore[arg-type]


# -- open, half-open, closed ---------------------------------------------------------------------------------------


def opened_circuits() -> Circuits:
    circuits = Circuits(Breaker(), {"get": "api", "put": "api", "lone": "other"}, ["get"])
    for number in range(20):
        circuits.record("get", ErrorKind.TIMEOUT, float(number), READ)
    return circuits


def test_one_probe_at_a_time_and_each_that_fails_doubles_the_wait() -> None:
    circuits = opened_circuits()
    down = circuits.down("get", READ, 20.0)
    assert down is not None
    at = down.probe_at
    for wait_s in (60.0, 120.0, 240.0, 480.0, 600.0, 600.0):
        assert circuits.down("get", READ, at) is None  # the probe
        assert circuits.down("get", READ, at) is not None  # the others wait for it
        circuits.record("get", ErrorKind.TIMEOUT, at + 1.0, READ)
        after = circuits.down("get", READ, at + 1.0)
        assert after is not None
        assert after.probe_at == at + 1.0 + wait_s
        at = after.probe_at


def test_two_successes_close_it_and_one_lets_the_next_call_through() -> None:
    circuits = opened_circuits()
    assert circuits.down("get", READ, 1_000.0) is None
    assert circuits.record("get", None, 1_001.0, READ) == []
    assert circuits.down("get", READ, 1_001.0) is None
    changes = circuits.record("get", None, 1_002.0, READ)
    assert [change.opened for change in changes] == [False]
    assert not circuits.any_open


def test_a_probe_that_nothing_came_of_is_given_up() -> None:
    circuits = opened_circuits()
    assert circuits.down("get", READ, 1_000.0) is None
    assert circuits.down("get", READ, 1_060.0) is not None
    assert circuits.down("get", READ, 1_200.0) is None


def test_a_write_is_no_probe_where_a_read_can_tell_and_stands_alone_where_none_can() -> None:
    circuits = Circuits(Breaker(), {"get": "api", "put": "api"}, ["get"])
    for number in range(30):
        circuits.record(("get", "put")[number % 2], ErrorKind.TIMEOUT, float(number))
    assert circuits.down("put", WRITE, 10_000.0) is not None
    assert circuits.down("get", READ, 10_000.0) is None
    alone = Circuits(Breaker())
    for number in range(20):
        alone.record("send", ErrorKind.TIMEOUT, float(number), WRITE)
    assert alone.down("send", WRITE, 30.0) is not None
    assert alone.down("send", WRITE, 10_000.0) is None


def test_one_tool_alone_does_not_take_its_service_down() -> None:
    circuits = opened_circuits()
    assert circuits.down("put", WRITE, 20.0) is None
    for number in range(10):
        circuits.record("put", ErrorKind.TIMEOUT, 20.0 + number, WRITE)
    assert circuits.down("put", WRITE, 30.0) is not None


# -- what agents meet ----------------------------------------------------------------------------------------------


def test_act_goes_straight_to_the_substitute() -> None:
    agents = Agents("act", "get_order")
    agents.outage("get_order")
    before = agents.clock()
    handled = agents.call()
    assert agents.service.calls == ["list_orders"]
    assert agents.clock() - before < 2.0
    assert handled.served_by == "list_orders"
    assert not handled.refused
    assert handled.done == "served by list_orders in place of get_order, which is down"


def test_guard_refuses_with_the_next_step_and_the_time_of_the_next_try() -> None:
    agents = Agents("guard", "get_order")
    agents.outage("get_order", calls=14)
    handled = agents.call()
    assert handled.refused
    assert agents.service.calls == []
    assert handled.context is not None
    text = handled.context.text
    assert 'next: switch to list_orders {"user_id":"u1"}' in text
    assert "down: get_order is down for everyone (0 of its last 5 calls worked" in text
    assert "it is tried again in" in text
    assert "retry" not in text


def test_advise_tells_before_the_call_and_lets_it_through() -> None:
    agents = Agents("advise", "get_order")
    agents.outage("get_order")
    loop = ChatLoop(agents.memory, {"get_order": print, "list_orders": print}, conversation="new")
    request = loop.prepare([{"role": "user", "content": "Where is O1?"}])
    assert request[-1]["role"] == "user"
    assert request[-1]["content"].startswith("Where is O1?")
    assert "down: get_order is down for everyone (0 of its last 10" in request[-1]["content"]
    assert 'Instead, switch to list_orders {"user_id":"u1"}' in request[-1]["content"]
    agents.call()
    assert agents.service.calls == ["get_order"]


BLANKS = """
version: 1
domain: shop
tools:
  find_user:
    effect: read
    takes: [email]
    fallbacks:
      - {tool: search, coverage: full, arguments: {query: "email:{{ call.email }}", shop: main}}
  find_order:
    effect: read
    takes: [number]
    fallbacks:
      - {tool: search, coverage: full, arguments: {query: "{{ call.number | upper }}", shop: main}}
  search: {effect: read, takes: [query, shop]}
"""


@pytest.mark.parametrize(
    ("tool", "instead"),
    [
        (
            "find_user",
            'switch to search {"query":"email:{email}","shop":"main"}; for {email} put what you would give find_user',
        ),
        # What a template makes of a blank is not to be guessed from it.
        ("find_order", 'switch to search {"shop":"main"}, and fill in query'),
    ],
)
def test_what_a_substitute_takes_of_the_call_itself_stands_as_a_blank(tool: str, instead: str) -> None:
    agents = Agents("advise", tool, fallback_map=FallbackMap.from_text(BLANKS))
    agents.outage(tool)
    (line,) = agents.memory.notices("new conversation")
    assert line.endswith(f"Instead, {instead}")
    (said,) = standing(line, tool, writes=False)
    mine = {"email": "a@b.example", "number": "s1"}
    filled = filled_in(said, mine)
    assert filled is not None
    if tool == "find_user":
        assert filled.arguments == {"query": "email:a@b.example", "shop": "main"}
        assert filled_in(said, {}) is None


def test_observe_and_none_leave_everything_as_it_was() -> None:
    for mode, options in (("observe", {}), ("act", {"breaker": None})):
        agents = Agents(mode, "get_order", **options)
        agents.outage("get_order")
        agents.call()
        assert "get_order" in agents.service.calls
        assert agents.events == []


def test_it_heals_within_one_probe() -> None:
    agents = Agents("guard", "get_order")
    agents.outage("get_order", calls=14)
    agents.service.down.clear()
    refused = agents.call()
    assert refused.refused
    agents.clock.sleep(31.0)
    assert agents.call().result == {"status": "shipped"}
    assert agents.call().result == {"status": "shipped"}
    assert [type(event) for event in agents.events] == [BreakerOpened, BreakerClosed]
    assert agents.events[0].what == "get_order"


def test_a_service_that_is_down_takes_its_other_tools_with_it() -> None:
    agents = Agents("guard", "get_order", "get_invoice", "cancel_order")
    agents.outage("get_order", "get_invoice", calls=16)
    handled = agents.call("cancel_order", WRITE)
    assert handled.refused
    assert agents.service.calls == []
    assert handled.context is not None
    assert "cancel_order (with all of orders-api) is down" in handled.context.text


def test_a_new_process_knows_what_was_down_when_it_starts(tmp_path: Path) -> None:
    clock = ManualClock()
    for number in range(2):
        service = Service(clock, "get_order")
        with ToolMemory.open(tmp_path / "a.db", fallback_map=MAP, mode="guard", clock=clock) as memory:
            for n in range(14):
                memory.call(ToolCall("get_order", {"order_id": f"{n}"}, READ, f"{number}.{n}"), service)
        assert len(service.calls) == (5 if number == 0 else 0)


_OTHER = """
import sys, time
from btm import ToolCall, ToolMemory
def dead(tool, arguments): raise TimeoutError("Read timed out.")
memory = ToolMemory.open(sys.argv[1], mode="guard")
for n in range(16):
    memory.call(ToolCall("get_order", {"n": n}, conversation=f"other {n}"), dead)
memory.close()
"""


def test_a_second_process_learns_of_it_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "EVERY_S", 0.1)
    with ToolMemory.open(tmp_path / "a.db", mode="guard") as memory:
        script = [sys.executable, "-c", textwrap.dedent(_OTHER), str(tmp_path / "a.db")]
        subprocess.run(script, check=True)
        asked = time.monotonic()
        while not memory.down_tools(["get_order"]):
            assert time.monotonic() - asked < 60.0
            time.sleep(0.05)
        handled = memory.call(ToolCall("get_order", {"n": 99}, conversation="mine"), lambda *_: {"ok": True})
        assert handled.refused


def test_one_look_is_enough_and_there_is_one_every_five_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert watch.EVERY_S + writer._LINGER_S < 5.0
    monkeypatch.setattr(watch, "EVERY_S", 1e6)  # nobody looks but this test
    clock = ManualClock()
    with (
        ToolMemory.open(tmp_path / "a.db", fallback_map=MAP, mode="guard", clock=clock) as mine,
        ToolMemory.open(tmp_path / "a.db", fallback_map=MAP, mode="guard", clock=clock) as other,
    ):
        service = Service(clock, "get_order")
        for n in range(14):
            other.call(ToolCall("get_order", {"n": n}, READ, f"{n}"), service)
            if len(service.calls) > n:  # the last that went through opens the circuit
                assert not mine.down_tools()
                assert other.flush()
                assert mine._watch is not None
                mine._watch.look()
        assert mine.down_tools() == {"get_order"}


async def test_calls_that_fail_together_are_one_piece_of_evidence() -> None:
    clock = ManualClock()
    memory = ToolMemory.open(fallback_map=MAP, mode="guard", clock=clock)
    failing = [True]

    async def tool(*_: Any) -> str:
        await asyncio.sleep(0)
        if failing[0]:
            raise ConnectionError("429 Too Many Requests")
        return "fine"

    async def burst() -> list[Handled]:
        calls = [ToolCall("get_order", {"n": n}, READ, f"c{n}") for n in range(60)]
        return await asyncio.gather(*(memory.acall(c, tool) for c in calls))

    await burst()
    failing[0] = False
    assert not any(handled.refused for handled in await burst())
