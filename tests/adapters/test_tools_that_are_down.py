from __future__ import annotations

from typing import Any

import pytest
from kit import DONE, ScriptedModel
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from message_rules import assert_accepted

from btm import ToolCall, ToolMemory
from btm.adapters.langchain import BTMMiddleware
from btm.fallback import FallbackMap
from btm.testing import ManualClock

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order: {effect: read, fallbacks: [{tool: list_orders, coverage: full, arguments: {user_id: u1}}]}
  list_orders: {effect: read}
""")


@tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    return order_id


@tool
def list_orders(user_id: str) -> str:
    """List orders."""
    return user_id


def dead(*_: Any) -> Any:
    raise TimeoutError("Read timed out.")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> ToolMemory:
    memory = ToolMemory.open(fallback_map=MAP, mode="advise", clock=clock)
    for number in range(20):
        memory.call(ToolCall("get_order", {"order_id": f"{number}"}, conversation=f"c{number}"), dead)
    return memory


def request_of(memory: ToolMemory, **options: Any) -> tuple[list[Any], list[str]]:
    """Return the messages and the tools of an agent's first request."""
    model = ScriptedModel(script=[DONE])
    offered: list[list[str]] = []

    @wrap_model_call
    def watch(request: Any, handler: Any) -> Any:
        offered.append([tool.name for tool in request.tools])
        return handler(request)

    middleware = [BTMMiddleware(memory, **options), watch]
    made = create_agent(model, [get_order, list_orders], middleware=middleware)
    answer = made.invoke({"messages": [HumanMessage("where is o1?")]})
    assert answer["messages"][0].content == "where is o1?"
    return model.requests[0], offered[0]


def test_the_first_request_says_what_is_down_at_the_end_of_the_users_message(memory: ToolMemory) -> None:
    messages, tools = request_of(memory)
    assert_accepted(messages)
    assert messages[-1].type == "human"
    assert "down: get_order is down for everyone (0 of its last 10 calls worked" in messages[-1].content
    assert tools == ["get_order", "list_orders"]


def test_a_tool_that_is_down_is_left_out_where_that_is_wanted_and_comes_back(
    memory: ToolMemory, clock: ManualClock
) -> None:
    assert request_of(memory, hide_open=True)[1] == ["list_orders"]
    clock.sleep(31.0)
    messages, tools = request_of(memory, hide_open=True)
    assert tools == ["get_order", "list_orders"]
    assert "down:" not in messages[-1].content


def test_an_agent_is_never_left_without_tools(memory: ToolMemory) -> None:
    for number in range(20):
        memory.call(ToolCall("list_orders", {"user_id": f"{number}"}, conversation=f"d{number}"), dead)
    assert request_of(memory, hide_open=True)[1] == ["get_order", "list_orders"]
