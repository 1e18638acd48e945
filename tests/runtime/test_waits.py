"""A model has no clock: btm keeps the short waits, tells the long ones, and holds no early repeat against a tool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from core_kit import Clock, call, memory_of

from btm import FallbackMap
from btm.adapters.wording import note
from btm.errors import RefusedCallError
from btm.runtime.drivers import Handled

EMPTY = FallbackMap.empty()


class Busy:
    """A tool that asks to be left alone for ``wait`` seconds and then works."""

    def __init__(self, clock: Clock, wait: float) -> None:
        self.clock, self.until, self.wait, self.ran = clock, clock.now + wait, wait, 0

    def __call__(self, tool: str, arguments: Any) -> Any:
        self.ran += 1
        left = self.until - self.clock.now
        if left > 0:
            raise RuntimeError(f"429 Too Many Requests: retry after {left:g} seconds")
        return ["m1"]


def asked(mode: str, wait: float, **options: Any) -> tuple[Any, Busy, Clock, Handled]:
    clock = Clock()
    memory = memory_of(clock, fallback_map=EMPTY, mode=mode, **options)
    tool = Busy(clock, wait)
    return memory, tool, clock, memory.call(call("get_messages", q="a"), tool)


def again(memory: Any, tool: Busy) -> Handled:
    return memory.call(call("get_messages", q="a"), tool)


@pytest.mark.parametrize("mode", ["advise", "guard"])
@pytest.mark.parametrize("wait", [2.5, 7.0, 10.0])
def test_a_repeat_that_comes_a_little_too_early_is_made_in_time(mode: str, wait: float) -> None:
    memory, tool, _, first = asked(mode, wait)
    assert first.context is not None
    assert (
        "after" not in first.context.text.splitlines()[1]
    )  # what btm keeps itself is no affair of the model's
    assert again(memory, tool).result == ["m1"]
    assert tool.ran == 2


async def test_an_awaited_repeat_waits_too_and_is_cancelled_with_its_run() -> None:
    clock, waits = Clock(), []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.Event().wait()

    memory = memory_of(clock, fallback_map=EMPTY)
    memory._asleep = asleep
    tool = Busy(clock, 5.0)

    async def invoke(name: str, arguments: Any) -> Any:
        return tool(name, arguments)

    await memory.acall(call("get_messages", q="a"), invoke)
    run = asyncio.create_task(memory.acall(call("get_messages", q="a"), invoke))
    await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert waits == [5.0]
    assert tool.ran == 1


async def test_a_function_that_returns_does_not_hold_up_the_event_loop_it_is_called_in() -> None:
    memory, tool, clock, _ = asked("advise", 5.0)
    started = clock.now
    again(memory, tool)
    assert clock.now == started
    assert tool.ran == 2


@pytest.mark.parametrize(("wait", "said"), [(60.0, "60 s"), (600.0, "10 min"), (3_600.0, "60 min")])
def test_a_long_wait_is_told_by_the_clock_and_no_call_is_asked_for_now(wait: float, said: str) -> None:
    _, _, _, first = asked("advise", wait)
    assert first.context is not None
    line = first.context.text.splitlines()[1]
    assert line.startswith('next: do something else first; retry get_messages {"q":"a"} not before ')
    assert f" UTC ({said} from now)" in line
    whole = note([first.context], "what is new?")
    assert "Make the call" not in whole
    assert "nothing else is left" not in whole
    assert "what is new?" in whole


def test_a_wait_of_more_than_a_day_is_the_end() -> None:
    _, _, _, first = asked("advise", 200_000.0)
    assert first.context is not None
    assert "next: stop calling" in first.context.text


def test_guard_refuses_a_repeat_that_comes_much_too_early_and_says_when() -> None:
    memory, tool, clock, _ = asked("guard", 60.0)
    refused = again(memory, tool)
    assert refused.refused
    assert refused.context is not None
    assert "not before" in refused.context.text
    with pytest.raises(RefusedCallError):
        refused.unwrap()
    assert tool.ran == 1
    clock.now += 55
    assert again(memory, tool).result == ["m1"]  # the rest is waited for


def test_an_early_repeat_that_fails_is_not_held_against_repeating() -> None:
    memory, tool, clock, _ = asked("advise", 60.0)
    assert not again(memory, tool).outcome.ok
    assert memory.beliefs() == []
    clock.now += 61
    assert again(memory, tool).outcome.ok
    ((_, belief),) = memory.beliefs()
    assert (round(belief.worked), round(belief.n)) == (1, 1)


def test_how_long_btm_waits_by_itself_is_an_option() -> None:
    memory, tool, clock, first = asked("advise", 60.0, wait_up_to_s=90)
    assert first.context is not None
    assert "not before" not in first.context.text
    started = clock.now
    assert again(memory, tool).result == ["m1"]
    assert clock.now == started + 60
    with pytest.raises((TypeError, ValueError), match="wait_up_to_s"):
        memory_of(wait_up_to_s=-1)
