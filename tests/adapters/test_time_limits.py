from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from kit import DONE, MAP, ScriptedModel, calls, logged, memory_of
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.types import interrupt

from btm.adapters.chat_completions import ChatLoop
from btm.adapters.langchain import BTMMiddleware, wrap_tools

ASK = {"messages": [HumanMessage("charge o1")]}
TIMED = MAP.replace("  charge:\n    effect: write", "  charge:\n    effect: write\n    timeout: 50ms")
ONE_CALL = calls(("charge", {"order_id": "o1"}, "c1"))
LOOK = calls(("get_charge", {"order_id": "o1"}, "c2"))


@tool
def get_charge(order_id: str) -> dict[str, bool]:
    """Look whether an order was charged."""
    return {"charged": True}


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_hung_tool_ends_as_a_timeout_and_its_late_result_is_told_once() -> None:
    release, ended = threading.Event(), threading.Event()

    @tool
    def charge(order_id: str) -> str:
        """Charge."""
        release.wait(10)
        ended.set()
        return "charged <b>now</b>"

    memory = memory_of(map_text=TIMED)
    middleware = BTMMiddleware(memory)

    def second(_: Any) -> Any:
        release.set()
        wait_for(lambda: bool(middleware.notes._late))
        return LOOK

    model = ScriptedModel(script=[ONE_CALL, second, calls(("get_charge", {"order_id": "o1"}, "c3")), DONE])
    answer = create_agent(model, [charge, get_charge], middleware=[middleware]).invoke(ASK)
    assert answer["messages"][2].content == "TimeoutError: charge timed out: no answer within 0.05 s"
    assert "must: charge may have gone through. Check with get_charge" in model.requests[1][-1].text
    assert "late: charge answered after its time limit, so it may have happened" in model.requests[2][-1].text
    assert "charged \\u003cb\\u003enow" in model.requests[2][-1].text
    assert "late:" not in model.requests[3][-1].text
    memory.flush()
    [row] = [r for r in memory._store.log("calls") if r["call_id"] == "c1"]
    assert (row["kind"], row["ambiguous"]) == ("timeout", True)
    assert ended.is_set()


async def test_awaited_a_write_goes_on_after_its_limit_and_a_read_is_cancelled() -> None:
    written: list[str] = []
    cancelled: list[str] = []

    @tool
    async def charge(order_id: str) -> str:
        """Charge."""
        await asyncio.sleep(0.1)
        written.append(order_id)
        return "charged"

    @tool
    async def get_charge(order_id: str) -> str:
        """Look."""
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            cancelled.append(order_id)
            raise
        return "never"

    memory = memory_of(map_text=TIMED)
    middleware = BTMMiddleware(memory, timeouts={"get_charge": 0.05})
    both = calls(("charge", {"order_id": "o1"}, "c1"), ("get_charge", {"order_id": "o1"}, "c2"))
    model = ScriptedModel(script=[both, DONE])
    await create_agent(model, [charge, get_charge], middleware=[middleware]).ainvoke(ASK)
    assert {r[2]: r[1] for r in logged(memory)} == {"c1": "timeout", "c2": "timeout"}
    async with asyncio.timeout(30):
        while not (written and cancelled and middleware.notes._late):
            await asyncio.sleep(0.01)
    assert (written, cancelled) == (["o1"], ["o1"])
    [line] = next(iter(middleware.notes._late.values()))
    assert '"charged"' in line


async def test_cancelling_the_agent_cancels_its_limited_tool() -> None:
    cancelled = asyncio.Event()
    reached = asyncio.Event()

    @tool
    async def charge(order_id: str) -> str:
        """Charge."""
        reached.set()
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    memory = memory_of()
    model = ScriptedModel(script=[ONE_CALL])
    made = create_agent(model, [charge], middleware=[BTMMiddleware(memory, timeouts={"charge": 9.0})])
    task = asyncio.create_task(made.ainvoke(ASK))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(cancelled.wait(), 1)
    assert logged(memory) == []


def test_a_tool_within_its_limit_gives_what_it_gives() -> None:
    @tool
    def charge(order_id: str) -> str:
        """Charge."""
        if order_id == "bad":
            raise PermissionError("401 Unauthorized")
        return threading.current_thread().name

    [wrapped] = wrap_tools([charge], memory_of("observe"), timeouts={"charge": 5.0})
    assert wrapped.invoke({"order_id": "o1"}) == "btm-charge"
    with pytest.raises(PermissionError):
        wrapped.invoke({"order_id": "bad"})


