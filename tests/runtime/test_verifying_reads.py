"""A write is in doubt and the read that was to settle it is down: the read has ways round it like any other."""

from __future__ import annotations

from typing import Any

import pytest

from btm import ToolMemory
from btm.fallback import FallbackMap
from btm.model import ToolCall

ORDERS = FallbackMap.from_text(
    """
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - tool: list_orders
        coverage: full
        arguments: {user_id: "{{ known.user_id }}"}
        pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
  cancel_order:
    effect: write
    irreversible: true
    verify:
      tool: get_order
      arguments: {order_id: "{{ call.order_id }}"}
      done_when: "result.status == 'cancelled'"
  list_orders: {effect: read}
  get_user: {effect: read}
  call_support: {role: escalation}
"""
)


class Shop:
    """get_order is always down; cancel_order times out once, before or after the order is cancelled."""

    def __init__(self, *, happened: bool, list_is_down: bool = False) -> None:
        self.made: list[str] = []
        self.status = "open"
        self._happened, self._list_is_down = happened, list_is_down

    def get_user(self, email: str) -> dict[str, Any]:
        self.made.append("get_user")
        return {"user_id": "u1"}

    def get_order(self, order_id: str) -> dict[str, Any]:
        self.made.append("get_order")
        raise ConnectionError("503 Service Unavailable")

    def list_orders(self, user_id: str) -> list[dict[str, Any]]:
        self.made.append("list_orders")
        if self._list_is_down:
            raise ConnectionError("503 Service Unavailable")
        return [{"order_id": "S1", "status": self.status, "user_id": "u1"}]

    def cancel_order(self, order_id: str) -> dict[str, Any]:
        self.made.append("cancel_order")
        if self.made.count("cancel_order") == 1:
            self.status = "cancelled" if self._happened else "open"
            raise TimeoutError("timed out")
        self.status = "cancelled"
        return {"order_id": order_id, "status": "cancelled"}


def cancel(shop: Shop, mode: str) -> Any:
    memory = ToolMemory.open(None, fallback_map=ORDERS, mode=mode, sleep=lambda _: None)
    tools = {
        t.__name__: memory.wrap(t)
        for t in (shop.get_user, shop.get_order, shop.list_orders, shop.cancel_order)
    }
    with memory.conversation("c"):
        tools["get_user"](email="a")
        return tools["cancel_order"](order_id="S1")


def test_a_write_that_happened_is_seen_through_the_substitute_of_its_verifying_read() -> None:
    shop = Shop(happened=True)
    cancel(shop, "act")
    assert shop.made.count("cancel_order") == 1
    assert shop.made[-1] == "list_orders"


def test_a_write_that_did_not_happen_is_repeated_once_a_substitute_has_shown_that() -> None:
    shop = Shop(happened=False)
    assert cancel(shop, "act")["status"] == "cancelled"
    assert shop.made.count("cancel_order") == 2
    assert shop.made.index("list_orders") < len(shop.made) - 1


def test_where_nothing_shows_what_a_write_did_it_is_not_repeated() -> None:
    shop = Shop(happened=False, list_is_down=True)
    with pytest.raises(TimeoutError):
        cancel(shop, "act")
    assert shop.made.count("cancel_order") == 1
    assert len(shop.made) <= 14


def test_in_advise_mode_the_agent_is_told_that_a_write_was_not_done_whichever_read_shows_it() -> None:
    shop = Shop(happened=False)
    memory = ToolMemory.open(None, fallback_map=ORDERS, mode="advise", sleep=lambda _: None)

    def call(tool: str, **arguments: Any) -> Any:
        made = ToolCall(tool, arguments, memory.effect_of(tool), "c")
        return memory.call(made, lambda name, given: getattr(shop, name)(**given))

    call("get_user", email="a")
    call("cancel_order", order_id="S1")
    call("get_order", order_id="S1")
    shown = call("list_orders", user_id="u1")
    assert shown.context is not None
    assert 'next: retry cancel_order {"order_id":"S1"}' in shown.context.text
