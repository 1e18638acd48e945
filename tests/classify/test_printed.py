"""Answers in the forms in which languages, services and programs print them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm import Effect, ErrorKind, ToolCall
from btm.classify.engine import classify
from btm.classify.printed import LONGEST, value_of

PRINT_R = """Array
(
    [success] =>
    [error] => Array
        (
            [code] => 12
            [message] => Card declined, ask the bank
        )

)
"""
VAR_DUMP = """array(2) {
  ["error"]=>
  string(9) "Not found"
  ["code"]=>
  int(404)
}"""
VAR_EXPORT = """array (
  'success' => false,
  'data' =>
  array (
  ),
  'errors' =>
  array (
    0 => 'City not found',
    1 => 'Street not selected',
  ),
)"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (PRINT_R, {"success": "", "error": {"code": 12, "message": "Card declined, ask the bank"}}),
        (VAR_DUMP, {"error": "Not found", "code": 404}),
        (VAR_EXPORT, {"success": False, "data": [], "errors": ["City not found", "Street not selected"]}),
        ("stdClass Object\n(\n    [error] => 1\n    [msg] => no\n)", {"error": 1, "msg": "no"}),
        ('{:error=>"gone", "code"=>410, ok: nil}', {"error": "gone", "code": 410, "ok": None}),
        ('%{"error" => %{"id" => "no match"}, status: 2400}', {"error": {"id": "no match"}, "status": 2400}),
        ("{:error, %{reason: :timeout}}", {"error": {"reason": "timeout"}}),
        ("$VAR1 = {\n  'error' => 'gone',\n  'code' => 404\n};", {"error": "gone", "code": 404}),
        ("{ error: 'gone', rows: [ 1, 2, [Object] ], at: undefined }",
         {"error": "gone", "rows": [1, 2, ["Object"]], "at": None}),
        ('{ ok = 0.0, message = "not authorized" }', {"ok": 0.0, "message": "not authorized"}),
        ("map[code:404 error:not found items:[]]", {"code": 404, "error": "not found", "items": []}),
        ("&{Code:404 Message:Not found}", {"Code": 404, "Message": "Not found"}),
        ("{status=404, error=Not Found, path=/x/y, message=}",
         {"status": 404, "error": "Not Found", "path": "/x/y", "message": ""}),
        ("Response{code=404, message=Not Found}", {"code": 404, "message": "Not Found"}),
        ("ApiError(code=404, details=[])", {"error": {"code": 404, "details": []}}),
        ('Err(Failure { kind: Gone, why: "moved" })', {"error": {"error": {"kind": "Gone", "why": "moved"}}}),
        ('Optional(["code": 404, "message": "no"])', {"code": 404, "message": "no"}),
        ("{'a': None, 'b': datetime.datetime(2020, 1, 2), 'c': <Row object>}",
         {"a": None, "b": [2020, 1, 2], "c": "<Row object>"}),
        ("ok=0&message=No%20such+card", {"ok": "0", "message": "No such card"}),
    ],
)  # fmt: skip
def test_a_printed_value_is_read(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    "text",
    ["f(x) and g(y)", "[INFO] done (3)", "(see below)", "Sunny (12 C)", "function f() { return a ? b : c; }",
     '{"open": "x}'],
)  # fmt: skip
def test_what_only_has_brackets_is_no_value(text: str) -> None:
    assert value_of(text) is None


@given(st.text(alphabet="{}[]()=>:,'\"%&a1 \n", max_size=300))
def test_any_text_is_read_to_an_end(text: str) -> None:
    value_of(text)


def test_a_deep_or_long_text_is_no_value() -> None:
    assert value_of("{" * 500 + "}" * 500) is None
    assert value_of("{a: " + "x" * LONGEST + "}") is None


def kind_of(text: str, tool: str, effect: Effect = Effect.READ) -> ErrorKind | None:
    return classify(ToolCall(tool, {}, effect), text).kind


