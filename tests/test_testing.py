"""What `btm.testing` gives to the tests of others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from test_imports import loaded_by

from btm import ToolCall, ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.adapters.langchain import BTMCallbackHandler, BTMMiddleware, wrap_tools
from btm.testing import ManualClock, ScriptedChatModel, ScriptedClient, fail, in_memory, inactive, is_active


@tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    return f"order {order_id}"


@tool
async def get_order_async(order_id: str) -> str:
    """Look an order up."""
    return f"order {order_id}"


class OwnTool(BaseTool):
    name: str = "own"
    description: str = "A tool as a class."
    runs: int = 0

    def _run(self, text: str, run_manager: Any = None) -> str:
        assert run_manager is not None
        self.runs += 1
        return text


def calls_of(memory: ToolMemory) -> list[tuple[str, str | None]]:
    memory.flush()
    store: Any = memory._store
    return [(row["tool"], row["kind"]) for row in store.log("calls")]


# -- fail ------------------------------------------------------------------------------------------------------------


def test_a_function_fails_as_often_as_told_and_then_works() -> None:
    runs: list[str] = []

    def search(text: str) -> str:
        runs.append(text)
        return text

    failing = fail(search, times=2, error=ConnectionError("refused"))
    for _ in range(2):
        with pytest.raises(ConnectionError, match="refused"):
            failing("a")
    assert failing("a") == "a"
    assert (runs, failing.__name__) == (["a"], "search")


async def test_an_async_function_fails_when_it_is_awaited() -> None:
    async def search(text: str) -> str:
        return text

    failing = fail(search)
    with pytest.raises(TimeoutError):
        await failing("a")
    assert await failing("a") == "a"


@pytest.mark.parametrize("made", [get_order, get_order_async])
async def test_a_langchain_tool_fails_in_both_ways_of_calling_and_the_original_does_not(
    made: BaseTool,
) -> None:
    failing = fail(made, times=2)
    assert (failing.name, failing.args) == (made.name, made.args)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await failing.ainvoke({"order_id": "o1"})
    assert await failing.ainvoke({"order_id": "o1"}) == "order o1"
    assert await made.ainvoke({"order_id": "o1"}) == "order o1"


async def test_a_tool_of_its_own_class_fails_once_a_call_though_its_await_ends_in_run() -> None:
    original = OwnTool()
    failing = fail(original, times=2)
    with pytest.raises(TimeoutError):
        await failing.ainvoke({"text": "a"})
    with pytest.raises(TimeoutError):
        failing.invoke({"text": "a"})
    assert failing.invoke({"text": "a"}) == "a"
    assert original.runs == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [({"times": -1}, ValueError), ({"times": True}, ValueError), ({"error": "timeout"}, TypeError)],
)
def test_fail_refuses_what_it_cannot_do(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        fail(print, **options)


# -- a memory, a clock, a model ------------------------------------------------------------------------------------------


def test_a_memory_for_tests_waits_by_its_clock_and_is_the_same_every_time() -> None:
    def waits() -> list[float]:
        clock = ManualClock()
        with in_memory(mode="act", clock=clock) as memory:
            search = memory.wrap(fail(lambda text: text, times=1), name="search", effect="read")
            assert search("a") == "a"
        return clock.slept

    assert waits() == waits()
    assert len(waits()) == 1


def test_the_scripted_model_drives_an_agent_through_a_failing_tool() -> None:
    model = ScriptedChatModel(plan=[("get_order", {"order_id": "o1"})])
    with in_memory() as memory:
        agent = create_agent(model, [fail(get_order)], middleware=[BTMMiddleware(memory)])
        said = agent.invoke({"messages": [HumanMessage("where is o1?")]})["messages"]
        assert said[-1].text == "Done: order o1"
        assert calls_of(memory) == [("get_order", "timeout"), ("get_order", None)]


def test_the_scripted_client_drives_a_bare_loop() -> None:
    def search(text: str) -> str:
        return text

    client = ScriptedClient([("search", {"text": "a"})])
    with in_memory() as memory:
        loop, messages = ChatLoop(memory, {"search": fail(search)}), [{"role": "user", "content": "find a"}]
        while True:
            message = client.chat.completions.create(messages=loop.prepare(messages)).choices[0].message
            messages.append(vars(message))
            if not message.tool_calls:
                break
            messages += loop.run(message.tool_calls)
    assert messages[-1]["content"] == "Done: a"


def test_the_helpers_load_no_framework_before_one_is_asked_for() -> None:
    assert (
        loaded_by("from btm.testing import ManualClock, fail, in_memory, inactive")
        & {"langchain_core", "langchain"}
        == set()
    )


# -- off -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["block", "environment"])
def off(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "environment":
        monkeypatch.setenv("BTM_DISABLED", "1")
        yield
    else:
        with inactive():
            yield


@pytest.mark.usefixtures("off")
@pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])
def test_while_btm_is_off_calls_pass_and_nothing_is_learned(mode: str) -> None:
    failure = ConnectionError("refused")
    clock = ManualClock()
    with in_memory(mode=mode, clock=clock) as memory:

        def invoke(tool: str, arguments: Any) -> Any:
            raise failure

        handled = memory.call(ToolCall("search", {"text": "a"}), invoke)
        assert (handled.error, handled.context, handled.refused) == (failure, None, False)
        wrapped = memory.wrap(fail(len, error=failure), name="search")
        with pytest.raises(ConnectionError) as raised:
            wrapped("a")
        assert not getattr(raised.value, "__notes__", [])
        assert wrapped("abc") == 3
        assert memory.begin(ToolCall("search")) is None
        assert calls_of(memory) == []
    assert clock.slept == []


@pytest.mark.usefixtures("off")
def test_while_btm_is_off_langchain_sees_the_tools_and_requests_as_they_are() -> None:
    requests: list[list[Any]] = []

    class Watched(ScriptedChatModel):
        def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
            requests.append(list(messages))
            return super()._generate(messages, *args, **kwargs)

    with in_memory() as memory:
        model = Watched(plan=[("get_order", {"order_id": "o1"})])
        agent = create_agent(model, [fail(get_order)], middleware=[BTMMiddleware(memory)])
        with pytest.raises(TimeoutError):
            agent.invoke({"messages": [HumanMessage("where?")]})
        assert [m.type for m in requests[0]] == ["human"]
        wrapped = wrap_tools(fail(get_order), memory)
        call = {"type": "tool_call", "name": "get_order", "args": {"order_id": "o1"}, "id": "c1"}
        with pytest.raises(TimeoutError):
            wrapped.invoke(call)
        with pytest.raises(TimeoutError):
            asyncio.run(wrap_tools(fail(get_order_async), memory).ainvoke(call))
        get_order.invoke({"order_id": "o1"}, config={"callbacks": [BTMCallbackHandler(memory)]})
        assert calls_of(memory) == []


@pytest.mark.usefixtures("off")
def test_while_btm_is_off_a_bare_loop_makes_its_calls_and_says_nothing() -> None:
    def search(text: str) -> str:
        return text

    with in_memory() as memory:
        loop = ChatLoop(memory, [search])
        messages = [{"role": "user", "content": "find a"}]
        assert loop.prepare(messages) == messages
        function = {"name": "search", "arguments": '{"text": "a"}'}
        [made] = loop.run([{"id": "c1", "type": "function", "function": function}])
        assert (made["tool_call_id"], made["content"]) == ("c1", "a")
        assert calls_of(memory) == []


def test_the_environment_keeps_btm_from_touching_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BTM_DISABLED", "1")
    ToolMemory.open(tmp_path / "btm.db").close()
    assert not list(tmp_path.iterdir())


def test_btm_is_on_again_after_nested_blocks_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BTM_DISABLED", raising=False)
    with inactive():
        with contextlib.suppress(KeyError), inactive():
            raise KeyError
        assert not is_active()
    assert is_active()
    monkeypatch.setenv("BTM_DISABLED", "0")
    assert is_active()
