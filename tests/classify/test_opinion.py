"""The second opinion: what answers look like that no rule knows, where it has no say, and what it must not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import written_answers

from btm.classify import classify, opinion
from btm.classify.finding import Finding
from btm.model import Effect, ErrorKind, ToolCall

READ, WRITE = ToolCall("get_order"), ToolCall("create_order", effect=Effect.WRITE)


@pytest.mark.parametrize(
    "answer",
    [
        {
            "Data": None,
            "Outcome": "CUSTOMER_NOT_FOUND",
            "Explanation": "There is no customer with this number",
        },
        {"verdict": "DECLINED", "explanation": "the card is not allowed for this purchase"},
        {"processed": "0", "faultReason": "Missing mandatory element CustomerReference"},
    ],
)
def test_a_verdict_in_fields_that_no_list_knows_is_not_passed_as_sure(answer: dict[str, Any]) -> None:
    outcome = classify(WRITE, answer)
    assert not outcome.ok or outcome.suspected is not None


@pytest.mark.parametrize(
    "answer",
    [
        {"order_id": "W1", "status": "shipped", "notes": "the first attempt failed"},
        {"id": 4, "name": "error handling", "description": "How invalid input is rejected"},
        {"items": [{"id": 1, "state": "declined"}, {"id": 2, "state": "paid"}], "total": 2},
        {"temperature": -4, "unit": "C", "summary": "no rain expected"},
        {},
        {"count": 0},
        [],
    ],
)
def test_records_are_left_alone(answer: Any) -> None:
    assert opinion.chance(answer, None, READ, None) < opinion.FAILED


@pytest.mark.parametrize(
    "sentence",
    [
        "Paris is the capital of France. It lies on the Seine and has two million inhabitants.",
        "The order W22 was shipped on Monday and arrives at noon.",
        "It is the oldest of the three bridges, and it was rebuilt after the war.",
        "Ada lives in Lyon and works for the city since 2019.",
        "Your table for four is booked for Friday at half past seven.",
        "The next train to Bern leaves at 10:32 from platform 4.",
        "He has been a member since the spring of 2011.",
    ],
)
def test_sentences_of_fact_are_left_alone(sentence: str) -> None:
    assert classify(READ, sentence).ok


@pytest.mark.parametrize("path", written_answers.FILES, ids=lambda path: path.stem)
def test_what_it_learned_from_is_well_formed(path: Path) -> None:
    rows = [*written_answers.rows(path)]
    assert len(rows) > 100
    assert {row["label"] for row in rows} <= {"ok", *ErrorKind}
    assert {row["effect"] for row in rows} == {"read", "write"}
    assert all(row["outcome"]["value"] != "" for row in rows)


def test_a_tool_that_brings_errors_of_something_else_has_suspected_ones_at_most() -> None:
    answer = {"code": "E12", "message": "Invalid token supplied", "error_type": "auth"}
    assert classify(ToolCall("explain_error_code"), answer).ok


def test_what_has_one_meaning_is_not_reconsidered() -> None:
    sure = Finding(ErrorKind.RATE_LIMIT, "status:429", "", 0.97, 429)
    assert opinion.reconsidered(sure, "no such user, invalid name", 0.97, READ)[0] is sure


def test_a_failure_without_words_keeps_its_kind() -> None:
    bare = Finding(ErrorKind.UNKNOWN, "body:error", "", 0.2)
    assert opinion.reconsidered(bare, '{"status": "failed"}', 0.3, READ)[0] is bare


def test_a_likelier_kind_never_takes_a_writes_doubt_away() -> None:
    outcome = classify(WRITE, "503 while notifying: payment captured (id pay_1)")
    assert outcome.ambiguous


def test_hostile_structures_are_read_to_a_bound() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = {"error reason": deep, "other": [deep] * 3}
    assert 0.0 <= opinion.chance(deep, None, READ, None) <= 1.0
    assert 0.0 <= opinion.chance({str(n): "no " * 999 for n in range(5_000)}, None, READ, None) <= 1.0
    assert (
        0.0
        <= opinion.chance(
            {1: b"\x00", None: "9" * 5_000, ("a",): 10**400, "f": float("nan")}, None, READ, None
        )
        <= 1.0
    )
