"""fallback_maps/bfcl.yaml against BFCL's own tools, on the scenarios of its multi-turn tasks.

Needs ``pip install --no-deps bfcl-eval mpmath``; skipped without.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from served import share_served

from btm.fallback import FallbackMap
from btm.maps.check import check_map
from btm.maps.finding import Severity
from btm.maps.tools import from_json
from btm.model import Effect, ToolCall

bfcl_eval = pytest.importorskip("bfcl_eval", reason="bfcl-eval is not installed")
pytest.importorskip("mpmath", reason="mpmath, which bfcl-eval's arithmetic needs, is not installed")

DATA = Path(bfcl_eval.__file__).parent / "data"
MODULES = {
    "GorillaFileSystem": "gorilla_file_system", "MathAPI": "math_api", "MessageAPI": "message_api",
    "TwitterAPI": "posting_api", "TicketAPI": "ticket_api", "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking", "VehicleControlAPI": "vehicle_control",
}  # fmt: skip
MAP = FallbackMap.load("bfcl")
ROWS = [json.loads(line) for line in (DATA / "BFCL_v4_multi_turn_base.json").read_text().splitlines()]
ANSWERS = (DATA / "possible_answer" / "BFCL_v4_multi_turn_base.json").read_text().splitlines()
Call = tuple[ToolCall, dict[str, Any]]


def kit_of(name: str, config: dict[str, Any] | None = None) -> Any:
    package = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
    kit = getattr(import_module(f"{package}.{MODULES[name]}"), name)()
    if hasattr(kit, "_load_scenario"):
        kit._load_scenario(deepcopy(config or {}))
    return kit


def scenarios(name: str) -> Iterator[Any]:
    """The environment of every task that starts with a state of its own, the same state once."""
    seen = set()
    for row in ROWS:
        config = row["initial_config"].get(name)
        if config and (text := json.dumps(config, sort_keys=True)) not in seen:
            seen.add(text)
            yield kit_of(name, config)


def shares(calls: Iterator[tuple[Any, list[Call]]], target: str) -> float:
    """The mean share over all calls, each made in its own scenario."""
    total, given = 0, 0.0
    for kit, made in calls:
        if made:
            given += share_served(MAP, made, target, lambda t, a, kit=kit: answered(kit, t, a)) * len(made)
            total += len(made)
    assert total >= 8, f"only {total} calls to measure on"
    return given / total


def answered(kit: Any, tool: str, arguments: Any) -> Any:
    result = getattr(kit, tool)(**arguments)
    if isinstance(result, dict) and "error" in result:
        raise ValueError(result["error"])
    return result


def test_the_map_is_true_to_the_real_tools() -> None:
    tools = [
        from_json(json.loads(line))
        for module in MODULES.values()
        for line in (DATA / "multi_turn_func_doc" / f"{module}.json").read_text().splitlines()
    ]
    findings, model = check_map("bfcl", tools)
    assert [f for f in findings if f.severity is Severity.ERROR] == []
    assert not any(f.code in ("unmapped-tool", "missing-tool") for f in findings)
    assert model is not None
    assert len(model.tools) == 128


def files() -> Iterator[tuple[Any, str]]:
    """Every file of every scenario, with the file system standing in its folder."""
    for kit in scenarios("GorillaFileSystem"):
        folders = [kit.root]
        while folders:
            folder = folders.pop()
            for name, item in folder.contents.items():
                if hasattr(item, "contents"):
                    folders.append(item)
                else:
                    kit._current_dir = folder
                    yield kit, name


def file_calls(tool: str, **more: Any) -> Iterator[tuple[Any, list[Call]]]:
    for kit, name in files():
        yield kit, [(ToolCall(tool, {"file_name": name, **more}), {})]


@pytest.mark.parametrize(
    ("tool", "target", "more"),
    [
        ("cat", "tail", {}), ("tail", "cat", {}), ("tail", "cat", {"lines": 2}), ("sort", "cat", {}),
        ("grep", "cat", {"pattern": "e"}), ("grep", "cat", {"pattern": "Report"}),
        ("wc", "cat", {}), ("wc", "cat", {"mode": "l"}), ("wc", "cat", {"mode": "w"}), ("wc", "cat", {"mode": "c"}),
    ],
)  # fmt: skip
def test_what_one_file_tool_reads_another_gives_in_full(tool: str, target: str, more: dict[str, Any]) -> None:
    assert MAP.substitutes(tool) == {target}
    assert MAP.candidates(ToolCall(tool), None, {})[0].coverage == 1.0
    assert shares(file_calls(tool, **more), target) == 1.0


def arithmetic(tool: str) -> list[Call]:
    """Calls of a tool that BFCL's gold answers make, and a few more."""
    found: list[Call] = []
    parameters = {
        "add": "a b",
        "subtract": "a b",
        "divide": "a b",
        "percentage": "part whole",
        "mean": "numbers",
        "sum_values": "numbers",
    }
    names = parameters[tool].split()
    for text in re.findall(rf"\b{tool}\(([^()]*)\)", "\n".join(ANSWERS).replace('\\"', '"')):
        node = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(node, ast.Call)
        values = {k.arg: k.value for k in node.keywords} | dict(zip(names, node.args, strict=False))
        try:
            found.append((ToolCall(tool, {str(k): ast.literal_eval(v) for k, v in values.items()}), {}))
        except ValueError:  # an answer that computes its argument
            continue
    numbers = [(3, 4), (0.1, 0.2), (-7, 2.5), (1e9, 1e-3), (12, 5), (2, 3), (99.99, 7), (-1, -1)]
    made = [
        dict(zip(names, pair, strict=True)) if len(names) == 2 else {"numbers": [*pair, 5]}
        for pair in numbers
    ]
    return found + [(ToolCall(tool, arguments), {}) for arguments in made]


