"""btm.support.effects: what a tool does, guessed from its name."""

from __future__ import annotations

from typing import Any

import pytest

from btm.model import Effect
from btm.support.effects import guess_effect, is_general, name_words


@pytest.mark.parametrize(
    "name",
    [
        "get_order_details",
        "list_user_orders",
        "searchFlights",
        "find_user_id_by_email",
        "calculate",
        "OrderApi.get_order",
        "mcp__github__list_issues",
        "check-status",
        "READ_FILE",
        "describe",
        "github_list_issues",
        "posting_get_login_status",
        "fetch_and_show",
        "is_available",
        "ls",
    ],
)
def test_a_reading_verb_in_front_means_a_read(name: str) -> None:
    assert guess_effect(name) is Effect.READ


@pytest.mark.parametrize(
    "name",
    [
        "cancel_order",
        "book",
        "update",
        "find_or_create_user",
        "check_and_update",
        "frobnicate",
        "",
        "🙂",
        "getaway",
        "order_get",
        "transfer_to_human_agents",
        "cd",
        "x" * 1_000,
    ],
)
def test_everything_else_is_taken_for_a_write(name: str) -> None:
    assert guess_effect(name) is Effect.WRITE


def test_names_of_every_style_split_into_the_same_words() -> None:
    assert {name_words(n) for n in ("getOrderV2", "get_order_v2", "GET-order.V2", "GetOrder/v2")} == {
        ("get", "order", "v", "2")
    }


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("bash", {"command": "ls"}), ("execute_code", {"code": "x"}), ("run_sql", {"query": "select 1"}),
        ("http_request", {"url": "https://example.com", "method": "GET"}), ("browser_navigate", {"url": "x"}),
        ("mcp__shell__run", {"command": "ls"}), ("python_repl", {"input": "1"}), ("fetch", {"url": "x"}),
        ("do_it", {"cmd": "ls"}), ("executeCommand", {}),
    ],
)  # fmt: skip
def test_a_tool_that_takes_any_command_is_told_by_its_name_and_arguments(
    name: str, arguments: dict[str, Any]
) -> None:
    assert is_general(name, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_order", {"order_id": "o1"}), ("check_promo_code", {"code": "X"}), ("search", {"query": "x"}),
        ("run_build", {"target": "all"}), ("fetch_order", {"order_id": "o1"}), ("execute_trade", {"symbol": "X"}),
        ("query_orders", {"query": "x"}), ("open_ticket", {"title": "x"}),
    ],
)  # fmt: skip
def test_a_tool_for_one_thing_is_not(name: str, arguments: dict[str, Any]) -> None:
    assert not is_general(name, arguments)


@pytest.mark.parametrize("name", ["read_and_mark_seen", "get_or_reserve", "fetch_then_notify"])
def test_a_deed_behind_an_and_is_a_write_even_if_it_is_as_often_a_noun(name: str) -> None:
    assert guess_effect(name) is Effect.WRITE


@pytest.mark.parametrize("name", ["get_log", "email_search", "list_labels", "get_name_and_address"])
def test_the_same_words_alone_are_not(name: str) -> None:
    assert guess_effect(name) is Effect.READ
