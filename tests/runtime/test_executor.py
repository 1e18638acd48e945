"""What act mode serves, and what it says about it: an answer is one only if it answers the call."""

from __future__ import annotations

from typing import Any

from core_kit import Clock, Tools, memory_of

from btm.fallback import FallbackMap
from btm.model import Action, Effect, ErrorKind, EvidenceKey, ToolCall
from btm.runtime.drivers import Handled

CLINIC = FallbackMap.from_text("""
version: 1
domain: clinic
tools:
  get_patient:
    effect: read
    takes: [patient_id]
    returns: [patient_id, name, allergies]
    fallbacks:
      - tool: list_patients
        coverage: full
        arguments: {}
        pick: "result | selectattr('patient_id', 'eq', call.patient_id) | first"
      - {tool: peek_patient, coverage: partial, lacks: [allergies]}
  list_patients: {effect: read, takes: []}
  peek_patient: {effect: read, takes: [patient_id]}
  book:
    effect: write
    takes: [patient_id, day]
    verify:
      tool: list_bookings
      arguments: {day: "{{ call.day }}"}
      done_when: "result.bookings | selectattr('patient_id', 'eq', call.patient_id) | list | count > 0"
      pick: "result.bookings | selectattr('patient_id', 'eq', call.patient_id) | first"
    fallbacks: [{tool: phone_in, coverage: full}]
  list_bookings: {effect: read, takes: [day], expect: {required: [bookings, open]}}
  phone_in: {effect: write, takes: [patient_id, day]}
  human: {role: escalation}
""")
DOWN = PermissionError("401 Unauthorized: the key was revoked")
SLOW = TimeoutError("timed out")
ADA = {"patient_id": "p1", "name": "Ada", "allergies": ["nuts"]}
BOB = {"patient_id": "p2", "name": "Bob", "allergies": []}
GET = ToolCall("get_patient", {"patient_id": "p1"}, Effect.READ, "talk", "1")
BOOK = ToolCall("book", {"patient_id": "p1", "day": "mon"}, Effect.WRITE, "talk", "1")


def act(
    call: ToolCall, **scripts: list[Any]
) -> tuple[Handled, Tools, dict[EvidenceKey, tuple[float, float]]]:
    clock, tools = Clock(), Tools(**scripts)
    with memory_of(clock, fallback_map=CLINIC, mode="act") as memory:
        handled = memory.call(call, tools)
        learned = {k: (round(b.worked), round(b.n - b.worked)) for k, b in memory.beliefs()}
    return handled, tools, learned


def test_a_substitute_that_holds_nothing_about_it_is_a_failed_one() -> None:
    handled, tools, learned = act(
        GET, get_patient=[DOWN], list_patients=[[BOB]], peek_patient=[{"patient_id": "p1", "name": "Ada"}]
    )
    assert tools.made == ["get_patient", "list_patients", "peek_patient"]
    assert handled.served_by == "peek_patient"
    assert handled.result == {"patient_id": "p1", "name": "Ada"}
    first = EvidenceKey("get_patient", ErrorKind.AUTH_ERROR, Action.SWITCH, "list_patients", 1)
    assert learned[first] == (0, 1)
    assert "holds nothing" in handled.trail[1].problem


def test_when_no_substitute_answers_the_agent_gets_the_error_and_not_another_patients_row() -> None:
    handled, _, _ = act(GET, get_patient=[DOWN], list_patients=["<html>"], peek_patient=[BOB])
    assert handled.error is DOWN
    assert handled.context is not None
    assert "human" in handled.context.text


def test_what_act_did_is_told_in_a_line() -> None:
    picked, _, _ = act(GET, get_patient=[DOWN], list_patients=[[BOB, ADA]])
    assert picked.done == "served by list_patients in place of get_patient after an auth error"
    part, _, _ = act(
        GET, get_patient=[DOWN], list_patients=[[]], peek_patient=[{"patient_id": "p1", "name": "A"}]
    )
    assert part.done.endswith("lacks: allergies")
    assert part.lacks == ("allergies",)
    again, _, _ = act(GET, get_patient=[SLOW, SLOW, ADA], list_patients=[DOWN], peek_patient=[DOWN])
    assert again.done.startswith("after a timeout, ")
    assert act(GET, get_patient=[ADA])[0].done == ""


def test_a_verified_write_answers_in_its_own_form() -> None:
    row = {"patient_id": "p1", "booking_id": "b9"}
    handled, tools, _ = act(BOOK, book=[SLOW], list_bookings=[{"bookings": [row], "open": 3}])
    assert tools.made == ["book", "list_bookings"]
    assert handled.result == row
    assert handled.done == "verified with list_bookings after a timeout: book went through"


def test_a_verification_that_finds_nothing_is_an_answer() -> None:
    # Neither the missing field nor the empty list is the point: done_when can be evaluated, and decides.
    handled, tools, _ = act(BOOK, book=[SLOW], list_bookings=[{"bookings": []}], phone_in=[{"ok": True}])
    assert tools.made[:2] == ["book", "list_bookings"]
    assert handled.outcome.ok
    assert len([tool for tool in tools.made if tool in ("book", "phone_in")]) == 2


def test_an_answer_that_was_there_is_not_thrown_away() -> None:
    half = {"complete": False, "truncated": True, **ADA}
    handled, _, _ = act(GET, get_patient=[SLOW, half], list_patients=[DOWN], peek_patient=[DOWN])
    assert handled.error is None
    assert handled.result is half
    assert handled.outcome.kind is ErrorKind.PARTIAL_DATA
    assert handled.context is not None  # the warning


def test_a_write_that_answers_in_another_form_is_not_done_again_elsewhere() -> None:
    made = FallbackMap.from_text("""
version: 1
domain: d
tools:
  pay: {effect: write, returns: [receipt], expect: {required: [receipt]}, fallbacks: [
    {tool: queue, coverage: full}, {tool: cheque, coverage: 0.9}]}
  queue: {effect: write}
  cheque: {effect: write}
""")
    tools = Tools(pay=[DOWN], queue=[{"status": "queued"}], cheque=[{"receipt": 1}])
    with memory_of(fallback_map=made, mode="act") as memory:
        handled = memory.call(ToolCall("pay", {"sum": 5}, Effect.WRITE, "talk", "1"), tools)
    assert tools.made == ["pay", "queue"]
    assert handled.result == {"status": "queued"}


def test_a_substitute_that_did_not_answer_is_told_to_the_agent_that_asked_it() -> None:
    tools = Tools(get_patient=[DOWN], list_patients=[[BOB]])
    with memory_of(fallback_map=CLINIC, mode="advise") as memory:
        memory.call(GET, tools)
        handled = memory.call(ToolCall("list_patients", {}, Effect.READ, "talk", "2"), tools)
    assert handled.outcome.ok
    assert handled.context is not None
    assert "next: switch to peek_patient" in handled.context.text