@pytest.mark.parametrize(
    ("tool", "target"),
    [("add", "sum_values"), ("subtract", "add"), ("sum_values", "mean"), ("mean", "sum_values"),
     ("divide", "percentage"), ("percentage", "divide")],
)  # fmt: skip
def test_arithmetic_tools_stand_in_for_each_other_in_full(tool: str, target: str) -> None:
    kit = kit_of("MathAPI")
    assert MAP.candidates(ToolCall(tool), None, {})[0].coverage == 1.0
    assert shares(iter([(kit, arithmetic(tool))]), target) == 1.0


@pytest.mark.parametrize("target", ["get_user_tweets", "search_tweets"])
def test_a_tweet_is_found_among_its_authors_and_by_its_content(target: str) -> None:
    def calls() -> Iterator[tuple[Any, list[Call]]]:
        for kit in scenarios("TwitterAPI"):
            yield (
                kit,
                [
                    (
                        ToolCall("get_tweet", {"tweet_id": key}),
                        {"username": tweet["username"], "content": tweet["content"]},
                    )
                    for key, tweet in kit.tweets.items()
                ],
            )

    assert {c.tool: c.coverage for c in MAP.candidates(ToolCall("get_tweet"), None, {})}[target] == 1.0
    assert shares(calls(), target) == 1.0


def test_a_ticket_is_found_among_the_users_own_as_often_as_stated() -> None:
    def calls() -> Iterator[tuple[Any, list[Call]]]:
        for kit in scenarios("TicketAPI"):
            yield (
                kit,
                [(ToolCall("get_ticket", {"ticket_id": t["id"]}), {}) for t in kit.ticket_queue if "id" in t],
            )

    (offer,) = MAP.candidates(ToolCall("get_ticket"), None, {})
    assert offer.coverage == pytest.approx(shares(calls(), "get_user_tickets"), abs=0.01)


def travel() -> Iterator[Any]:
    for kit in scenarios("TravelAPI"):
        kit.access_token, kit.token_expires_in = "token", 3_600
        yield kit


