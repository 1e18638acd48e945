"""Writes whose answer says that they are under way: not done yet, and never a reason to make them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from btm import ToolMemory
from btm.classify.ambiguity import under_way
from btm.fallback import FallbackMap
from btm.model import ErrorKind, ToolCall
from btm.runtime.drivers import Handled

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  cancel_order:
    effect: write
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'cancelled'"}
    fallbacks: [{tool: void_order, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}]
  void_order: {effect: write}
  ship_order: {effect: write}
  get_order: {effect: read}
  call_support: {role: escalation}
""")


class Shop:
    """Cancels orders after so many looks at them."""

    def __init__(self, word: str = "pending", looks: int = 1) -> None:
        self.word, self.looks, self.calls, self.waits = word, looks, [], []  # type: ignore[var-annotated]

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append(tool)
        if tool == "get_order":
            self.looks -= 1
            return {"order_id": arguments["order_id"], "status": "cancelled" if self.looks <= 0 else "open"}
        return {"status": self.word, "order_id": arguments["order_id"]}


def handled(mode: str, shop: Shop, tool: str = "cancel_order") -> Handled:
    memory = ToolMemory.open(fallback_map=MAP, mode=mode, sleep=shop.waits.append)
    return memory.call(ToolCall(tool, {"order_id": "O1"}, memory.effect_of(tool), "c"), shop)


@pytest.mark.parametrize("word", ["pending", "Processing", "accepted", "unknown"])
def test_act_looks_until_it_is_done_and_waits_in_between(word: str) -> None:
    shop = Shop(word, looks=2)
    made = handled("act", shop)
    assert made.outcome.ok
    assert made.result == {"order_id": "O1", "status": "cancelled"}
    assert shop.calls == ["cancel_order", "get_order", "get_order"]
    assert len(shop.waits) == 1


def test_what_stays_under_way_is_handed_back_and_never_made_again() -> None:
    shop = Shop(looks=99)
    made = handled("act", shop)
    assert shop.calls == ["cancel_order", "get_order", "get_order", "get_order"]
    assert made.result == {"status": "pending", "order_id": "O1"}
    assert made.context is not None
    assert (
        "next: go on, and tell the user that cancel_order is under way and not confirmed yet"
        in made.context.text
    )


def test_advise_names_the_look() -> None:
    made = handled("advise", Shop())
    assert made.outcome.kind is ErrorKind.UNKNOWN
    assert made.context is not None
    assert (
        'next: verify with get_order {"order_id":"O1"} whether cancel_order went through' in made.context.text
    )


def test_where_nothing_can_show_it_the_answer_is_the_answer() -> None:
    assert handled("advise", Shop(), "ship_order").context is None


def test_a_record_that_has_a_state_of_that_name_was_changed() -> None:
    assert under_way({"order_id": "O1", "status": "pending", "items": [], "total": 3, "address": {}}) == ""
    assert under_way({"status": "done"}) == under_way(None) == under_way([]) == ""
    assert under_way("queued") == "queued"
