from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kit import DONE, ScriptedModel, calls, conversations, learned, logged, memory_of
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from btm.adapters.langchain import BTMCallbackHandler, BTMMiddleware, wrap_tools


@tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    raise PermissionError("401 Unauthorized")


@tool
def list_orders(user_id: str) -> list[dict[str, str]]:
    """List orders."""
    return [{"order_id": "o1", "user_id": user_id}]


SCRIPT = [
    calls(("get_order", {"order_id": "o1"}, "c1")),
    calls(("list_orders", {"user_id": "u1"}, "c2")),
    DONE,
]
ASK = {"messages": [HumanMessage("where is o1?")]}
LESSON = [("get_order", "auth_error", "switch", "list_orders", 1, 1, 1)]


def graph(*tools: Any, checkpointer: Any = None, script: Any = SCRIPT) -> Any:
    model = ScriptedModel(script=list(script))
    made = StateGraph(MessagesState)
    made.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    made.add_node("tools", ToolNode(list(tools), handle_tool_errors=True))
    made.add_edge(START, "model")
    made.add_conditional_edges("model", tools_condition)
    made.add_edge("tools", "model")
    return made.compile(checkpointer=checkpointer)


def test_a_watched_graph_teaches_and_is_not_changed() -> None:
    memory = memory_of("observe")
    answer = graph(get_order, list_orders).invoke(ASK, {"callbacks": [BTMCallbackHandler(memory)]})
    bare = graph(get_order, list_orders).invoke(ASK)
    assert [m.content for m in answer["messages"]] == [m.content for m in bare["messages"]]
    assert logged(memory) == [("get_order", "auth_error", "c1"), ("list_orders", "ok", "c2")]
    assert learned(memory) == LESSON


def test_the_conversation_is_the_thread_or_the_root_run_which_ends_it() -> None:
    memory = memory_of("observe")
    handler = BTMCallbackHandler(memory)
    graph(get_order, list_orders).invoke(ASK, {"callbacks": [handler]})
    [first] = conversations(memory)
    assert first.startswith("run-")
    assert memory._ledger.conversations._known == {}
    assert handler._roots == {}
    assert handler._begun == {}
    threaded = {"callbacks": [handler], "configurable": {"thread_id": "t1"}}
    graph(get_order, list_orders, checkpointer=InMemorySaver()).invoke(ASK, threaded)
    assert conversations(memory) == {first, "t1"}


async def test_an_awaited_run_is_watched_the_same() -> None:
    memory = memory_of("observe")
    await graph(get_order, list_orders).ainvoke(ASK, {"callbacks": [BTMCallbackHandler(memory)]})
    assert learned(memory) == LESSON


@pytest.mark.parametrize("mode", ["observe", "advise", "act"])
def test_calls_that_the_same_memory_handles_already_count_once(mode: str) -> None:
    memory = memory_of(mode)
    handler = BTMCallbackHandler(memory)
    wrapped = wrap_tools([get_order, list_orders], memory)
    graph(*wrapped).invoke(ASK, {"callbacks": [handler]})
    agent = create_agent(
        ScriptedModel(script=list(SCRIPT)), [get_order, list_orders], middleware=[BTMMiddleware(memory)]
    )
    if mode == "observe":
        with pytest.raises(PermissionError):
            agent.invoke(ASK, {"callbacks": [handler]})
        assert len(logged(memory)) == 3
    else:
        agent.invoke(ASK, {"callbacks": [handler]})
        assert len(logged(memory)) == 4


def test_an_interrupt_teaches_nothing_and_the_resumed_call_counts_once() -> None:
    @tool
    def charge(order_id: str) -> str:
        """Charge."""
        return str(interrupt("sure?"))

    memory = memory_of("observe")
    script = [calls(("charge", {"order_id": "o1"}, "c1")), DONE]
    agent = graph(charge, checkpointer=InMemorySaver(), script=script)
    config = {"callbacks": [BTMCallbackHandler(memory)], "configurable": {"thread_id": "t1"}}
    agent.invoke(ASK, config)
    assert logged(memory) == []
    agent.invoke(Command(resume="yes"), config)
    assert logged(memory) == [("charge", "ok", "c1")]


def test_a_broken_memory_does_not_break_the_run(caplog: pytest.LogCaptureFixture) -> None:
    memory = memory_of("observe")
    memory._ledger.begin = None  # type: ignore[assignment, method-assign]
    answer = graph(get_order, list_orders).invoke(ASK, {"callbacks": [BTMCallbackHandler(memory)]})
    assert answer["messages"][-1].content == "done"


def test_many_runs_leave_nothing_behind() -> None:
    memory = memory_of("observe")
    handler = BTMCallbackHandler(memory)
    for _ in range(20):
        asyncio.run(graph(get_order, list_orders).ainvoke(ASK, {"callbacks": [handler]}))
    assert (handler._roots, handler._begun, memory._ledger.conversations._known) == ({}, {}, {})
