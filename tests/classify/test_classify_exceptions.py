"""Exceptions of real libraries, raised here, and what they are named."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import ssl
import subprocess
from collections.abc import Callable

import httpx
import pydantic
import pytest
import sqlalchemy as sa
from langchain_core.tools import ToolException, tool

from btm.classify import classify, rebuild_exception
from btm.model import Effect, ErrorKind, Outcome, ToolCall

READ = ToolCall("get_order", {"order_id": "W1"}, Effect.READ, at=1_796_000_000.0)
WRITE = ToolCall("create_order", {"sku": "A"}, Effect.WRITE, at=1_796_000_000.0)


def raised(work: Callable[[], object], call: ToolCall = READ) -> Outcome:
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        work()
    return classify(call, error=caught.value)


def answer(status: int, body: object = None, headers: dict[str, str] | None = None) -> Callable[[], object]:
    transport = httpx.MockTransport(lambda request: httpx.Response(status, json=body, headers=headers))

    def ask() -> object:
        with httpx.Client(transport=transport) as client:
            return client.get("http://api.example.com/orders/1").raise_for_status()

    return ask


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_arguments"), (401, "auth_error"), (402, "quota_exhausted"), (403, "auth_error"), (404, "not_found"),
        (408, "timeout"), (409, "precondition_failed"), (410, "schema_drift"), (422, "invalid_arguments"),
        (429, "rate_limit"), (500, "server_error"), (502, "server_error"), (503, "unavailable"), (504, "timeout"),
    ],
)  # fmt: skip
def test_a_status_is_read_for_its_meaning(status: int, kind: str) -> None:
    outcome = raised(answer(status))
    assert (outcome.kind, outcome.status_code) == (kind, status)


def test_a_429_without_quota_is_not_a_matter_of_waiting() -> None:
    spent = {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}
    assert raised(answer(429, spent)).kind is ErrorKind.QUOTA_EXHAUSTED
    assert raised(answer(429, {"error": "slow down"})).kind is ErrorKind.RATE_LIMIT


def test_a_retry_after_date_counts_from_the_call() -> None:
    late = raised(answer(503, headers={"Retry-After": "Mon, 30 Nov 2026 00:01:00 GMT"}))
    assert late.retry_after_s == pytest.approx(
        1_795_996_860.0 - READ.at if READ.at < 1_795_996_860.0 else 0.0
    )
    assert raised(answer(429, headers={"Retry-After": "7"})).retry_after_s == 7.0


def test_a_refused_connection_certainly_did_nothing() -> None:
    refused = raised(lambda: httpx.post(f"http://127.0.0.1:{closed_port()}/"), WRITE)
    assert (refused.kind, refused.ambiguous) == (ErrorKind.UNAVAILABLE, False)


def test_a_read_timeout_of_a_write_leaves_it_open_whether_it_happened() -> None:
    assert classify(WRITE, error=httpx.ReadTimeout("timed out")).ambiguous
    assert not classify(READ, error=httpx.ReadTimeout("timed out")).ambiguous
    assert not classify(WRITE, error=httpx.ConnectTimeout("timed out")).ambiguous


def test_what_a_wrapper_hides_is_found_below_it() -> None:
    def lookup() -> None:
        try:
            answer(429, headers={"Retry-After": "8"})()
        except httpx.HTTPError as problem:
            raise RuntimeError("CRM lookup failed") from problem

    outcome = raised(lookup)
    assert (outcome.kind, outcome.retry_after_s) == (ErrorKind.RATE_LIMIT, 8.0)
    assert outcome.detail == "CRM lookup failed"


def test_a_task_group_tells_of_its_members() -> None:
    async def work() -> None:
        async def slow() -> None:
            raise httpx.ReadTimeout("timed out")

        async with asyncio.TaskGroup() as group:
            group.create_task(slow())

    assert raised(lambda: asyncio.run(work())).kind is ErrorKind.TIMEOUT


def test_asyncio_and_subprocess_time_out() -> None:
    async def wait() -> None:
        await asyncio.wait_for(asyncio.sleep(5), 0.01)

    assert raised(lambda: asyncio.run(wait())).kind is ErrorKind.TIMEOUT
    assert raised(lambda: subprocess.run(["sleep", "5"], timeout=0.05, check=True)).kind is ErrorKind.TIMEOUT


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("exit 3", "unknown"),
        ("exit 124", "timeout"),
        ("exit 126", "auth_error"),
        ("no_such_command_here", "not_found"),
        ("cat /no/such/file", "not_found"),
        ("kill -9 $$", "server_error"),
    ],
)
def test_a_failed_command_is_read_by_code_and_stderr(command: str, kind: str) -> None:
    outcome = raised(lambda: subprocess.run(command, shell=True, check=True, capture_output=True, text=True))
    assert outcome.kind == kind


def test_a_name_that_does_not_resolve_is_unavailable() -> None:
    outcome = raised(lambda: socket.getaddrinfo("no-such-host.invalid", 80), WRITE)
    assert (outcome.kind, outcome.ambiguous) == (ErrorKind.UNAVAILABLE, False)


def test_a_certificate_that_is_not_trusted_is_no_matter_of_waiting() -> None:
    problem = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    assert classify(READ, error=problem).kind is ErrorKind.AUTH_ERROR


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("select * from missing", "not_found"),
        ("select missing from t", "not_found"),
        ("selec 1", "invalid_arguments"),
        ("insert into t values (1, 'b')", "precondition_failed"),
        ("insert into t values (2, null)", "invalid_arguments"),
    ],
)
def test_databases_are_read_alike_through_drivers_and_sqlalchemy(statement: str, kind: str) -> None:
    setup = ("create table t (id integer primary key, name text not null)", "insert into t values (1, 'a')")
    plain = sqlite3.connect(":memory:")
    engine = sa.create_engine("sqlite://")
    try:
        with engine.connect() as connection:
            for line in setup:
                plain.execute(line)
                connection.execute(sa.text(line))
            assert raised(lambda: plain.execute(statement), WRITE).kind == kind
            assert raised(lambda: connection.execute(sa.text(statement)), WRITE).kind == kind
    finally:
        plain.close()
        engine.dispose()


class BookArgs(pydantic.BaseModel):
    origin: str


class OrderResponse(pydantic.BaseModel):
    order_id: str


def test_a_validator_of_arguments_and_one_of_an_answer_are_told_apart() -> None:
    assert raised(lambda: BookArgs.model_validate({})).kind is ErrorKind.INVALID_ARGUMENTS
    assert raised(lambda: OrderResponse.model_validate({"orderId": "W1"})).kind is ErrorKind.SCHEMA_DRIFT


def test_a_missing_key_is_a_changed_answer_or_an_unknown_value() -> None:
    assert classify(READ, error=KeyError("status")).kind is ErrorKind.SCHEMA_DRIFT
    assert classify(READ, error=KeyError("W1")).kind is ErrorKind.NOT_FOUND
    assert classify(READ, error=KeyError("get_order")).kind is ErrorKind.UNKNOWN_TOOL


def test_langchain_tells_arguments_from_a_tools_own_words() -> None:
    @tool
    def book(origin: str) -> str:
        """Book."""
        return origin

    assert raised(lambda: book.invoke({})).kind is ErrorKind.INVALID_ARGUMENTS
    assert classify(READ, error=ToolException("Order W99 not found")).kind is ErrorKind.NOT_FOUND


def test_an_answer_that_is_no_json_is_malformed() -> None:
    assert raised(lambda: json.loads("<html>")).kind is ErrorKind.MALFORMED


def test_three_unreadable_answers_in_a_row_are_no_accident() -> None:
    bad = json.JSONDecodeError("Expecting value", "", 0)
    once = classify(READ, error=bad)
    assert classify(READ, error=bad, history=[once, once]).kind is ErrorKind.MALFORMED
    assert classify(READ, error=bad, history=[once, once, once]).kind is ErrorKind.SCHEMA_DRIFT


def test_a_class_nobody_told_us_about_is_read_by_its_name() -> None:
    class OrderNotFoundError(Exception):
        pass

    class VendorThrottledError(OrderNotFoundError):
        pass

    assert classify(READ, error=OrderNotFoundError("W1")).kind is ErrorKind.NOT_FOUND
    assert classify(READ, error=VendorThrottledError("W1")).kind is ErrorKind.RATE_LIMIT


def test_a_recorded_exception_is_rebuilt_without_its_library() -> None:
    record = {
        "mro": ["vendor.errors.Slow", "vendor.errors.VendorError", "Exception", "BaseException"],
        "message": "no luck",
        "attributes": {"status_code": 503, "retry_after": "4", "__class__": "evil", "args": ["evil"]},
        "cause": {"mro": ["KeyError"], "message": "'x'", "attributes": {}},
    }
    rebuilt = rebuild_exception(record)
    assert (type(rebuilt).__module__, type(rebuilt).__qualname__) == ("vendor.errors", "Slow")
    assert str(rebuilt) == "no luck"
    assert type(rebuilt.__cause__).__name__ == "KeyError"
    assert classify(READ, error=rebuilt).retry_after_s == 4.0


def test_the_most_revealing_text_is_redacted() -> None:
    outcome = classify(READ, error=RuntimeError("401 Unauthorized: api_key=sk-abcdefghijklmnopqrstuvwxyz"))
    assert outcome.kind is ErrorKind.AUTH_ERROR
    assert "abcdefghijklmnop" not in outcome.detail


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("429 Too Many Requests: retry after 7 seconds", 7.0),
        ("429 Too Many Requests, retry in 1m30s", 90.0),
        ("Error executing tool x: HTTP 503: Service Unavailable. Please try again in 20s.", 20.0),
    ],
)
def test_how_long_to_wait_is_read_from_any_layer_of_a_text(text: str, seconds: float) -> None:
    assert classify(ToolCall("get_messages"), error=RuntimeError(text)).retry_after_s == seconds


def test_words_of_another_language_refine_a_type_as_english_ones_do() -> None:
    lock = type("LockNotAvailable", (Exception,), {"__module__": "psycopg.errors", "sqlstate": "55P03"})
    assert (
        raised(lambda: (_ for _ in ()).throw(lock("could not obtain lock on row"))).kind
        is ErrorKind.UNAVAILABLE
    )
    timed_out = lock("잠금 대기 시간 초과로 작업을 취소합니다.")
    assert raised(lambda: (_ for _ in ()).throw(timed_out)).kind is ErrorKind.TIMEOUT
