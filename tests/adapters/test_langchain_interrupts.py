from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kit import DONE, ScriptedModel, calls, learned, logged, memory_of
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.types import Command, interrupt
from message_rules import assert_accepted
from pydantic import BaseModel

from btm.adapters.langchain import BTMMiddleware, wrap_tools

ASK = {"messages": [HumanMessage("charge o1")]}
THREAD = {"configurable": {"thread_id": "t1"}}
SCRIPT = [calls(("charge", {"order_id": "o1"}, "c1")), DONE]
MODES = pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])


@tool
def charge(order_id: str) -> str:
    """Charge an order."""
    return f"charged, {interrupt('sure?')}"


def raising(error: BaseException) -> Any:
    @tool
    def charge(order_id: str) -> str:
        """Charge an order."""
        raise error

    return charge


def agent(memory: Any, tools: list[Any], *before: Any, after: tuple[Any, ...] = ()) -> Any:
    model = ScriptedModel(script=list(SCRIPT))
    middleware = [*before, BTMMiddleware(memory), *after]
    return create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())


@MODES
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_an_interrupt_passes_and_the_resumed_call_counts_once(mode: str, way: str, wrapped: bool) -> None:
    memory = memory_of(mode)
    made = agent(memory, wrap_tools([charge], memory) if wrapped else [charge])

    def run(given: Any) -> Any:
        return made.invoke(given, THREAD) if way == "sync" else asyncio.run(made.ainvoke(given, THREAD))

    assert run(ASK)["__interrupt__"][0].value == "sure?"
    assert logged(memory) == []
    answer = run(Command(resume="yes"))
    assert answer["messages"][2].content == "charged, yes"
    assert logged(memory) == [("charge", "ok", "c1")]
    assert learned(memory) == []


@MODES
@pytest.mark.parametrize(
    "error",
    [
        GraphInterrupt(()),
        GraphBubbleUp("up"),
        ParentCommand(Command(graph=Command.PARENT)),
        KeyboardInterrupt(),
    ],
)
def test_signals_and_keys_pass_untouched_and_teach_nothing(mode: str, error: BaseException) -> None:
    memory = memory_of(mode)
    [wrapped] = wrap_tools([raising(error)], memory)
    with pytest.raises(type(error)) as caught:
        wrapped.invoke({"type": "tool_call", "name": "charge", "args": {"order_id": "o1"}, "id": "c1"})
    assert caught.value is error
    with pytest.raises(type(error)):
        asyncio.run(wrapped.ainvoke({"order_id": "o2"}))  # the first may have been made
    assert logged(memory) == []


@MODES
async def test_a_cancelled_run_ends_at_once_and_teaches_nothing(mode: str) -> None:
    reached = asyncio.Event()

    @tool
    async def charge(order_id: str) -> str:
        """Charge an order."""
        reached.set()
        await asyncio.sleep(60)
        return "never"

    memory = memory_of(mode)
    task = asyncio.create_task(agent(memory, [charge]).ainvoke(ASK, THREAD))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert logged(memory) == []


def test_an_answer_of_the_wrong_form_fails_the_resume_and_not_the_tool() -> None:
    class Approval(BaseModel):
        approved: bool

    @tool
    def charge(order_id: str) -> str:
        """Charge an order."""
        return f"charged, {interrupt('sure?', response_schema=Approval)}"

    memory = memory_of()
    made = agent(memory, [charge])
    made.invoke(ASK, THREAD)
    with pytest.raises(Exception, match="approved"):
        made.invoke(Command(resume={"wrong": 1}), THREAD)
    assert logged(memory) == []
    answer = made.invoke(Command(resume={"approved": True}), THREAD)
    assert answer["messages"][2].status == "success"


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_human_in_the_loop_works_on_either_side(place: str, decision: str) -> None:
    @tool
    def charge(order_id: str) -> str:
        """Charge an order."""
        return "charged"

    memory = memory_of()
    human = HumanInTheLoopMiddleware(interrupt_on={"charge": True})
    made = agent(
        memory, [charge], *([human] if place == "before" else []), after=(human,) if place == "after" else ()
    )
    asked = made.invoke(ASK, THREAD)
    assert "__interrupt__" in asked
    answer = made.invoke(Command(resume={"decisions": [{"type": decision}]}), THREAD)
    [result] = [m for m in answer["messages"] if isinstance(m, ToolMessage)]
    assert result.status == ("success" if decision == "approve" else "error")
    assert logged(memory) == ([("charge", "ok", "c1")] if decision == "approve" else [])
    assert_accepted(answer["messages"], ["openai"])


def test_a_sibling_that_finished_before_an_interrupt_is_not_counted_again() -> None:
    ran: list[str] = []

    @tool
    def get_order(order_id: str) -> str:
        """Look."""
        ran.append(order_id)
        return "fine"

    memory = memory_of()
    both = calls(("get_order", {"order_id": "o1"}, "c1"), ("charge", {"order_id": "o1"}, "c2"))
    model = ScriptedModel(script=[both, DONE])
    made = create_agent(
        model, [get_order, charge], middleware=[BTMMiddleware(memory)], checkpointer=InMemorySaver()
    )
    made.invoke(ASK, THREAD)
    made.invoke(Command(resume="yes"), THREAD)
    assert ran == ["o1"]
    assert logged(memory) == [("get_order", "ok", "c1"), ("charge", "ok", "c2")]


@pytest.mark.parametrize("mode", ["guard", "act"])
def test_a_payment_that_is_replayed_from_an_earlier_checkpoint_is_made_once_and_not_advised(
    mode: str,
) -> None:
    paid: list[str] = []

    @tool
    def charge(order_id: str) -> str:
        """Charge an order."""
        paid.append(order_id)
        return "charged"

    memory = memory_of(mode, durability="strict")
    model = ScriptedModel(script=[*SCRIPT, DONE, *SCRIPT])
    made = create_agent(model, [charge], middleware=[BTMMiddleware(memory)], checkpointer=InMemorySaver())
    made.invoke(ASK, THREAD)
    before_the_call = next(s for s in made.get_state_history(THREAD) if s.next == ("tools",))
    answer = made.invoke(None, before_the_call.config)
    assert paid == ["o1"]
    said = next(m.content for m in answer["messages"] if isinstance(m, ToolMessage))
    assert "it worked" in said
    assert "retry" not in said
    made.invoke(ASK, {"configurable": {"thread_id": "t2"}})
    assert paid == ["o1", "o1"], "another conversation is another wish"