def test_a_cards_balance_is_in_the_list_of_cards() -> None:
    calls = (
        (kit, [
            (ToolCall("get_credit_card_balance", {"access_token": "token", "card_id": card}), {})
            for card, value in kit.credit_card_list.items() if "balance" in value
        ])
        for kit in travel()
    )  # fmt: skip
    assert MAP.candidates(ToolCall("get_credit_card_balance"), None, {})[0].coverage == 1.0
    assert shares(calls, "get_all_credit_cards") == 1.0


def test_an_invoice_can_be_made_from_the_history_of_bookings() -> None:
    def calls() -> Iterator[tuple[Any, list[Call]]]:
        for kit in travel():
            card = next((c for c, v in kit.credit_card_list.items() if v.get("balance", 0) > 3_000), None)
            if card is None:
                continue
            kit.budget_limit = None
            booked = kit.book_flight("token", card, "2024-11-01", "SFO", "LAX", "economy")
            assert "booking_id" in booked
            arguments = {"access_token": "token", "booking_id": booked["booking_id"]}
            yield kit, [(ToolCall("retrieve_invoice", arguments), {})]

    assert MAP.candidates(ToolCall("retrieve_invoice"), None, {})[0].coverage == 1.0
    assert shares(calls(), "get_booking_history") == 1.0


WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("GorillaFileSystem", "mkdir", {"dir_name": "new_folder"}),
    ("GorillaFileSystem", "touch", {"file_name": "new.txt"}),
    ("GorillaFileSystem", "echo", {"content": "hello", "file_name": "new.txt"}),
    ("MessageAPI", "add_contact", {"user_name": "Zed"}),
    ("MessageAPI", "send_message", {"receiver_id": "USR002", "message": "a new text"}),
    ("TwitterAPI", "post_tweet", {"content": "something quite new"}),
    ("TwitterAPI", "comment", {"tweet_id": 1, "comment_content": "a comment"}),
    ("TwitterAPI", "follow_user", {"username_to_follow": "zed"}),
    ("TicketAPI", "create_ticket", {"title": "a new title"}),
    ("TradingBot", "add_to_watchlist", {"stock": "AAPL"}),
    ("TravelAPI", "book_flight", {"access_token": "token", "card_id": "card", "travel_date": "2031-01-02",
                                  "travel_from": "SFO", "travel_to": "LAX", "travel_class": "economy"}),
    ("VehicleControlAPI", "setHeadlights", {"mode": "on"}),
    ("VehicleControlAPI", "activateParkingBrake", {"mode": "engage"}),
    ("VehicleControlAPI", "pressBrakePedal", {"pedalPosition": 0.5}),
]  # fmt: skip
STARTS: dict[str, dict[str, Any]] = {
    "TwitterAPI": {"authenticated": True, "tweets": {1: {"id": 1, "username": "u", "content": "c", "tags": []}}},
    "TicketAPI": {"current_user": "ann"},
    "MessageAPI": {"current_user": "USR001", "inbox": []},
    "TradingBot": {"authenticated": True, "watch_list": []},
    "TravelAPI": {"access_token": "token", "token_expires_in": 3_600, "budget_limit": None,
                  "credit_card_list": {"card": {"balance": 90_000}}},
}  # fmt: skip


@pytest.mark.parametrize(("name", "tool", "arguments"), WRITES, ids=[w[1] for w in WRITES])
def test_a_write_is_seen_not_done_before_and_done_after(
    name: str, tool: str, arguments: dict[str, Any]
) -> None:
    kit = kit_of(name)
    for attribute, value in deepcopy(STARTS.get(name, {})).items():
        setattr(kit, attribute, value)
    if tool == "echo":
        kit.touch("new.txt")  # echo only writes into files that exist
    call = ToolCall(tool, arguments, Effect.WRITE)
    verifier = MAP.verifier(call, {})
    assert verifier is not None
    assert verifier.complete
    before = getattr(kit, verifier.tool)(**verifier.arguments)
    assert MAP.done(call, before) in (
        False,
        None,
    )  # None: the reader does not find the file that is to be written
    answered(kit, tool, arguments)
    assert MAP.done(call, getattr(kit, verifier.tool)(**verifier.arguments)) is True
