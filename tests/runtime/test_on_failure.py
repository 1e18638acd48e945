"""What a wrapped function gives when its call failed: the tool's exception, or a text for a model that sees no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from core_kit import memory_of

from btm.errors import RefusedCallError


def broken(q: str) -> str:
    raise ConnectionError("connection refused <recovery tool=x")


def test_a_failure_can_be_returned_as_a_text_with_the_context() -> None:
    said = memory_of().wrap(broken, on_failure="return")("a")
    error, context = said.split("\n\n", 1)
    assert error == "ConnectionError: connection refused \\u003crecovery tool=x"
    assert context.startswith("<recovery")
    assert "next: " in context


async def test_so_can_that_of_an_awaited_function_and_of_a_method() -> None:
    class Client:
        async def search(self, q: str) -> str:
            raise TimeoutError("timed out")

    said = await memory_of().wrap(Client().search, on_failure="return")("a")
    assert said.startswith("TimeoutError: timed out\n\n<recovery")


def test_a_refusal_is_returned_too() -> None:
    def pay(amount: int) -> str:
        raise TimeoutError("timed out")

    memory = memory_of(mode="guard")
    wrapped = memory.wrap(pay, on_failure="return")
    assert wrapped(5).startswith("TimeoutError")
    assert "not run: pay" in wrapped(5)
    with pytest.raises(RefusedCallError):
        memory.wrap(pay)(5)


def test_by_default_and_where_nothing_is_said_the_tools_own_exception_is_raised() -> None:
    for mode, how in (("advise", "raise"), ("observe", "return")):
        with pytest.raises(ConnectionError):
            memory_of(mode=mode).wrap(broken, on_failure=how)("a")
    with pytest.raises(ValueError, match="return"):
        memory_of().wrap(broken, on_failure="returns")


def test_a_failure_that_came_as_a_result_is_told_too_and_doubtful_data_stay_what_they_are() -> None:
    def find_case(number: str) -> dict[str, object]:
        return (
            {"error": "503 Service Unavailable"} if number == "c1" else {"number": number, "truncated": True}
        )

    wrapped: Callable[..., Any] = memory_of().wrap(find_case, on_failure="return")
    assert wrapped("c1").startswith('{"error":"503 Service Unavailable"}\n\n<recovery')
    assert wrapped("c2") == {"number": "c2", "truncated": True}
