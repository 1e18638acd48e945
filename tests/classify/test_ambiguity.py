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


@pytest.mark.parametrize(
    "text",
    [
        "Issue #12 was created, but reading back its revision failed: 429 rate limit exceeded, retry after 1 s",
        "APIError: [429]: Quota exceeded for 'Read requests', limit 'Read requests per minute'.\nData written successfully",
        "Error: message sent; could not store it in Sent: 503 Service Unavailable",
        "429 Too Many Requests (row inserted)",
        "Rate limited while fetching the new ticket. Ticket TCK-9 created.",
        "Successfully created order 55. Error: rate limit exceeded when fetching status",
        "created issue PROJ-12; then 429",
        "Error: 429. Note: the record has been saved.",
        "503 while notifying: payment captured (id pay_1)",
        'HTTP 429\nbody: {"id": 7, "status": "created"}',
        "Your comment was posted. Failed to refresh page: 429",
        "rate_limit: upload complete; thumbnail generation throttled",
        "Email has been queued, tracking pixel failed: 429 rate limit",
        "1 row affected. Warning: 429 rate limit on index refresh",
        "429: quota exceeded after insert of row 12 succeeded",
        "Wrote 3 rows; subsequent read failed with 429",
        "Booking confirmed (#8812). Could not send SMS: 429 rate limit",
        "429 Too Many Requests. Tug T1 was assigned to Aurora.",
        "guest was checked in; key card printer timed out",
        "Motion 12 filed. 503 while notifying the parties",
    ],
)
@pytest.mark.parametrize("raised", [True, False])
def test_an_error_text_that_says_it_was_done_is_in_doubt_wherever_it_says_so(text: str, raised: bool) -> None:
    call = ToolCall("create_issue", {}, Effect.WRITE)
    outcome = classify(call, error=RuntimeError(text)) if raised else classify(call, result=text)
    assert outcome.ok or outcome.ambiguous


@pytest.mark.parametrize(
    "text",
    [
        "429 Too Many Requests: the row was not created",
        "rate limit exceeded: 100 requests were made in the last minute",
        "Rate limit exceeded. Nothing was saved.",
        "Could not create issue: 429 rate limit exceeded",
        "429 rate limit: failed to write data",
        "429: order could not be placed",
        "Quota exceeded; no data was written",
        "429 too many requests have been made",
        "429 rate limited before the payment was sent",
        "429: Your request was not processed",
        "429: no tug was assigned",
        "429 rate limit: could not be checked in",
        "Rate limit reached: 60 messages sent per minute",
        "Error 429: API key created today has limited quota",
        '429 {"created_at": "2026-01-01", "message": "slow down"}',
    ],
)
def test_an_error_text_that_says_it_was_not_done_leaves_no_doubt(text: str) -> None:
    assert not classify(ToolCall("create_issue", {}, Effect.WRITE), error=RuntimeError(text)).ambiguous


@pytest.mark.parametrize(
    "text",
    [
        "page.goto: net::ERR_CONNECTION_RESET at https://shop.example",
        "net::ERR_EMPTY_RESPONSE",
        "net::ERR_TIMED_OUT",
        "Network error",
        "Connection error.",
        "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
        "unexpected EOF while reading response",
    ],
)
def test_a_lost_line_of_which_nobody_knows_when_leaves_a_write_in_doubt(text: str) -> None:
    assert classify(WRITE, error=RuntimeError(text)).ambiguous


@pytest.mark.parametrize(
    "text", ["net::ERR_CONNECTION_REFUSED", "net::ERR_NAME_NOT_RESOLVED", "Network is unreachable"]
)
def test_a_line_that_never_was_does_not(text: str) -> None:
    assert not classify(WRITE, error=RuntimeError(text)).ambiguous


def test_where_the_classifier_itself_fails_a_write_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("a damaged rule file")

    monkeypatch.setattr("btm.classify.engine.exceptions.of_exception", broken)
    assert classify(WRITE, error=TimeoutError()).ambiguous
    assert not classify(ToolCall("get_order", effect=Effect.READ), error=TimeoutError()).ambiguous


class AnsweredError(Exception):
    """What an HTTP client raises for a failing status."""

    def __init__(self, status: int, text: str = "the request failed") -> None:
        super().__init__(text)
        self.status_code = status


@pytest.mark.parametrize(
    "status", [401, 403, 404, 405, 413, 415, 421, 422, 425, 429, 431, 501, 505, 507, 511, 521, 523, 526, 530]
)
def test_a_status_that_says_that_the_server_did_not_act_leaves_no_doubt(status: int) -> None:
    assert not classify(WRITE, error=AnsweredError(status)).ambiguous


@pytest.mark.parametrize("status", [408, 499, 500, 502, 503, 504, 520, 522, 524, 598])
def test_a_status_that_does_not_tell_how_far_a_write_came_leaves_it_in_doubt(status: int) -> None:
    assert classify(WRITE, error=AnsweredError(status)).ambiguous


@pytest.mark.parametrize(
    "said",
    [
        "503 Service Unavailable: the service is down for maintenance",
        "Service is in maintenance mode",
        {"error": {"code": 503, "message": "scheduled maintenance in progress"}},
        "<html><head><title>503 Service Temporarily Unavailable</title></head><body>Down for maintenance</body></html>",
        "503 Service Unavailable: no server is available to handle this request",
        "Connection timed out while connecting to host",
        "dial tcp 10.0.0.1:443: i/o timeout",
        "lock wait timeout exceeded; try restarting transaction",
        "[SSL: WRONG_VERSION_NUMBER] wrong version number",
    ],
)
def test_a_service_that_took_nothing_in_leaves_no_doubt(said: Any) -> None:
    outcome = classify(WRITE, said)
    assert (outcome.ok, outcome.ambiguous) == (False, False)


@pytest.mark.parametrize(
    "said",
    [
        "503 Service Unavailable",
        "502 Bad Gateway: down for maintenance",
        "read timeout",
        "504 Gateway Timeout: overloaded",
        "timed out creating the ticket for maintenance of lift 3",
    ],
)
def test_a_gateway_that_gave_up_waiting_leaves_doubt_whatever_it_says(said: str) -> None:
    assert classify(WRITE, said).ambiguous


@pytest.mark.parametrize(
    "said",
    ["unexpected EOF", "stream error: unexpected EOF", "read tcp 10.0.0.7:443: unexpected end of file"],
)
def test_an_answer_that_broke_off_is_no_fault_of_the_arguments(said: str) -> None:
    outcome = classify(WRITE, error=RuntimeError(said))
    assert (outcome.kind, outcome.ambiguous) == (ErrorKind.MALFORMED, True)


@pytest.mark.parametrize(
    "said",
    ["SyntaxError: unexpected EOF while parsing", "bash: unexpected EOF while looking for matching `''"],
)
def test_a_script_that_ends_too_early_is_the_callers(said: str) -> None:
    assert classify(WRITE, error=RuntimeError(said)).kind is ErrorKind.INVALID_ARGUMENTS
