"""Answers that give back what was sent: a hand-over that tells of a failure has not failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from btm.classify import classify
from btm.model import Effect, ErrorKind, ToolCall

FAILURE = "Booking B12 failed: request timed out, then 401 Unauthorized"


def outcome(result: Any, sent: Mapping[str, Any], effect: Effect = Effect.WRITE) -> ErrorKind | None:
    return classify(ToolCall("hand_over", dict(sent), effect, "c"), result=result).kind


@pytest.mark.parametrize(
    "answer",
    [
        f"The harbour master takes it from here: {FAILURE}",
        f"Noted: {FAILURE[:48]}",  # broken off
        f"Message sent to #ops\n> {FAILURE}\n",
        FAILURE,
        {"status": "sent", "message": FAILURE},
        {"id": 7, "detail": FAILURE},
        f'{{"id": 7, "message": "{FAILURE}"}}',
    ],
    ids=str,
)
def test_a_write_that_confirms_in_the_callers_own_words_worked(answer: Any) -> None:
    assert outcome(answer, {"summary": FAILURE, "priority": "high"}) is None


@pytest.mark.parametrize("sent", [{"notes": [FAILURE, "gave up"]}, {"case": {"why": FAILURE}}], ids=str)
def test_what_stands_inside_of_an_argument_is_an_echo_too(sent: Mapping[str, Any]) -> None:
    assert outcome(f"Handed over: {FAILURE}", sent) is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (f"Failed to send '{FAILURE}': channel_not_found", ErrorKind.NOT_FOUND),
        (f"Error: the note '{FAILURE}' was not saved: disk full", ErrorKind.QUOTA_EXHAUSTED),
        ({"message": "Permission denied", "summary": FAILURE}, ErrorKind.AUTH_ERROR),
        ("429 Too Many Requests", ErrorKind.RATE_LIMIT),
    ],
    ids=str,
)
def test_a_failure_beside_the_echo_is_one(answer: Any, kind: ErrorKind) -> None:
    assert outcome(answer, {"summary": FAILURE}) is kind


def test_a_read_that_gives_its_whole_question_back_has_not_answered_by_it() -> None:
    assert outcome("file not found", {"query": "file not found"}, Effect.READ) is ErrorKind.NOT_FOUND


def test_names_and_numbers_that_were_sent_stay() -> None:
    assert outcome("Order 17 not found", {"order": "17", "why": "not"}) is ErrorKind.NOT_FOUND


@pytest.mark.parametrize(
    ("asked", "answer", "kind"),
    [
        ("o1", "o1: 401 Unauthorized: token expired", "auth_error"),
        (7, "7: no such order", "not_found"),
        ("o1", "o1: shipped", None),
        ("o1", "o1: ", None),
        (10**5_000, "7: shipped", None),
        ("x" * 10**6, "x: shipped", None),
    ],
    ids=range(6),
)
def test_what_was_asked_for_may_stand_before_what_came_of_it(
    asked: object, answer: str, kind: str | None
) -> None:
    assert classify(ToolCall("get_order", {"id": asked}), answer).kind == kind


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("reject_invoice", {"status": "rejected", "reason": "Duplicate"}),
        ("revoke_key", {"status": "revoked", "message": "Key revoked"}),
        ("expire_token", {"status": "expired", "message": "Token expired now"}),
        ("abort_deployment", {"status": "aborted", "message": "Deployment aborted by user"}),
        ("decline_offer", {"accepted": False, "reason": "Too low"}),
        ("denyAccess", {"result": "denied", "message": "Access request denied"}),
        ("void_payment", {"status": "voided", "code": "V12", "message": "Payment voided"}),
    ],
)
def test_that_a_write_did_what_it_is_there_for_is_no_failure_of_it(tool: str, answer: Any) -> None:
    assert classify(ToolCall(tool, {}, Effect.WRITE), answer).kind is None


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("reject_invoice", {"status": "failed", "message": "Invoice already paid"}),
        ("reject_order", {"status": "rejected", "message": "Request rejected: missing permission"}),
        ("cancel_order", {"status": "rejected", "message": "Order cannot be cancelled"}),
        ("unblock_user", {"status": "blocked", "reason": "Policy"}),
        ("lift_ban", {"status": "banned", "message": "Member is still banned"}),
        ("lock_file", {"error": "file is locked"}),
        ("approve_loan", {"status": "rejected", "reason": "Score"}),
        ("block_user", {"success": False, "message": "User is not known"}),
    ],
)
def test_another_deed_or_a_failure_of_its_own_is_one(tool: str, answer: Any) -> None:
    assert classify(ToolCall(tool, {}, Effect.WRITE), answer).kind is not None
