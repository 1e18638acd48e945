from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from btm import ToolMemory
from btm.fallback import FallbackMap
from btm.model import ErrorKind, ToolCall
from btm.runtime.drivers import Handled

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - {tool: list_orders, coverage: full, arguments: {user_id: "{{ call.user_id }}"}}
    cross_check: {tool: list_orders, arguments: {user_id: "{{ call.user_id }}"}, compare: [total]}
  list_orders: {effect: read}
  refund:
    effect: write
    irreversible: true
    verify: {tool: list_orders, arguments: {user_id: u1}, done_when: "result.refunded"}
  note: {effect: write}
  find_item: {effect: read}
""")


class Shop:
    """Tools whose two sources may disagree, and a ledger of what was really done."""

    def __init__(self, *, total: int = 10, listed: int = 10) -> None:
        self.total, self.listed = total, listed
        self.calls: list[str] = []
        self.refunds: list[int] = []

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append(tool)
        match tool:
            case "get_order":
                return {"order_id": "O1", "total": self.total}
            case "list_orders":
                return {"order_id": "O1", "total": self.listed}
            case "refund":
                self.refunds.append(arguments["amount"])
                return {"refunded": arguments["amount"]}
            case "find_item":
                raise LookupError("item not found")
        return "noted"


@pytest.fixture
def memory() -> ToolMemory:
    return ToolMemory.open(fallback_map=MAP, mode="act", clock=lambda: 1_000.0, sleep=lambda s: None)


def call(memory: ToolMemory, shop: Shop, tool: str, **arguments: Any) -> Handled:
    return memory.call(ToolCall(tool, arguments, memory.effect_of(tool), "c"), shop)


def test_an_irreversible_write_waits_for_a_second_source(memory: ToolMemory) -> None:
    shop = Shop()
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    handled = call(memory, shop, "refund", order_id="O1", amount=10)
    assert handled.result == {"refunded": 10}
    assert shop.calls == ["get_order", "list_orders", "refund"]


def test_it_is_held_when_the_second_source_disagrees_and_the_advice_is_about_the_read(
    memory: ToolMemory,
) -> None:
    shop = Shop(total=99, listed=10)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    handled = call(memory, shop, "refund", order_id="O1", amount=99)
    assert handled.refused
    assert shop.refunds == []
    assert handled.outcome.kind is ErrorKind.FACTUAL_ERROR
    assert handled.context is not None
    lines = handled.context.text.splitlines()
    assert lines[0].startswith('<recovery tool="get_order" error="factual_error" id="')
    assert lines[1].startswith('next: switch to list_orders {"user_id":"u1"}')
    assert lines[2] == 'about: get_order {"order_id":"O1","user_id":"u1"}'
    assert lines[3] == 'not run: refund {"order_id":"O1","amount":99}; make it again from what that shows'


def test_once_the_question_was_asked_the_same_answers_are_not_asked_about_again(memory: ToolMemory) -> None:
    shop = Shop(total=99, listed=10)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    call(memory, shop, "refund", order_id="O1", amount=99)
    call(memory, shop, "list_orders", user_id="u1")
    handled = call(memory, shop, "refund", order_id="O1", amount=10)
    assert not handled.refused
    assert shop.refunds == [10]


def test_a_reversible_write_is_not_held_up(memory: ToolMemory) -> None:
    shop = Shop(total=99)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    call(memory, shop, "note", order_id="O1")
    assert shop.calls == ["get_order", "note"]


def test_a_read_that_the_write_does_not_rest_on_is_not_checked(memory: ToolMemory) -> None:
    shop = Shop(total=99)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    call(memory, shop, "refund", order_id="O777", amount=5)
    assert shop.calls == ["get_order", "refund"]


def test_what_was_read_before_a_write_is_not_held_against_what_is_read_after_it(memory: ToolMemory) -> None:
    shop = Shop()
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    call(memory, shop, "note", order_id="O1")
    shop.listed = 7  # the write changed the world, and rightly so
    assert not call(memory, shop, "refund", order_id="O1", amount=10).refused


def test_what_was_read_before_a_write_that_may_have_happened_is_not_held_against_what_is_read_after_it() -> (
    None
):
    memory = ToolMemory.open(fallback_map=MAP, mode="advise", clock=lambda: 1_000.0)
    shop = Shop(total=10, listed=10)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")

    def lost(tool: str, arguments: Mapping[str, Any]) -> Any:
        shop(tool, arguments)
        raise TimeoutError("timed out")

    memory.call(ToolCall("refund", {"order_id": "O1", "amount": 10}, memory.effect_of("refund"), "c"), lost)
    shop.listed = 0  # the refund has changed it
    assert "disagree" not in str(call(memory, shop, "list_orders", user_id="u1").context)


def test_a_call_that_failed_over_its_arguments_sends_us_back_to_where_they_came_from(
    memory: ToolMemory,
) -> None:
    shop = Shop(total=99, listed=10)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    handled = call(memory, shop, "find_item", order_id="O1")
    assert isinstance(handled.error, LookupError)
    assert handled.context is not None
    assert handled.context.text.splitlines()[1:4] == [
        'next: switch to list_orders {"user_id":"u1"}',
        'about: get_order {"order_id":"O1","user_id":"u1"}',
        'failed with it: find_item {"order_id":"O1"}; make it again from what that shows',
    ]


def test_guard_refuses_an_unchecked_write_once_and_names_the_check() -> None:
    memory = ToolMemory.open(fallback_map=MAP, mode="guard", clock=lambda: 1_000.0)
    shop = Shop(total=99, listed=99)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    refused = call(memory, shop, "refund", order_id="O1", amount=99)
    assert refused.refused
    assert refused.context is not None
    lines = refused.context.text.splitlines()
    assert lines[1] == 'next: verify with list_orders {"user_id":"u1"} what get_order gave'
    assert 'not run: refund {"order_id":"O1","amount":99}; make it again after that' in lines
    assert call(memory, shop, "refund", order_id="O1", amount=99).result == {"refunded": 99}  # it insists


def test_after_the_check_the_write_goes_through_and_a_contradiction_is_told() -> None:
    for listed, refunds in ((99, [99]), (10, [])):
        memory = ToolMemory.open(fallback_map=MAP, mode="guard", clock=lambda: 1_000.0)
        shop = Shop(total=99, listed=listed)
        call(memory, shop, "get_order", order_id="O1", user_id="u1")
        call(memory, shop, "refund", order_id="O1", amount=99)
        checked = call(memory, shop, "list_orders", user_id="u1")
        if listed == 99:
            assert checked.context is None
            call(memory, shop, "refund", order_id="O1", amount=99)
        else:
            assert checked.context is not None
            assert 'about: get_order {"order_id":"O1","user_id":"u1"}' in checked.context.text
        assert shop.refunds == refunds


def test_advise_names_the_check_before_the_models_turn_and_observe_says_nothing() -> None:
    memory = ToolMemory.open(fallback_map=MAP, mode="advise", clock=lambda: 1_000.0)
    shop = Shop(total=99)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    (line,) = memory.notices("c")
    assert line == (
        "unconfirmed: before refund, which cannot be undone, "
        'verify with list_orders {"user_id":"u1"} what get_order {"order_id":"O1","user_id":"u1"} gave'
    )
    assert memory.notices("c", available=["get_order", "list_orders"]) == []  # nothing that cannot be undone
    assert not call(memory, shop, "refund", order_id="O1", amount=99).refused
    silent = ToolMemory.open(fallback_map=MAP, mode="observe", clock=lambda: 1_000.0)
    call(silent, shop, "get_order", order_id="O1", user_id="u1")
    assert silent.notices("c") == []


def test_what_was_read_twice_is_named_and_asked_about_once() -> None:
    memory = ToolMemory.open(fallback_map=MAP, mode="advise", clock=lambda: 1_000.0)
    for total in (99, 98, 97):  # three answers to the same call
        call(memory, Shop(total=total), "get_order", order_id="O1", user_id="u1")
    assert len(memory.notices("c")) == 1


def test_a_tool_that_was_found_wrong_is_to_be_checked() -> None:
    memory = ToolMemory.open(fallback_map=MAP, mode="advise", clock=lambda: 1_000.0)
    shop = Shop(total=99, listed=10)
    for _ in range(2):
        call(memory, shop, "get_order", order_id="O1", user_id="u1")
        notices = memory.notices("c")
        call(memory, shop, "list_orders", user_id="u1")
        memory.end("c")
    assert notices[0].startswith("check: before you change anything, verify with list_orders")


def test_asking_ceases_where_second_sources_keep_agreeing(memory: ToolMemory) -> None:
    shop = Shop()
    asked = []
    for number in range(40):
        before = shop.calls.count("list_orders")
        for tool, arguments in (("get_order", {"user_id": "u1"}), ("refund", {"amount": 10})):
            made = ToolCall(tool, {"order_id": "O1", **arguments}, memory.effect_of(tool), f"c{number}")
            memory.call(made, shop)
        asked.append(shop.calls.count("list_orders") - before)
    assert asked[0] == 1
    assert sum(asked) < 15
    assert asked[-1] == 0


def test_doubt_about_a_field_that_the_write_does_not_use_holds_nothing(memory: ToolMemory) -> None:
    shop = Shop(total=99, listed=10)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    assert call(memory, shop, "refund", order_id="O1", amount=5).result == {"refunded": 5}


def test_a_tool_that_was_wrong_once_is_checked_at_every_answer_from_then_on(memory: ToolMemory) -> None:
    shop = Shop(total=99, listed=10)
    call(memory, shop, "get_order", order_id="O1", user_id="u1")
    call(memory, shop, "refund", order_id="O1", amount=99)
    shop.calls.clear()
    handled = call(memory, shop, "get_order", order_id="O1", user_id="u2")
    assert handled.result == {"order_id": "O1", "total": 10}
    assert handled.served_by == "list_orders"
    assert shop.calls == ["get_order", "list_orders", "list_orders"]
