"""Whether a substitute's result answers the failed call, in the form of the failed tool's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from btm.fallback import FallbackMap
from btm.fallback.answers import Answer
from btm.model import ErrorKind, Family, ToolCall

BOOKINGS = FallbackMap.from_text("""
version: 1
domain: clinic
tools:
  get_booking:
    effect: read
    takes: [booking_id]
    returns: [booking_id, patient, room]
    expect: {required: [booking_id, patient, room]}
    fallbacks:
      - tool: list_bookings
        coverage: full
        pick: "result | selectattr('booking_id', 'eq', call.booking_id) | first"
      - {tool: peek_booking, coverage: partial, lacks: [room]}
  list_bookings: {effect: read}
  peek_booking: {effect: read}
  transfer: {effect: write, irreversible: true, fallbacks: [
    {tool: queue_transfer, coverage: full}, {tool: fix_transfer, coverage: full, only_for: [caller]}]}
  queue_transfer: {effect: write}
  fix_transfer: {effect: write}
""")
CALL = ToolCall("get_booking", {"booking_id": "b1"})
FULL, PART = BOOKINGS.candidates(CALL, None, {})
ROW = {"booking_id": "b1", "patient": "Ada", "room": 3}


def answer(offer: Any, result: Any) -> Answer:
    return BOOKINGS.answer(CALL, offer, [result])


def test_a_pick_that_finds_the_row_answers() -> None:
    assert answer(FULL, [{"booking_id": "b2"}, ROW]) == Answer(ROW)


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        ([{"booking_id": "b2", "patient": "Bob", "room": 1}], "holds nothing about"),
        ([], "holds nothing about"),
        ("not a list of bookings", "cannot read"),
        ([{"id": "b1"}], "cannot read"),
        ([{"booking_id": "b1", "patient": "Ada"}], "room is missing"),
    ],
)
def test_a_pick_that_finds_nothing_or_cannot_be_read_is_no_answer(result: Any, problem: str) -> None:
    found = answer(FULL, result)
    assert not found.ok
    assert problem in found.problem


def test_without_a_pick_the_result_itself_is_the_answer_if_it_has_the_form() -> None:
    raw = '{"booking_id": "b1", "patient": "Ada"}'
    assert answer(PART, raw) == Answer(raw)  # the room is among what it is known to lack
    assert "patient is missing" in answer(PART, {"booking_id": "b1"}).problem
    assert "another booking_id" in answer(PART, {"booking_id": "b7", "patient": "Bob"}).problem
    assert answer(PART, {"booking_id": "B-1", "patient": "Ada"}).ok


def test_an_empty_answer_of_a_partial_substitute_tells_nothing() -> None:
    assert "empty" in answer(PART, {}).problem


FIRST = {"content": [{"type": "text", "text": '[{"booking_id": "b1"'}], "isError": False}


@pytest.mark.parametrize(
    "result",
    [
        SimpleNamespace(content=[], structuredContent={"result": [ROW]}, isError=False),
        SimpleNamespace(content=[], structured_content={"result": [ROW]}, is_error=False),
        {**FIRST, "structuredContent": {"result": [ROW]}},
        SimpleNamespace(type="tool", content="[]", artifact={"structured_content": {"result": [ROW]}}),
    ],
)
@pytest.mark.parametrize("written", ["result", "result.result"])
def test_results_of_mcp_are_read_in_both_generations_and_structured_content_first(
    result: Any, written: str
) -> None:
    made = FallbackMap.from_text(f"""
version: 1
domain: clinic
tools:
  get_booking:
    effect: read
    fallbacks:
      - tool: list_bookings
        coverage: full
        pick: "{written} | selectattr('booking_id', 'eq', call.booking_id) | first"
  list_bookings: {{effect: read}}
  cancel: {{effect: write, verify: {{tool: list_bookings, done_when: "{written} | length == 1"}}}}
""")
    (offer,) = made.candidates(CALL, None, {})
    assert made.answer(CALL, offer, [result]).value == ROW
    assert made.done(ToolCall("cancel"), result) is True


@pytest.mark.parametrize("kind", [kind for kind in ErrorKind if kind.family is Family.CALLER])
def test_values_that_one_tool_refused_are_not_sent_to_another(kind: ErrorKind) -> None:
    offers = BOOKINGS.candidates(ToolCall("transfer", {"iban": "DE00"}), kind, {})
    assert [offer.tool for offer in offers] == ["fix_transfer"]  # the map says so itself
