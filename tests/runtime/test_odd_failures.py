"""One failure that would end a tool's way may be a single one: it is tried once more before the tool is given up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from btm import ToolMemory
from btm.model import Effect, ToolCall
from btm.runtime.drivers import Handled


class UnauthorizedError(Exception):
    status_code = 401


class Tool:
    """Works, then answers 401 a number of times, then works again."""

    def __init__(self, odd: int) -> None:
        self.odd = odd
        self.calls = 0

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls += 1
        if 1 < self.calls <= 1 + self.odd:
            raise UnauthorizedError("401 Unauthorized")
        return "fine"


def call(memory: ToolMemory, tool: Tool, number: int, effect: Effect = Effect.READ) -> Handled:
    return memory.call(ToolCall("get_order", {"n": number}, effect, "c"), tool)


def test_act_tries_a_tool_that_worked_before_once_more() -> None:
    memory, tool = ToolMemory.open(mode="act", sleep=lambda _: None), Tool(odd=1)
    call(memory, tool, 1)
    assert call(memory, tool, 2).result == "fine"
    assert tool.calls == 3


def test_repeated_it_is_dead() -> None:
    memory, tool = ToolMemory.open(mode="act", sleep=lambda _: None), Tool(odd=9)
    call(memory, tool, 1)
    handled = call(memory, tool, 2)
    assert tool.calls == 3
    assert handled.context is not None
    assert "next: retry" not in handled.context.text


def test_advise_says_so_and_a_tool_that_never_worked_is_not_tried_again() -> None:
    memory, tool = ToolMemory.open(mode="advise"), Tool(odd=9)
    call(memory, tool, 1)
    handled = call(memory, tool, 2)
    assert handled.context is not None
    assert 'next: retry get_order {"n":2}' in handled.context.text
    fresh = Tool(odd=9)
    fresh.calls = 1
    never = call(ToolMemory.open(mode="advise"), fresh, 1)
    assert never.context is not None
    assert "next: retry" not in never.context.text


@pytest.mark.parametrize("mode", ["advise", "act"])
def test_a_write_is_not_tried_again(mode: str) -> None:
    memory, tool = ToolMemory.open(mode=mode, sleep=lambda _: None), Tool(odd=9)
    call(memory, tool, 1, Effect.WRITE)
    call(memory, tool, 2, Effect.WRITE)
    assert tool.calls == 2
