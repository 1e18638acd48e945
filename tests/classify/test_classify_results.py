"""Results that carry failure, and results that only speak of it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langchain_core.messages import ToolMessage

from btm.classify import ErrorRule, ToolResult, classify
from btm.model import Effect, ErrorKind, Outcome, ToolCall

READ = ToolCall("get_order", {}, Effect.READ)
WRITE = ToolCall("create_order", {}, Effect.WRITE)


def kind(result: Any, call: ToolCall = READ) -> str:
    return str(classify(call, result).kind or "ok")


def test_a_framework_that_says_error_is_believed() -> None:
    message = ToolMessage("Order W1 not found", tool_call_id="1", status="error")
    blocks = [{"type": "text", "text": "Order W1 not found"}]
    mcp = SimpleNamespace(content=[SimpleNamespace(type="text", text="Order W1 not found")], isError=True)
    for result in (
        message,
        {"isError": True, "content": blocks},
        mcp,
        ToolResult("Order W1 not found", is_error=True),
    ):
        assert kind(result) == "not_found"


def test_a_framework_that_says_nothing_or_fine_does_not_hide_an_error_text() -> None:
    assert kind(ToolMessage("Error: user not found", tool_call_id="1")) == "not_found"
    assert kind(ToolResult("Error: user not found", is_error=False)) == "not_found"
    assert kind({"content": [{"type": "text", "text": "all is well"}], "isError": False}) == "ok"


def test_the_same_body_is_read_alike_as_a_dict_as_json_text_and_as_blocks() -> None:
    body = {"error": {"code": "rate_limit_exceeded", "message": "Too many requests"}}
    assert (
        kind(body)
        == kind(json.dumps(body))
        == kind([{"type": "text", "text": json.dumps(body)}])
        == "rate_limit"
    )


def test_objects_of_the_trade_are_read_by_their_fields() -> None:
    assert kind(httpx.Response(503, headers={"retry-after": "3"})) == "unavailable"
    assert classify(READ, httpx.Response(503, headers={"retry-after": "3"})).retry_after_s == 3.0
    assert kind(httpx.Response(200, json={})) == "ok"
    assert kind(subprocess.CompletedProcess("x", 127, "", "sh: x: not found")) == "not_found"
    assert kind(subprocess.CompletedProcess("x", 0, "", "warning: old option")) == "ok"
    assert kind(ValueError("Order W1 not found")) == "not_found"

    @dataclass
    class Answer:
        success: bool
        error: str

    assert kind(Answer(False, "access denied")) == "auth_error"


def test_a_field_that_counts_errors_is_no_error() -> None:
    for body in (
        {"failed_count": 0},
        {"error": None, "data": {"id": 1}},
        {"errors": [], "order": {"id": 1}},
        {"errors": 3},
    ):
        assert kind(body) == "ok"


@pytest.mark.parametrize(
    "text",
    [
        "User 5032 has 429 unread messages",
        "No timeout configured",
        "0 errors, 0 warnings",
        "# Runbook: error 500\nIf the checkout answers with HTTP 500 or a timeout, restart the worker.",
        "12:01 ERROR connection refused by 10.0.0.7",
        "Permission denied -> Zugriff verweigert",
        "What does 'insufficient balance' mean? It means that your prepaid account cannot cover the purchase.",
        "v4.2.1: fixed a crash when the server returned 502",
        "Keine Fehler gefunden.",
        "订单 88231 已取消\uff0c退款失败次数\uff1a0",
    ],
)
def test_a_text_about_errors_is_a_success(text: str) -> None:
    assert kind(text) == "ok"


def test_a_read_of_a_thing_that_failed_is_a_success_and_a_failed_write_is_not() -> None:
    payment = {"payment_id": "p1", "status": "failed", "error": "card declined", "amount": 12}
    assert kind(payment, ToolCall("get_payment", {}, Effect.READ)) == "ok"
    assert kind({"status": "error", "error": "card declined"}, WRITE) == "precondition_failed"


def test_html_is_an_error_only_where_data_was_due() -> None:
    page = "<!DOCTYPE html><html><head><title>Hello</title></head></html>"
    assert kind(page, ToolCall("get_rates")) == "malformed"
    assert kind(page, ToolCall("fetch_page")) == "ok"
    assert (
        kind("<html><head><title>503 Service Unavailable</title></head></html>", ToolCall("fetch_page"))
        == "unavailable"
    )


def test_json_that_breaks_off_is_malformed_and_a_python_repr_is_not() -> None:
    assert kind('{"user": {"id": 12, "na') == "malformed"
    assert kind("[('timeout', 3), ('auth', 1)]") == "ok"
    assert kind('{"a": 1}\n{"b": 2}') == "ok"


def test_warnings_on_stderr_of_a_command_that_ended_well_are_no_error() -> None:
    assert kind({"exit_code": 0, "stdout": "", "stderr": "ERROR: deprecated"}) == "ok"
    assert kind({"exit_code": 1, "stdout": "", "stderr": "cat: x: Permission denied"}) == "auth_error"


@pytest.mark.parametrize("tool", ["run_linter", "check_conflicts", "list_alerts"])
def test_nothing_found_is_good_news_from_a_tool_that_looks_for_trouble(tool: str) -> None:
    call = ToolCall(tool)
    assert kind([], call) == "ok"
    assert kind("No issues found.", call) == "ok"


def test_nothing_found_is_an_empty_result_from_a_search_and_fine_from_a_write() -> None:
    search = ToolCall("search_orders")
    for nothing in ([], None, "", "[]", {"orders": [], "total": 0}, "No results found.", {"data": None}):
        assert kind(nothing, search) == "empty_result"
    for nothing in (None, "", {}):
        assert kind(nothing, WRITE) == "ok"


# -- rules of the user's own


def test_a_users_rule_goes_first() -> None:
    rules = [ErrorRule("quux", ErrorKind.RATE_LIMIT)]
    outcome = classify(READ, "Error: QUUX not found", rules=rules)
    assert (outcome.kind, outcome.rule) == (ErrorKind.RATE_LIMIT, "user:quux")
    assert classify(READ, "Error: user not found", rules=rules).kind is ErrorKind.NOT_FOUND


def test_a_users_callable_may_decide_or_pass() -> None:
    def partial(call: ToolCall, result: Any, error: BaseException | None) -> ErrorKind | None:
        return ErrorKind.PARTIAL_DATA if result == {"half": True} else None

    def fine(call: ToolCall, result: Any, error: BaseException | None) -> Outcome | None:
        return Outcome(rule="fine") if error is not None and str(error) == "fine" else None

    assert classify(READ, {"half": True}, rules=[partial]).kind is ErrorKind.PARTIAL_DATA
    assert classify(READ, error=ValueError("fine"), rules=[partial, fine]).ok
    assert classify(READ, error=ValueError("x not found"), rules=[partial, fine]).kind is ErrorKind.NOT_FOUND


def test_a_rule_that_raises_is_skipped_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def broken_rule(call: ToolCall, result: Any, error: BaseException | None) -> None:
        raise ZeroDivisionError

    for _ in range(3):
        assert classify(READ, "Error: user not found", rules=[broken_rule]).kind is ErrorKind.NOT_FOUND
    assert sum("broken_rule" in record.message for record in caplog.records) == 1


def test_a_rule_with_a_pattern_that_is_none_is_skipped() -> None:
    assert classify(READ, "all is well", rules=[ErrorRule("(", ErrorKind.TIMEOUT)]).ok


# -- writes that may have happened


@pytest.mark.parametrize(
    ("result", "ambiguous"),
    [
        ("Error: ReadTimeout('timed out')", True),
        ({"status": 502, "body": "Bad Gateway"}, True),
        ({"error": "ECONNRESET", "message": "socket hang up"}, True),
        ("Something went wrong", True),
        ({"error": "Too many requests"}, False),
        ({"error": "ECONNREFUSED"}, False),
        ("Error: order not found", False),
        ("Error: order is already cancelled", False),
        ("HTTP 410: this endpoint was removed", False),
        ("The service is down for maintenance.", False),
    ],
)
def test_a_write_is_ambiguous_when_it_may_have_happened(result: Any, ambiguous: bool) -> None:
    outcome = classify(WRITE, result)
    assert outcome.kind is not None
    assert outcome.ambiguous is ambiguous
    assert not classify(READ, result).ambiguous


GZIP_AS_TEXT = "\x1f\ufffd\x08\x00\ufffd\x02\ufffd\ufffdKL\x04\x00" * 3


@pytest.mark.parametrize(
    ("tool", "text", "kind"),
    [
        ("find_user_id_by_email", GZIP_AS_TEXT, ErrorKind.MALFORMED),
        ("get_price", GZIP_AS_TEXT, ErrorKind.MALFORMED),
        ("read_file", GZIP_AS_TEXT, None),
        ("get_note", "a note with one bad byte \ufffd in a sentence of ordinary length", None),
        ("get_city", "M\u00fcnchen, Stra\u00dfe 5, \u6771\u4eac", None),
        ("find_user_id_by_email", "<html><body>Welcome to nginx!</body></html>", ErrorKind.MALFORMED),
        ("read_email", "<html><body>Dear Ann</body></html>", None),
    ],
)
def test_bytes_that_are_no_text_are_malformed_where_text_was_due(
    tool: str, text: str, kind: ErrorKind | None
) -> None:
    assert classify(ToolCall(tool), result=text).kind is kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"status": "success", "status_code": 500, "data": {"detail": "Internal Server Error"}}, ErrorKind.SERVER_ERROR),
        ({"success": True, "statusCode": 503, "data": "upstream connect error"}, ErrorKind.UNAVAILABLE),
        ({"ok": True, "http_status": 429, "data": {"message": "slow down"}}, ErrorKind.RATE_LIMIT),
        ({"status": "success", "status_code": 201, "data": {"id": 1}}, None),
        ({"status": "success", "status_code": 404, "data": {"pages": ["/gone"]}}, None),
        ({"status": "ok", "response_code": 404, "data": [{"url": "/gone"}]}, None),
    ],
)  # fmt: skip
def test_a_wrapper_that_says_well_does_not_hide_the_servers_number(body: Any, kind: ErrorKind | None) -> None:
    assert classify(ToolCall("book_slot"), body).kind is kind


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"valid": False, "reason": "checksum does not match"}, None),
        ({"verified": False, "message": "signature mismatch"}, None),
        ({"is_member": False, "reason": "not a member"}, None),
        ({"type": "error-text", "value": "429 Too Many Requests"}, ErrorKind.RATE_LIMIT),
        ({"type": "error-json", "value": {"error": "429 Too Many Requests"}}, ErrorKind.RATE_LIMIT),
        ({"content": [{"type": "text", "text": "Error: 429 Too Many Requests"}]}, ErrorKind.RATE_LIMIT),
        ('{"content": [{"type": "text", "text": "Error: 429 Too Many Requests"}]}', ErrorKind.RATE_LIMIT),
        ('{"content": [{"type": "text", "text": "3 orders"}]}', None),
    ],
)
def test_a_no_is_an_answer_and_a_wrapper_hides_nothing(result: object, kind: ErrorKind | None) -> None:
    assert classify(ToolCall("check_it", effect=Effect.READ), result).kind is kind
