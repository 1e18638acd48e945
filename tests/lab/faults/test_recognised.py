"""Injected faults must look real enough to be recognised for what they are, from their look alone."""

import json
from typing import Any

import pytest

from btm.classify import classify
from btm.fallback import FallbackMap
from btm.lab.faults import RAISED, Draw, ToolShape
from btm.lab.faults.corrupt import Aim, corrupt
from btm.lab.faults.errors import make_error
from btm.model import Effect, ErrorKind, ToolCall

NOW = 1_767_225_600.0
ORDER: dict[str, Any] = {
    "order_id": "S1001",
    "user_id": "ava_stone_120",
    "status": "pending",
    "items": [{"product_id": "P1", "price": 10.5}],
    "total": 10.5,
    "paid_with": "card",
    "address": {"street": "1 Main", "city": "Westham", "zip": "88127"},
    "refunded": 0.0,
    "as_of": "2026-01-01T00:00:00Z",
}
MAP = FallbackMap.load("shop")
EXPECTED = MAP.expectations("get_order")
SHAPE = ToolShape(required=("status", "total"), fresh="as_of", within_s=600, compared=("status",))


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("effect", Effect)
def test_a_raised_fault_is_named(kind: ErrorKind, effect: Effect) -> None:
    for n in range(40):
        error = make_error(kind, "get_order", Draw((n,)))
        outcome = classify(ToolCall("get_order", {"order_id": "S1001"}, effect), error=error, now=NOW)
        assert (outcome.kind, str(error)) == (kind, str(error))
        if effect is Effect.WRITE:
            assert outcome.ambiguous == (kind in (ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR)), str(error)


def test_a_rate_limits_wait_is_read() -> None:
    told = 0
    for n in range(60):
        draw = Draw((n,))
        error = make_error(ErrorKind.RATE_LIMIT, "get_order", draw)
        seconds = draw.integer(1, 20, "retry_after")
        outcome = classify(ToolCall("get_order"), error=error, now=NOW)
        if getattr(error, "retry_after", None) or "Retry-After" in getattr(
            getattr(error, "response", None), "headers", {}
        ):
            assert outcome.retry_after_s == seconds, str(error)
            told += 1
    assert told > 30


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (ErrorKind.MALFORMED, {ErrorKind.MALFORMED}),
        (ErrorKind.STALE_DATA, {ErrorKind.STALE_DATA}),
        # A field that is gone and a field that has moved can look alike.
        (ErrorKind.PARTIAL_DATA, {ErrorKind.PARTIAL_DATA, ErrorKind.SCHEMA_DRIFT}),
        (ErrorKind.SCHEMA_DRIFT, {ErrorKind.PARTIAL_DATA, ErrorKind.SCHEMA_DRIFT}),
    ],
)
def test_a_returned_fault_is_found_out(kind: ErrorKind, named: set[ErrorKind]) -> None:
    for n in range(40):
        wrong = corrupt(kind, ORDER, Aim(Draw((n,)), SHAPE, (("status",),), NOW))
        outcome = classify(
            ToolCall("get_order", {"order_id": "S1001"}), result=wrong, expectations=EXPECTED, now=NOW
        )
        assert outcome.kind in named, json.dumps(wrong)


def test_a_factual_error_looks_like_a_success_until_another_tool_is_asked() -> None:
    call = ToolCall("get_order", {"order_id": "S1001"})
    for n in range(20):
        wrong = corrupt(ErrorKind.FACTUAL_ERROR, ORDER, Aim(Draw((n,)), SHAPE, (), NOW))
        assert classify(call, result=wrong, expectations=EXPECTED, now=NOW).ok
        orders = {"user_id": "ava_stone_120", "orders": [ORDER]}
        assert MAP.compare(call, wrong, orders) == ("status",)


def test_a_clean_result_is_a_success() -> None:
    assert classify(ToolCall("get_order"), result=ORDER, expectations=EXPECTED, now=NOW).ok
