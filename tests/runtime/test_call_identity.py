"""Which call is which, through the memory's own entrances."""

from __future__ import annotations

from typing import Any

import pytest
from core_kit import NO_MAP, Tools, call, key, known, memory_of

from btm import ToolMemory
from btm.model import ToolCall
from btm.runtime.drivers import Handled
from btm.support.call_ids import NO_TURN, Turn

SLOW = TimeoutError("timed out")
RETRY = key("get_order", "timeout", "retry")


async def made(
    memory: ToolMemory, way: str, one: ToolCall, reply: Any, turn: Turn = NO_TURN
) -> Handled | None:
    """Make a call through one of the entrances."""
    tools = Tools(**{one.tool: [reply]})
    if way == "call":
        return memory.call(one, tools, turn=turn)
    if way == "acall":
        return await memory.acall(one, tools.run, turn=turn)
    begun = memory.begin(one, turn=turn)
    assert begun is not None
    failed = isinstance(reply, Exception)
    memory.finish(begun, **({"error": reply} if failed else {"result": reply}))
    return None


def names(memory: ToolMemory) -> list[str]:
    assert memory.flush()
    store: Any = memory._store
    return [row["call_id"] for row in store.log("calls")]


WAYS = pytest.mark.parametrize("way", ["call", "acall", "begin"])


@WAYS
async def test_the_same_id_with_another_tool_or_arguments_is_another_call(way: str) -> None:
    memory = memory_of(fallback_map=NO_MAP)
    for tool, order in (("get_order", "o1"), ("get_order", "o2"), ("list_orders", "o1"), ("get_order", "o1")):
        handled = await made(memory, way, call(tool, call_id="0", order_id=order), "fine")
        assert handled is None or handled.call.call_id == "0", "the caller's own id comes back"
    assert len(set(names(memory))) == 3
    memory.close()


@WAYS
async def test_the_same_id_in_another_turn_is_another_call_and_in_the_same_a_replay(way: str) -> None:
    memory = memory_of(fallback_map=NO_MAP)
    one = call("get_order", call_id="0", order_id="o1")
    await made(memory, way, one, SLOW, Turn("m1"))
    await made(memory, way, one, SLOW, Turn("m1"))
    await made(memory, way, one, "fine", Turn("m3"))
    await made(memory, way, one, "fine", Turn("m3"))
    assert names(memory) == ["0", "0@m3"]
    assert known(memory)[RETRY] == (1.0, 0.0)
    memory.close()


@WAYS
async def test_without_turns_the_same_call_counts_once(way: str) -> None:
    memory = memory_of(fallback_map=NO_MAP)
    one = call("get_order", call_id="0", order_id="o1")
    for reply in (SLOW, SLOW, "fine"):
        await made(memory, way, one, reply)
    assert names(memory) == ["0"]
    assert known(memory) == {}
    memory.close()


def test_parallel_calls_under_one_id_are_told_apart_before_they_end() -> None:
    memory = memory_of(fallback_map=NO_MAP)
    begun = [memory.begin(call("get_order", call_id="0", order_id=order)) for order in ("o1", "o2")]
    for one in begun:
        assert one is not None
        memory.finish(one, result="fine")
    assert len(set(names(memory))) == 2
    memory.close()


def test_guard_sees_repeats_whose_ids_do_not_tell_them_apart() -> None:
    memory = memory_of(mode="guard", fallback_map=NO_MAP)
    tools = Tools(get_order=[SLOW])
    one = call("get_order", call_id="0", order_id="o1")
    refused = [memory.call(one, tools, turn=Turn(str(n))).refused for n in range(5)]
    assert refused == [False, False, False, True, True]
    memory.close()


def test_a_report_by_an_id_is_about_the_call_that_had_it_first() -> None:
    memory = memory_of(fallback_map=NO_MAP)
    for turn in ("m1", "m3"):
        memory.call(call("get_order", call_id="0", order_id="o1"), Tools(get_order=["fine"]), turn=Turn(turn))
    assert memory.report("0", "stale_data", conversation="talk")
    assert memory.report("0@m3", "stale_data", conversation="talk")
    assert not memory.report("0@m5", "stale_data", conversation="talk")
    memory.close()
