"""What the audit's rules say about conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from shared_data import shared

from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.logs.audit import Annotation, annotate
from btm.logs.conversation import Conversation, RecordedCall
from btm.logs.listening import Listener
from btm.model import ToolCall

MAP = FallbackMap.from_text("""
version: 1
domain: travel
tools:
  search_flights:
    effect: read
    fallbacks: [{tool: search_partners, coverage: full}]
  search_partners: {effect: read}
  book: {effect: write}
  set_seat: {effect: write, idempotent: true}
  give_up: {role: escalation}
""")
EMPTY = FallbackMap.empty()
TIMEOUT = "Error: request timed out"
NOT_FOUND = "Error: order not found"
EXPIRED = "Error: 401 Unauthorized: token expired"

Said = tuple[str, str, dict[str, Any]]


def turn(*calls: Said) -> tuple[Said, ...]:
    return calls


def one(tool: str, answer: str, **arguments: Any) -> tuple[Said, ...]:
    return turn((tool, answer, arguments))


def annotations(*turns: tuple[Said, ...], fallback_map: FallbackMap = EMPTY) -> list[Annotation]:
    number = 0
    batches = []
    for calls in turns:
        batch = []
        for tool, answer, arguments in calls:
            batch.append(RecordedCall(ToolCall(tool, arguments, call_id=f"c{number}"), answer))
            number += 1
        batches.append(tuple(batch))
    conversation = Conversation("c", "log:1", tuple(batches))
    return list(annotate(Listener(fallback_map, now=1.0).listen(conversation), fallback_map))


def labels(*turns: tuple[Said, ...], fallback_map: FallbackMap = EMPTY) -> list[tuple[str, int]]:
    return [(str(a.label), a.step) for a in annotations(*turns, fallback_map=fallback_map)]


def test_the_same_call_more_than_three_times_is_a_loop() -> None:
    asked = one("get_order", NOT_FOUND, id="O-1")
    assert labels(asked, asked, asked) == []
    assert labels(asked, asked, asked, asked, asked) == [("loop", 3)]
    assert annotations(*[asked] * 5)[0].detail == "the same call 5 times"


def test_other_arguments_are_no_loop() -> None:
    assert labels(*[one("get_order", NOT_FOUND, id=f"O-{n}") for n in range(6)]) == []


def test_a_write_that_adds_up_must_not_be_made_twice() -> None:
    paid = one("pay_invoice", "done", id="I-1")
    found = annotations(paid, paid)
    assert [(a.label, a.step, a.detail) for a in found] == [
        ("idempotency_risk", 1, "made before at step 0, which succeeded")
    ]
    unsure = one("pay_invoice", TIMEOUT, id="I-1")
    assert annotations(unsure, paid)[0].detail.endswith("timeout, and may have gone through")


def test_reads_unknown_names_and_idempotent_writes_may_be_repeated() -> None:
    for tool in ("get_invoice", "sql", "update_address"):
        assert labels(one(tool, "done", id="I-1"), one(tool, "done", id="I-1")) == []
    twice = [one("set_seat", "done", seat="12A")] * 2
    assert labels(*twice, fallback_map=MAP) == []
    assert labels(*[one("book", "done", seat="12A")] * 2, fallback_map=MAP) == [("idempotency_risk", 1)]


def test_a_write_about_what_had_failed_builds_on_the_failure() -> None:
    found = annotations(
        one("get_order", NOT_FOUND, order_id="O-1"),
        one("send_parcel", "sent", order_id="O-1"),
        one("send_letter", "sent", order_id="O-1"),
    )
    assert [(a.label, a.step, a.detail) for a in found] == [
        ("cascade", 1, "get_order had failed at step 0 as not_found; used 'O-1' all the same")
    ]


def test_a_write_about_something_else_or_after_a_recovery_builds_on_nothing() -> None:
    failed = one("get_order", NOT_FOUND, order_id="O-1")
    assert labels(failed, one("send_parcel", "sent", order_id="O-2")) == []
    found = one("get_order", '{"status": "new"}', order_id="O-1", region="eu")
    assert labels(failed, found, one("send_parcel", "sent", order_id="O-1")) == []


def test_an_empty_search_followed_by_a_booking_of_something_else_is_no_cascade() -> None:
    searched = one("search_flights", "[]", origin="JFK", destination="SEA", date="2026-11-20")
    other = one(
        "search_onestop", '[{"flight_number": "HAT057"}]', origin="JFK", destination="SEA", date="2026-11-20"
    )
    booked = one("book_flight", "booked", flight_number="HAT057", origin="JFK", date="2026-11-20")
    assert labels(searched, other, booked) == []
    assert labels(searched, one("book_flight", "booked", origin="JFK", date="2026-11-20")) == []


def test_a_name_that_nobody_said_stands_for_what_the_failed_call_was_to_give() -> None:
    failed = one("find_user_id", "Error: 503 Service Unavailable", name="Ann", zip="94107")
    invented = one("cancel_order_of_user", "cancelled", user_id="ann_smith_1234")
    assert labels(failed, invented) == [("cascade", 1)]
    known = one("get_profile", '{"user_id": "ann_smith_1234"}', email="ann@example.com")
    assert labels(failed, known, invented) == []


def test_what_another_call_answered_about_is_no_guess() -> None:
    failed = one("get_order", "Error: 503 Service Unavailable", order_id="O-1")
    listed = one("list_orders", '[{"order_id": "O-1"}]', customer="c")
    assert labels(failed, listed, one("send_parcel", "sent", order_id="O-1")) == []


def test_calls_of_one_turn_do_not_build_on_each_other() -> None:
    together = turn(
        ("get_order", NOT_FOUND, {"order_id": "O-1"}), ("send_parcel", "sent", {"order_id": "O-1"})
    )
    assert labels(together) == []


def test_handing_over_with_a_substitute_untried_is_premature() -> None:
    failed, over = one("search_flights", EXPIRED, to="FRA"), one("give_up", "ok")
    found = annotations(failed, over, fallback_map=MAP)
    assert [(a.label, a.step, a.detail) for a in found] == [
        ("premature_escalation", 1, "still untried: search_partners for search_flights")
    ]
    tried = one("search_partners", EXPIRED, to="FRA")
    assert labels(failed, tried, over, fallback_map=MAP) == []


def test_handing_over_a_timeout_that_was_never_retried_is_premature_without_a_map_too() -> None:
    failed, over = one("get_order", TIMEOUT, id="O-1"), one("transfer_to_human_agents", "ok", why="x")
    assert labels(failed, over) == [("premature_escalation", 1)]
    assert labels(failed, failed, over) == []


def test_handing_over_when_nothing_failed_is_the_agents_right() -> None:
    assert (
        labels(one("get_order", '{"status": "new"}', id="O-1"), one("transfer_to_human_agents", "ok")) == []
    )


def write_log(path: Path) -> Path:
    messages: list[dict[str, Any]] = []
    for number in range(5):
        call = {"id": f"c{number}", "function": {"name": "send_mail", "arguments": '{"to": "x"}'}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "sent"})
    quiet = {"id": "b", "messages": [{"role": "user", "content": "hello"}]}
    rows = [{"id": "a", "reward": 0.0, "messages": messages}, quiet]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    return path


def test_the_command_prints_a_table_and_the_worst_conversations(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    said = CliRunner().invoke(cli, ["audit", str(log)], catch_exceptions=False)
    assert said.exit_code == 0
    assert "2 conversations, 5 answered calls; something was found in 1" in said.stdout
    rows = [" ".join(line.split()) for line in said.stdout.splitlines()]
    assert any(row.endswith("3 send_mail the same call 5 times") for row in rows)
    assert f"{log}:1, reward 0" in said.stdout.replace("\n", "")
    assert "idempotency_risk          4" in said.stdout
    assert f"skipped {log}:3: not JSON" in said.stdout.replace("\n", "")
    checked = CliRunner().invoke(cli, ["audit", str(log), "--check"])
    assert checked.exit_code == 1


def test_the_document_holds_every_annotation(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl")
    said = CliRunner().invoke(cli, ["audit", str(log), "--json"], catch_exceptions=False)
    document = json.loads(said.stdout)
    assert document["labels"]["loop"] == {"count": 1, "conversations": 1}
    assert document["labels"]["cascade"] == {"count": 0, "conversations": 0}
    found = [(a["step"], a["label"]) for a in document["annotations"]]
    assert found == [
        (1, "idempotency_risk"),
        (2, "idempotency_risk"),
        (3, "idempotency_risk"),
        (3, "loop"),
        (4, "idempotency_risk"),
    ]
    assert document["worst"][0]["source"] == f"{log}:1"
    assert [s["line"] for s in document["skipped"]] == [3]


def test_an_agent_that_hands_over_a_hundred_times_is_found_in_the_recorded_logs() -> None:
    log = shared("data/traces/tau2/airline-gpt-oss-120b.json")
    said = CliRunner().invoke(cli, ["audit", str(log), "--map", "airline", "--json"], catch_exceptions=False)
    loops = [a for a in json.loads(said.stdout)["annotations"] if a["label"] == "loop"]
    assert any(a["detail"] == "the same call 100 times" for a in loops)
