"""After a write that may have happened: the same wish in another spelling is the same write."""

from __future__ import annotations

from typing import Any

import pytest
from core_kit import Clock, Tools, memory_of

from btm.fallback import FallbackMap
from btm.model import Effect, ToolCall

NO_MAP = FallbackMap.empty()
KEYED = FallbackMap.from_text("""
version: 1
domain: bank
tools:
  pay: {effect: write, takes: [customer, amount, key], idempotency_key: key}
""")
SLOW = TimeoutError("read timed out")


def pay(call_id: str, **arguments: Any) -> ToolCall:
    return ToolCall("pay", arguments, Effect.WRITE, "talk", call_id)


@pytest.mark.parametrize(
    "again",
    [
        {"customer": "c1", "amount": "50"}, {"customer": "c1", "amount": 50.0}, {"amount": 50, "customer": "c1"},
        {"customer": "c1", "amount": 50, "memo": "second try"}, {"customer": "c1", "amount": 50, "request_id": "r2"},
    ],
)  # fmt: skip
def test_guard_refuses_the_same_wish_in_another_spelling(again: dict[str, Any]) -> None:
    tools = Tools(pay=[SLOW, "paid"])
    with memory_of(fallback_map=NO_MAP, mode="guard") as memory:
        memory.call(pay("1", customer="c1", amount=50), tools)
        refused = memory.call(pay("2", **again), tools)
        other = memory.call(pay("3", customer="c1", amount=70), tools)
    assert refused.refused
    assert refused.context is not None
    assert "may have gone through" in refused.context.text
    assert other.result == "paid"
    assert len(tools.calls) == 2


def test_advise_warns_when_a_write_that_may_have_happened_was_made_again() -> None:
    tools = Tools(pay=[SLOW, "paid"])
    with memory_of(fallback_map=NO_MAP, mode="advise") as memory:
        memory.call(pay("1", customer="c1", amount=50), tools)
        handled = memory.call(pay("2", customer="c1", amount="50"), tools)
    assert handled.result == "paid"
    assert handled.context is not None
    assert "may now have been done twice" in handled.context.text


def test_an_idempotency_key_is_filled_once_a_wish_and_kept_for_its_repeats() -> None:
    tools = Tools(pay=[SLOW, SLOW, "paid", "paid"])
    clock = Clock()
    with memory_of(clock, fallback_map=KEYED, mode="act") as memory:
        handled = memory.call(pay("1", customer="c1", amount=50), tools)
        memory.call(pay("2", customer="c1", amount=50), tools)
    assert handled.result == "paid"
    keys = [arguments["key"] for _, arguments in tools.calls]
    assert keys[0]
    assert keys[0] == keys[1] == keys[2]
    assert keys[3] not in ("", keys[0])  # done: the next one is another wish


def test_the_model_cannot_get_round_the_key() -> None:
    tools = Tools(pay=[SLOW, "paid"])
    with memory_of(fallback_map=KEYED, mode="advise") as memory:
        first = memory.call(pay("1", customer="c1", amount=50, key="k-1"), tools)
        memory.call(pay("2", customer="c1", amount="50", key="k-2"), tools)
    assert [arguments["key"] for _, arguments in tools.calls] == ["k-1", "k-1"]
    assert first.context is not None
    assert "next: retry pay" in first.context.text
