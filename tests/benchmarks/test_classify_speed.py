"""How fast outcomes are named: medians on a warm process, against the bars of the design."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from btm.classify import classify
from btm.model import Effect, ToolCall

CALL = ToolCall("get_order_details", {"order_id": "W1"}, Effect.READ, at=1.8e9)
SUCCESS_US, ERROR_US, LARGE_RATIO = 5.0, 60.0, 1.5
YARDSTICK_US = 1.0
"""What `sorted(range(200))` takes on a machine on which the bars above are meant; slower ones are given their due."""

SUCCESSES: dict[str, Any] = {
    "short text": "Transfer successful",
    "sentence": "The order W22 was shipped on Monday and arrives at noon.",
    "small dict": {"order_id": "W1", "status": "pending", "user": "ada_1", "carrier": "dhl"},
    "number": 3.5,
}
REQUEST = httpx.Request("GET", "https://api.example.com/orders")
ERRORS: dict[str, dict[str, Any]] = {
    "timeout": {"error": httpx.ReadTimeout("timed out")},
    "refused": {"error": ConnectionRefusedError(111, "Connection refused")},
    "not found": {"error": ValueError("User 12 not found")},
    "text": {"result": "Error: Reservation ZFA04Y not found"},
    "body": {"result": {"ok": False, "error": "invalid_auth"}},
    "status": {
        "error": httpx.HTTPStatusError(
            "Client error '404 Not Found' for url 'https://api.example.com/orders'",
            request=REQUEST,
            response=httpx.Response(404, request=REQUEST),
        )
    },
}


def median_us(work: Callable[[], object], rounds: int = 400) -> float:
    for _ in range(50):
        work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1_000


def allowed(microseconds: float) -> float:
    return microseconds * max(1.0, median_us(lambda: sorted(range(200)), 2_000) / YARDSTICK_US)


@pytest.mark.parametrize("name", SUCCESSES)
def test_a_plain_success_is_named_at_once(benchmark: Any, name: str) -> None:
    benchmark(classify, CALL, SUCCESSES[name])
    assert median_us(lambda: classify(CALL, SUCCESSES[name])) <= allowed(SUCCESS_US)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_named_quickly(benchmark: Any, name: str) -> None:
    benchmark(classify, CALL, **ERRORS[name])
    assert median_us(lambda: classify(CALL, **ERRORS[name])) <= allowed(ERROR_US)


ROWS = [{"id": n, "name": "x" * 20, "status": "ok"} for n in range(18_000)]
LARGE: dict[str, tuple[Any, Any]] = {
    "dict": ({"rows": ROWS[:180]}, {"rows": ROWS}),
    "list": (ROWS[:180], ROWS),
    "json text": (json.dumps(ROWS[:180]), json.dumps(ROWS)),
    "text": ("word " * 2_000, "word " * 200_000),
    "error text": ("Error: " + "word " * 2_000, "Error: " + "word " * 200_000),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_megabyte_costs_no_more_than_ten_kilobytes(benchmark: Any, name: str) -> None:
    small, large = LARGE[name]
    benchmark(classify, CALL, large)
    assert (
        median_us(lambda: classify(CALL, large))
        <= LARGE_RATIO * median_us(lambda: classify(CALL, small)) + 1.0
    )
