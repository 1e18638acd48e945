from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from btm.lab.faults import FaultSettings, inject
from btm.model import ErrorKind

ALWAYS = FaultSettings(rate=1.0, weights={ErrorKind.TIMEOUT: 1.0}, max_consecutive=1)


def look(order_id: str) -> dict[str, Any]:
    """Look up."""
    return {"order_id": order_id}


async def find(order_id: str) -> dict[str, Any]:
    return {"order_id": order_id}


@tool
def fetch(order_id: str) -> str:
    """Fetch."""
    return f"order {order_id}"


class Own(BaseTool):
    name: str = "own"
    description: str = "A tool of a class of its own."

    def _run(self, order_id: str) -> str:
        return f"order {order_id}"


def test_a_function_fails_and_works_again_with_the_same_name() -> None:
    (made,) = inject([look], ALWAYS)
    assert made.__name__ == "look"
    with pytest.raises(Exception, match=r"(?i)time|deadline"):
        made("O1")
    assert made("O1") == {"order_id": "O1"}


async def test_an_async_function_too() -> None:
    (made,) = inject([find], ALWAYS)
    with pytest.raises(Exception, match=r"(?i)time|deadline"):
        await made(order_id="O1")
    assert await made(order_id="O1") == {"order_id": "O1"}


@pytest.mark.parametrize("given", [fetch, Own()])
def test_langchain_tools_too_and_the_originals_stay_whole(given: Any) -> None:
    (made,) = inject([given], ALWAYS)
    assert made.name == given.name
    with pytest.raises(Exception, match=r"(?i)time|deadline"):
        made.invoke({"order_id": "O1"})
    assert made.invoke({"order_id": "O1"}) == "order O1"
    assert given.invoke({"order_id": "O1"}) == "order O1"


def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(TypeError, match="functions and LangChain tools"):
        inject([3])
