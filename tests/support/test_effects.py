"""btm.support.effects: what a tool does, guessed from its name."""

from __future__ import annotations

from typing import Any

import pytest

from btm.model import Effect
from btm.support.effects import guess, guess_effect, is_general, name_words


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


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("weather", "Marine weather."),
        ("tide_table", "This tool returns the tides of a harbour."),
        ("exchange_rates", "Retrieves today's rates."),
        ("order_status", "Get the status of an order."),
        ("customers", "Useful for looking up customers by mail address."),
        ("wikipedia", ""),
        ("gallon_to_liter", "Converts the gallon to liter."),
    ],
)
def test_a_description_that_tells_of_a_look_means_a_read(name: str, description: str) -> None:
    assert guess(name, description) == (Effect.READ, True)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_refund", "Issue a refund to the customer."),
        ("list_item_for_sale", "Puts an item up for sale."),
        ("check_in_guest", ""),
        ("pilot_desk", "Reserves a pilot."),
        ("trello_move_card", ""),
        ("order_status", ""),
    ],
)
def test_a_deed_outweighs_a_name_that_reads(name: str, description: str) -> None:
    assert guess(name, description) == (Effect.WRITE, True)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("vessel_schedule", "Arrivals and departures of a vessel."),
        ("customer", "Look up a customer and update it."),
        ("return_book", "Return a book to the library."),
        ("bücher", "Gibt alle Bücher zurück."),
        ("frobnicate", "\0 \ud83d" * 10_000),
        ("x", ""),
    ],
)
def test_where_nothing_tells_a_write_is_assumed(name: str, description: str) -> None:
    assert guess(name, description) == (Effect.WRITE, False)


@pytest.mark.parametrize(
    "name",
    [
        "list_item_for_sale", "list_property", "check_in_guest", "hotel_check_out", "check_off_item", "list_create",
        "list_add_item", "status_update", "search_index_rebuild", "query_cancel", "manage_list_entry", "archive_list",
        "snooze_list", "message_read", "mark_message_read", "post_status", "custom_graphql_query", "save_search",
    ],
)  # fmt: skip
def test_a_name_that_only_looks_like_a_read_is_a_write(name: str) -> None:
    assert guess_effect(name) is Effect.WRITE


@pytest.mark.parametrize(
    "name",
    [
        "calendar_app_list_events", "mail_inbox_list_messages", "domain_zone_get", "order_get", "house_config_get_scene",
        "payees_get", "server_status", "list_report_forecasts", "search_order", "list_open_issues", "get_update_history",
    ],
)  # fmt: skip
def test_a_reading_verb_behind_a_namespace_or_at_the_end_means_a_read(name: str) -> None:
    assert guess_effect(name) is Effect.READ
