from __future__ import annotations

from typing import Any

import pytest
from kit import DONE, ScriptedModel, calls, learned, logged, memory_of
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from message_rules import assert_accepted

from btm.adapters.langchain import BTMMiddleware

ASK = {"messages": [HumanMessage("where is o1?")]}
SCRIPT = [calls(("get_order", {"order_id": "o1"}, "c1")), DONE]


def flaky(failures: int) -> Any:
    tries: list[int] = []

    @tool
    def get_order(order_id: str) -> str:
        """Look."""
        tries.append(1)
        if len(tries) <= failures:
            raise TimeoutError("timed out")
        return "fine"

    return get_order


def retry() -> ToolRetryMiddleware:
    return ToolRetryMiddleware(max_retries=2, initial_delay=0.0)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_retry_outside_with_raises_is_seen_try_by_try(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_of()
    middleware = [retry(), BTMMiddleware(memory, raises=True)]
    made = create_agent(ScriptedModel(script=list(SCRIPT)), [flaky(2)], middleware=middleware)
    answer = made.invoke(ASK) if way == "sync" else await made.ainvoke(ASK)
    assert answer["messages"][2].content == "fine"
    assert logged(memory) == [
        ("get_order", "timeout", "c1"),
        ("get_order", "timeout", "c1~again1"),
        ("get_order", "ok", "c1~again2"),
    ]
    assert learned(memory) == [
        ("get_order", "timeout", "retry", "", 1, 0, 1),
        ("get_order", "timeout", "retry", "", 2, 1, 1),
    ]
    assert caplog.text == ""


def test_the_note_still_comes_when_the_retry_outside_gives_up() -> None:
    model = ScriptedModel(script=list(SCRIPT))
    made = create_agent(model, [flaky(9)], middleware=[retry(), BTMMiddleware(memory_of(), raises=True)])
    made.invoke(ASK)
    assert '<recovery tool="get_order" error="timeout" id="' in model.requests[1][-1].text


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_retry_outside_that_never_sees_a_failure_is_warned_about(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = create_agent(
        ScriptedModel(script=list(SCRIPT)), [flaky(9)], middleware=[retry(), BTMMiddleware(memory_of())]
    )
    made.invoke(ASK) if way == "sync" else await made.ainvoke(ASK)
    assert caplog.text.count("ToolRetryMiddleware is listed before BTMMiddleware") == 1


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_retry_inside_hides_its_tries_and_is_warned_about(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_of()
    made = create_agent(
        ScriptedModel(script=list(SCRIPT)), [flaky(9)], middleware=[BTMMiddleware(memory), retry()]
    )
    made.invoke(ASK) if way == "sync" else await made.ainvoke(ASK)
    assert caplog.text.count("ToolRetryMiddleware is listed after BTMMiddleware: its tries are hidden") == 1
    assert logged(memory) == [("get_order", "timeout", "c1")]


def test_other_middleware_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    class Own(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

    made = create_agent(
        ScriptedModel(script=list(SCRIPT)), [flaky(0)], middleware=[Own(), BTMMiddleware(memory_of())]
    )
    made.invoke(ASK)
    assert caplog.text == ""


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_call_limit_works_on_either_side(place: str) -> None:
    memory = memory_of()
    limit = ToolCallLimitMiddleware(run_limit=1)
    order = [limit, BTMMiddleware(memory)] if place == "before" else [BTMMiddleware(memory), limit]
    two = [
        calls(("get_order", {"order_id": "o1"}, "c1")),
        calls(("get_order", {"order_id": "o2"}, "c2")),
        DONE,
    ]
    model = ScriptedModel(script=two)
    answer = create_agent(model, [flaky(0)], middleware=order).invoke(ASK)
    assert logged(memory) == [("get_order", "ok", "c1")]
    assert [m.status for m in answer["messages"] if isinstance(m, ToolMessage)] == ["success", "error"]
    for request in model.requests:
        assert_accepted(request)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_fallback_model_gets_the_note_too(place: str) -> None:
    def breaks(_: Any) -> Any:
        raise ConnectionError("model down")

    first = ScriptedModel(script=[*SCRIPT[:1], breaks])
    second = ScriptedModel(script=[DONE])
    fallback = ModelFallbackMiddleware(second)
    ours = BTMMiddleware(memory_of())
    order = [fallback, ours] if place == "before" else [ours, fallback]
    create_agent(first, [flaky(9)], middleware=order).invoke(ASK)
    assert "<recovery tool" in second.requests[0][-1].text
    assert_accepted(second.requests[0])


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_summary_of_the_conversation_does_not_disturb_the_note(place: str) -> None:
    summary = SummarizationMiddleware(
        ScriptedModel(script=[DONE] * 5), trigger=("messages", 4), keep=("messages", 2)
    )
    ours = BTMMiddleware(memory_of())
    order = [summary, ours] if place == "before" else [ours, summary]
    script = [
        calls(("get_order", {"order_id": "o1"}, "c1")),
        calls(("get_order", {"order_id": "o2"}, "c2")),
        calls(("get_order", {"order_id": "o3"}, "c3")),
        DONE,
    ]
    model = ScriptedModel(script=script)
    create_agent(model, [flaky(9)], middleware=order).invoke(ASK)
    for request in model.requests:
        assert_accepted(request)
    assert "<recovery tool" in model.requests[-1][-1].text
