"""A person who rejects a call says nothing about the tool: nothing is learned, and that recovery is over."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.kit import DONE, ScriptedModel, calls, learned, logged, memory_of
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from btm.adapters.langchain import BTMMiddleware

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def agent_of(memory: Any, *others: Any) -> tuple[Any, ScriptedModel]:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        raise ConnectionError("connection refused")

    script = [calls(("pay", {"amount": 5}, "c1")), calls(("pay", {"amount": 5}, "c2")), DONE]
    model = ScriptedModel(script=script)
    saver = InMemorySaver()
    return create_agent(model, [pay], middleware=[BTMMiddleware(memory), *others], checkpointer=saver), model


class Rejects(AgentMiddleware[Any, Any, Any]):
    """Rejects the second call right where the tool would be run."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        call = request.tool_call
        if call["id"] == "c1":
            return handler(request)
        text = f"User rejected the tool call for `{call['name']}` with reason: not now"
        return ToolMessage(content=text, name=call["name"], tool_call_id=call["id"], status="error")


@pytest.mark.parametrize("mode", ["advise", "guard"])
def test_a_rejection_in_place_of_the_tool_teaches_nothing_and_ends_the_recovery(mode: str) -> None:
    memory = memory_of(mode, map_text="version: 1\ndomain: d\ntools: {pay: {effect: read}}")
    agent, model = agent_of(memory, Rejects())
    out = agent.invoke({"messages": [{"role": "user", "content": "pay"}]}, CONFIG)
    assert "not now" in out["messages"][4].text
    assert [row[2] for row in logged(memory)] == ["c1"]
    assert learned(memory) == []
    assert memory._ledger.conversations._known["t"].tracker.open_incidents == ()
    assert "<recovery" in str(model.requests[1][-1].content)
    assert model.requests[2][-1].type == "tool"  # nothing more is advised


def test_a_rejection_before_the_tool_is_reached_does_so_too() -> None:
    memory = memory_of(map_text="version: 1\ndomain: d\ntools: {pay: {effect: read}}")
    gate = HumanInTheLoopMiddleware(interrupt_on={"pay": True})
    agent, model = agent_of(memory, gate)
    agent.invoke({"messages": [{"role": "user", "content": "pay"}]}, CONFIG)
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    out = agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), CONFIG)
    assert out["messages"][-1].text == "done"
    assert [row[2] for row in logged(memory)] == ["c1"]
    assert learned(memory) == []
    assert memory._ledger.conversations._known["t"].tracker.open_incidents == ()
    assert "<recovery" not in str(model.requests[2][1:])
