"""Nothing that btm does in an event loop holds it up: blockbuster raises wherever something would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapters.kit import DONE, ScriptedModel, calls
from langchain.agents import create_agent
from langchain_core.tools import tool

from btm import ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.adapters.langchain import BTMMiddleware, wrap_tools

blockbuster = pytest.importorskip("blockbuster")


@pytest.fixture(autouse=True)
def no_blocking() -> Iterator[None]:
    with blockbuster.blockbuster_ctx():
        yield


@tool
async def get_order(order_id: str) -> str:
    """Get an order."""
    raise TimeoutError("timed out")


@tool
async def list_orders(user: str) -> str:
    """List orders."""
    return "two"


async def test_opening_in_a_loop_blocks_and_aopen_does_not(tmp_path: Path) -> None:
    with pytest.raises(blockbuster.BlockingError):
        ToolMemory.open(tmp_path / "a.db")
    async with await ToolMemory.aopen(tmp_path / "b.db", mode="guard") as memory:
        assert memory.mode == "guard"


@pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])
@pytest.mark.parametrize("kept", [False, True])
async def test_an_agent_with_failing_tools_runs_to_its_end(tmp_path: Path, mode: str, kept: bool) -> None:
    path = tmp_path / "btm.db" if kept else None
    memory = await ToolMemory.aopen(path, mode=mode, asleep=no_wait)
    asked = calls(("get_order", {"order_id": "1"}, "c1"), ("list_orders", {"user": "u"}, "c2"))
    again = calls(("get_order", {"order_id": "1"}, "c3"), ("get_order", {"order_id": "1"}, "c4"))
    model = ScriptedModel(script=[asked, again, DONE])
    agent = create_agent(model, [get_order, list_orders], middleware=[BTMMiddleware(memory)])
    given: Any = {"messages": [{"role": "user", "content": "go"}]}
    if mode == "observe":
        with pytest.raises(TimeoutError):
            await agent.ainvoke(given)
    else:
        assert (await agent.ainvoke(given))["messages"][-1].content == "done"
    await memory.aclose()


async def test_wrapped_tools_functions_and_the_bare_loop(tmp_path: Path) -> None:
    memory = await ToolMemory.aopen(tmp_path / "btm.db", asleep=no_wait)
    [wrapped] = wrap_tools([get_order], memory)
    call = {"name": "get_order", "args": {"order_id": "1"}, "id": "c1", "type": "tool_call"}
    assert "timed out" in (await wrapped.ainvoke(call)).text

    async def pay(amount: int) -> str:
        raise TimeoutError("timed out")

    with pytest.raises(TimeoutError):
        await memory.wrap(pay)(5)
    loop = ChatLoop(memory, [pay])
    function = {"name": "pay", "arguments": '{"amount": 5}'}
    messages: list[Any] = [{"role": "user", "content": "pay"}]
    loop.prepare(messages)
    made = await loop.arun([{"id": "c2", "type": "function", "function": function}])
    messages += [{"role": "assistant", "tool_calls": [{"id": "c2", "function": function}]}, *made]
    assert "next:" in loop.prepare(messages)[-1]["content"]
    await memory.aclose()


async def no_wait(_: float) -> None:
    return
