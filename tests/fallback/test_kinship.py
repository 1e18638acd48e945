"""Which later call asked for what a failed one did, without a map."""

from __future__ import annotations

from typing import Any

import pytest

from btm.fallback.relations import related
from btm.model import ToolCall

Asked = tuple[str, dict[str, Any]]


@pytest.mark.parametrize(
    ("failed", "call", "result"),
    [
        (("get_order", {"order_id": "o17"}), ("list_orders", {"user_id": "u1"}), [{"order_id": "o17"}]),
        (("get_patient", {"name": "Ada Byron"}), ("search_patients", {"query": "ada byron"}), []),
        (("web_search", {"query": "rain in spain"}), ("news_search", {"query": "rain in spain"}), ["r"]),
        (("getInvoice", {"id": 4711123}), ("fetch_invoices", {"ids": [4711123]}), "{}"),
        (("list_inbox", {}), ("read_inbox", {}), ["mail"]),
    ],
)
def test_what_asks_for_the_same_is_related(failed: Asked, call: Asked, result: Any) -> None:
    assert related(ToolCall(*failed), ToolCall(*call), result)


@pytest.mark.parametrize(
    ("failed", "call", "result"),
    [
        (
            ("get_weather", {"city": "Berlin", "date": "2026-03-11"}),
            ("list_slots", {"date": "2026-03-11"}),
            ["10:00"],
        ),
        (("get_weather", {"city": "Berlin"}), ("list_trains", {"to": "Berlin"}), [{"to": "Berlin"}]),
        (("get_a", {"q": "a"}), ("get_b", {"q": "a"}), "b"),
        (("get_order", {"order_id": "o17"}), ("get_user", {"user_id": "u1"}), {"name": "Ada"}),
        (("get_order", {"order_id": "o17"}), ("list_orders", {"user_id": "u1"}), [{"order_id": "o18"}]),
        (("get_order", {"order_id": "o17"}), ("list_orders", {"user_id": "u1"}), None),
        (("get_time", {}), ("get_weather", {}), "sun"),
    ],
)
def test_what_merely_comes_next_is_not(failed: Asked, call: Asked, result: Any) -> None:
    assert not related(ToolCall(*failed), ToolCall(*call), result)
