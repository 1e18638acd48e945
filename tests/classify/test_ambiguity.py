from __future__ import annotations

from typing import Any

import pytest

from btm import ToolMemory
from btm.classify import classify
from btm.model import Effect, ErrorKind, ToolCall

WRITE = ToolCall("create_order", {"item": "pan"}, Effect.WRITE)

DONE = [
    "Order 17 was created, but sending the confirmation e-mail failed: 429 Too Many Requests",
    "Payment captured but receipt service returned 429 rate limit",
    "saved. audit log: rate limit exceeded, try again in 1s",
    "Order created but the receipt service is temporarily unavailable (connection refused)",
    "record inserted; cache refresh failed: Connection refused",
    "Charge succeeded; webhook notification failed: 401 Unauthorized",
]
NOT_DONE = [
    "Too many requests sent in a given amount of time",
    "429 Too Many Requests: no order was created",
    "The order was not created: rate limit exceeded",
    "Error: rate limit exceeded, the request was rejected",
    "Connection refused before the order was placed",
    "You are not authorized to create orders",
    "Error: quota exceeded, nothing was saved",
]


@pytest.mark.parametrize("text", DONE)
def test_a_write_that_says_it_was_done_may_have_happened_whatever_failed_then(text: str) -> None:
    for outcome in (classify(WRITE, error=RuntimeError(text)), classify(WRITE, {"error": text})):
        assert not outcome.ok
        assert outcome.ambiguous


@pytest.mark.parametrize("text", NOT_DONE)
def test_a_refused_write_did_not_happen(text: str) -> None:
    outcome = classify(WRITE, error=RuntimeError(text))
    assert (outcome.ok, outcome.ambiguous) == (False, False)


def test_a_tool_that_gave_another_form_than_it_declared_has_run() -> None:
    text = (
        "Since response_format='content_and_artifact' a two-tuple of the message content and raw tool output is "
        "expected. Instead, generated response is of type: <class 'str'>."
    )
    outcome = classify(WRITE, error=ValueError(text))
    assert (outcome.kind, outcome.ambiguous) == (ErrorKind.UNKNOWN, True)


def test_that_something_was_done_is_a_reason_where_the_caller_is_at_fault() -> None:
    outcome = classify(WRITE, error=RuntimeError("Error: the order was cancelled and cannot be changed"))
    assert (outcome.ok, outcome.ambiguous) == (False, False)


@pytest.mark.parametrize("text", DONE)
def test_a_write_that_says_it_was_done_is_not_repeated(text: str) -> None:
    made: list[Any] = []

    def create_order(item: str) -> str:
        made.append(item)
        raise RuntimeError(text)

    with (
        ToolMemory.open(None, mode="act", sleep=lambda _: None) as memory,
        pytest.raises(RuntimeError, match=text[:5]),
    ):
        memory.wrap(create_order)("pan")
    assert made == ["pan"]