def test_an_interrupt_passes_through_a_limit() -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    @tool
    def charge(order_id: str) -> str:
        """Charge."""
        return str(interrupt("sure?"))

    memory = memory_of()
    made = create_agent(
        ScriptedModel(script=[ONE_CALL, DONE]),
        [charge],
        middleware=[BTMMiddleware(memory, timeouts={"charge": 5.0})],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "t"}}
    assert "__interrupt__" in made.invoke(ASK, thread)
    assert made.invoke(Command(resume="yes"), thread)["messages"][2].content == "yes"
    assert logged(memory) == [("charge", "ok", "c1")]


@pytest.mark.parametrize("with_wrap", ["function", "tool"])
def test_the_limit_can_be_an_argument(with_wrap: str, caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()

    def send_mail(to: str) -> str:
        """Send."""
        release.wait(10)
        return "sent"

    memory = memory_of()
    if with_wrap == "function":
        wrapped = memory.wrap(send_mail, timeout_s=0.05)
        with pytest.raises(TimeoutError, match="send_mail timed out"):
            wrapped("a")
        release.set()
        wait_for(lambda: "send_mail, a write, went through after its time limit" in caplog.text)
    else:
        [made] = wrap_tools([send_mail], memory, timeouts={"send_mail": 0.05})
        with pytest.raises(TimeoutError):
            made.invoke({"to": "a"})
        release.set()
    [row] = memory.flush() and memory._store.log("calls")
    assert (row["kind"], row["ambiguous"]) == ("timeout", True)


def test_in_act_mode_every_try_has_the_limit() -> None:
    tries: list[int] = []
    release = threading.Event()

    @tool
    def get_order(order_id: str) -> str:
        """Look."""
        tries.append(1)
        if len(tries) < 3:
            release.wait(10)
        return "fine"

    memory = memory_of("act")
    [wrapped] = wrap_tools(
        [get_order], memory, timeouts={"get_order": 0.5}
    )  # the third try is never that slow
    assert wrapped.invoke({"order_id": "o1"}) == "fine"
    release.set()
    assert [kind for _, kind, _ in logged(memory)] == ["timeout", "timeout", "ok"]


@pytest.mark.parametrize("way", ["middleware", "tools", "loop"])
def test_a_hung_sync_tool_holds_up_neither_the_awaited_agent_nor_the_end_of_its_event_loop(way: str) -> None:
    release = threading.Event()

    def charge(order_id: str, config: RunnableConfig | None = None) -> str:
        """Charge."""
        release.wait(20)
        return "charged"

    memory = memory_of(map_text=TIMED)

    async def run() -> Any:
        if way == "middleware":
            model = ScriptedModel(script=[ONE_CALL, DONE])
            made = create_agent(model, [tool(charge)], middleware=[BTMMiddleware(memory)])
            return (await made.ainvoke(ASK))["messages"][2].content
        if way == "tools":
            [wrapped] = wrap_tools([charge], memory)
            call = {"type": "tool_call", "name": "charge", "args": {"order_id": "o1"}, "id": "c1"}
            return (await wrapped.ainvoke(call)).content
        function = {"name": "charge", "arguments": '{"order_id": "o1"}'}
        [answer] = await ChatLoop(memory, [charge]).arun([{"id": "c1", "function": function}])
        return answer["content"]

    begun = time.monotonic()
    assert asyncio.run(run()).startswith("TimeoutError: charge timed out")
    assert time.monotonic() - begun < 5
    release.set()


class Slow(BaseTool):
    """A sync tool as a class, which wants its run manager."""

    name: str = "charge"
    description: str = "Charge."

    def _run(self, order_id: str, run_manager: CallbackManagerForToolRun | None = None) -> str:
        assert isinstance(run_manager, CallbackManagerForToolRun)
        return threading.current_thread().name


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_sync_tool_of_a_class_gets_its_run_manager_in_a_thread_of_its_own(wrapped: bool) -> None:
    memory = memory_of()
    if wrapped:
        [made] = wrap_tools([Slow()], memory, timeouts={"charge": 5.0})
        assert await made.ainvoke({"order_id": "o1"}) == "btm-awaited"
        return
    model = ScriptedModel(script=[ONE_CALL, DONE])
    agent = create_agent(model, [Slow()], middleware=[BTMMiddleware(memory, timeouts={"charge": 5.0})])
    assert (await agent.ainvoke(ASK))["messages"][2].content == "btm-awaited"
