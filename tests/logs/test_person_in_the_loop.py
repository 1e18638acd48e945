"""A person reviews a call: what the live run taught is what its log teaches, and a refused call teaches nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from test_live_and_offline import MAP, ORDER, Numbered, beliefs, opened

from btm.adapters.langchain import BTMMiddleware
from btm.learning.posterior import Decay
from btm.logs.fit import fit
from btm.logs.reading import read_conversations

ASKED = ("get_order", "cancel_order", "get_order", "list_orders")
EDITED = {"type": "edit", "edited_action": {"name": "cancel_order", "args": {"order_id": "O-2"}}}
DECISIONS = {
    "approved": {"type": "approve"},
    "refused": {"type": "reject", "message": "Not yet."},
    "edited": EDITED,
}


def tools() -> list[BaseTool]:
    left = {"get_order": [TimeoutError("timed out after 30 s"), TimeoutError("timed out after 30 s")]}

    def tool(name: str) -> BaseTool:
        def answer(order_id: str) -> str:
            if left.get(name):
                raise left[name].pop()
            return json.dumps({"order_id": order_id, "status": "cancelled"})

        schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
        return StructuredTool(name=name, description=name, args_schema=schema, func=answer)

    return [tool(name) for name in sorted(set(ASKED))]


def answers() -> Iterator[AIMessage]:
    for number, name in enumerate(ASKED):
        call = {"name": name, "args": ORDER, "id": f"call_{number}", "type": "tool_call"}
        yield AIMessage("", tool_calls=[call])
    yield AIMessage("It is cancelled.")


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_reviewed_run_teaches_live_and_from_its_log_the_same(decision: str, tmp_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "thread-1"}, "recursion_limit": 100}
    with opened("advise") as memory:
        review = HumanInTheLoopMiddleware(interrupt_on={"cancel_order": True})
        agent = create_agent(
            Numbered(messages=answers()),
            tools(),
            middleware=[review, BTMMiddleware(memory)],
            checkpointer=InMemorySaver(),
        )
        agent.invoke({"messages": [HumanMessage("Cancel my order O-1.")]}, config)
        done = agent.invoke(Command(resume={"decisions": [DECISIONS[decision]]}), config)
        live = beliefs(memory)
    log = tmp_path / "run.jsonl"
    log.write_text(
        json.dumps({"thread_id": "thread-1", "messages": messages_to_dict(done["messages"])}) + "\n"
    )
    learned = fit(read_conversations([log]), MAP, decay=Decay(), now=0.0)
    assert {key: tuple(sums) for key, sums in learned.sums.items()} == live
    assert live
    assert not any(key.tool == "cancel_order" for key in live)