@pytest.mark.parametrize(
    ("tool", "text", "kind"),
    [
        ("create_document", VAR_EXPORT, "not_found"),
        ("pay", '%{"error" => "invalid amount", "status" => 2400}', "invalid_arguments"),
        ("list_banks",
         '<banks result="error"><error><code>5</code><text>Invalid login token</text></error></banks>',
         "auth_error"),
        ("stop_machine",
         '<Task status="error" operation="stop"><Error message="The session has expired, log in again"/></Task>',
         "auth_error"),
        ("search_items", "<Status>ServerError</Status> <StatusMsg>internal server error</StatusMsg>", "server_error"),
        ("get_batch", "<h1>Not Found</h1><p>The requested URL /v1/batches/7 was not found on this server.</p>", "not_found"),
        ("scan_image",
         "2022-03-30T21:41:48Z\tINFO\tDownloading\n2022-03-30T21:41:49Z\tFATAL\tread: connection reset by peer",
         "unavailable"),
        ("load_db",
         "2024-09-30 14:45:16 INFO start\n2024-09-30 14:45:17 FATAL 1 error:\n\t* GET https://x.test/v2/: too many requests",
         "rate_limit"),
        ("search_documents", "Unexpected error in search_documents: NotFoundError(404, 'no such index')", "not_found"),
        ("search_shop", "【エラー】Too many requests", "rate_limit"),
        ("get_order", '{:error "Order not found" :status 404}', "not_found"),
        ("get_page", 'reqwest::Error { kind: Connect, source: ConnectError("dns error") }', "unavailable"),
        ("ask", "ToolMessage(content='Error: connection refused', name='x', tool_call_id='1')", "unavailable"),
        ("ask", "CallToolResult(content=[TextContent(type='text', text='Error: not found')], isError=True)", "not_found"),
        ("get_page", "Failure(java.net.SocketTimeoutException: timeout)", "timeout"),
        ("pay", "status=fail&reason=insufficient_funds", "precondition_failed"),
        ("get_order", "<order><error>Order not found</error></order>", "not_found"),
    ],
)  # fmt: skip
def test_a_failure_is_seen_in_whatever_form_it_is_printed(tool: str, text: str, kind: str) -> None:
    effect = Effect.WRITE if tool in ("create_document", "pay", "stop_machine") else Effect.READ
    assert kind_of(text, tool, effect) == kind


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("get_order", '%{"id" => 7, "error" => nil, "status" => "paid"}'),
        ("charge", "amount=1000&message=Approved&response_code=0&receipt=12345"),
        ("get_job", '<Job status="finished"><errors>0</errors><lines>17</lines></Job>'),
        ("get_manifest", '<application name="shop"><handlers><error page="500.html"/></handlers><routes/></application>'),
        ("read_page", "<p>How to read an error 404: the page is gone.</p>"),
        ("tail_log", "2024-09-30 14:45:16 INFO start\n2024-09-30 14:45:17 FATAL disk full"),
        ("build", "2024-09-30 14:45:16 ERROR retrying\n2024-09-30 14:45:17 INFO done in 3 s"),
        ("run_report", "Report(rows=3, failed=0, errors=[], status=done)"),
        ("get_user", 'User(id: 5, name: "Anna", error: nil)'),
        ("get_user", '{:id 5 :name "Anna" :errors []}'),
        ("get_node", "{ID:5 Name:web1 Error:<nil>}"),
        ("get_host", 'Host { name: "db", last_error: None, timeout: 30 }'),
        ("get_token", "token=xyz&expires_in=3600&error="),
        ("get_note", "Note(text='the server was down yesterday', id=3)"),
        ("get_song", "Song(title='Permission denied', artist='X')"),
        ("get_task", "Task(id=5, title='Fix failed login', status='open')"),
        ("get_config", "<faces-config><error-handler><error-code>500</error-code></error-handler></faces-config>"),
        ("get_record", '<ClinicalDocument><problem code="I10">Hypertension</problem></ClinicalDocument>'),
        ("fetch_page", "<feed><title>Sign in</title><entry><title>Log in to continue</title></entry></feed>"),
    ],
)  # fmt: skip
def test_a_success_in_such_a_form_stays_one(tool: str, text: str) -> None:
    assert kind_of(text, tool, Effect.WRITE if tool == "charge" else Effect.READ) is None
