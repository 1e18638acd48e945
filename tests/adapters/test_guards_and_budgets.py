from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import DONE, ScriptedModel, calls, logged, memory_of
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from message_rules import assert_accepted

from btm.adapters.budget import Budget
from btm.adapters.langchain import BTMMiddleware, wrap_tools

ASK = {"messages": [HumanMessage("where is o1?")]}


@tool
def find_user(email: str) -> dict[str, str]:
    """Find a user."""
    return {"user_id": "u1"}


@tool
def list_orders(user_id: str) -> str:
    """List orders."""
    return "fine"


def failing(made: list[str]) -> Any:
    @tool
    def get_order(order_id: str) -> str:
        """Look."""
        made.append(order_id)
        raise TimeoutError("timed out")

    return get_order


def charging(made: list[str]) -> Any:
    @tool
    def charge(order_id: str) -> str:
        """Charge."""
        made.append(order_id)
        raise TimeoutError("timed out")

    return charge


def test_the_fourth_identical_call_is_refused_with_the_reason_and_what_is_left() -> None:
    made: list[str] = []
    memory = memory_of("guard")
    same = [calls(("get_order", {"order_id": "o1"}, f"c{i}")) for i in range(1, 6)]
    model = ScriptedModel(script=[calls(("find_user", {"email": "a"}, "c0")), *same, DONE])
    answer = create_agent(
        model, [find_user, failing(made), list_orders], middleware=[BTMMiddleware(memory)]
    ).invoke(ASK)
    results = [m for m in answer["messages"] if isinstance(m, ToolMessage)]
    assert made == ["o1"] * 3
    refused = results[4]
    assert refused.status == "error"
    assert refused.content.startswith('get_order {"order_id":"o1"} was not run. get_order has failed 3 times')
    assert 'Next: switch to list_orders {"user_id":"u1"}' in refused.content
    assert "not run: get_order" in model.requests[5][-1].text
    for request in model.requests:
        assert_accepted(request)


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_other_modes_refuse_nothing(mode: str) -> None:
    made: list[str] = []
    [wrapped] = wrap_tools([failing(made)], memory_of(mode))
    for _ in range(5):
        with pytest.raises(TimeoutError):
            wrapped.invoke({"order_id": "o1"}, config={"configurable": {"thread_id": "t"}})
    assert made == ["o1"] * 5


def test_an_ambiguous_write_is_not_repeated_before_it_is_verified() -> None:
    made: list[str] = []

    @tool
    def get_charge(order_id: str) -> dict[str, bool]:
        """Look."""
        return {"charged": False}

    memory = memory_of("guard")
    model = ScriptedModel(
        script=[
            calls(("charge", {"order_id": "o1"}, "c1")),
            calls(("charge", {"order_id": "o1"}, "c2")),
            calls(("get_charge", {"order_id": "o1"}, "c3")),
            calls(("charge", {"order_id": "o1"}, "c4")),
            DONE,
        ]
    )
    answer = create_agent(model, [charging(made), get_charge], middleware=[BTMMiddleware(memory)]).invoke(ASK)
    results = {m.tool_call_id: m.content for m in answer["messages"] if isinstance(m, ToolMessage)}
    assert results["c2"].startswith('charge {"order_id":"o1"} was not run. charge may have gone through')
    assert made == ["o1", "o1"]  # the second only after the read said that it had not happened
    assert [r[2] for r in logged(memory)] == ["c1", "c3", "c4"]


def test_wrapped_tools_refuse_by_a_message_or_an_exception() -> None:
    made: list[str] = []
    [wrapped] = wrap_tools([charging(made)], memory_of("guard"))
    thread: Any = {"configurable": {"thread_id": "t"}}
    ask = {"type": "tool_call", "name": "charge", "args": {"order_id": "o1"}}
    wrapped.invoke({**ask, "id": "c1"}, thread)
    refused = wrapped.invoke({**ask, "id": "c2"}, thread)
    assert refused.status == "error"
    assert "not run: charge" in refused.content
    with pytest.raises(Exception, match="not run: charge") as caught:
        wrapped.invoke({"order_id": "o1"}, thread)
    assert type(caught.value).__name__ == "RefusedCallError"
    assert made == ["o1"]


# -- budgets -------------------------------------------------------------------------------------------------------------


def spending(budget: Budget, mode: str = "advise", calls_made: int = 5) -> tuple[list[Any], ScriptedModel]:
    script = [calls(("find_user", {"email": str(i)}, f"c{i}")) for i in range(calls_made)]
    model = ScriptedModel(script=[*script, DONE])
    made = create_agent(model, [find_user], middleware=[BTMMiddleware(memory_of(mode), budget=budget)])
    return made.invoke(ASK)["messages"], model


def test_the_budget_is_told_before_it_is_spent() -> None:
    _, model = spending(Budget(calls=4), calls_made=4)
    last = [request[-1].text for request in model.requests]
    assert last[0] == "where is o1?"
    assert "budget" not in last[1]
    assert last[2].startswith("budget: 2 of 4 tool calls left for this request.")
    assert last[3].startswith("budget: 1 of 4 tool calls left")
    assert last[4].startswith("budget: spent. Call no more tools")
    assert last[3].endswith("Continue with: where is o1?")


@pytest.mark.parametrize(("mode", "run"), [("advise", 5), ("guard", 2), ("act", 2)])
def test_guard_and_act_mode_keep_the_budget(mode: str, run: int) -> None:
    messages, model = spending(Budget(calls=2), mode)
    statuses = [m.status for m in messages if isinstance(m, ToolMessage)]
    assert statuses == ["success"] * run + ["error"] * (5 - run)
    for request in model.requests:
        assert_accepted(request)


def test_parallel_calls_share_the_budget_in_order() -> None:
    three = calls(*(("find_user", {"email": str(i)}, f"c{i}") for i in range(3)))
    model = ScriptedModel(script=[three, DONE])
    made = create_agent(
        model, [find_user], middleware=[BTMMiddleware(memory_of("guard"), budget=Budget(cost=2.0))]
    )
    messages = made.invoke(ASK)["messages"]
    assert [m.status for m in messages if isinstance(m, ToolMessage)] == ["success", "success", "error"]
    assert messages[4].content.endswith("was not run: the budget for this request is spent.")


@given(st.integers(1, 20), st.integers(0, 25))
def test_a_budget_allows_exactly_its_calls_and_speaks_before_the_last(limit: int, made: int) -> None:
    spent = Budget(calls=limit).spent_by(["x"] * made, lambda _: 1.0)
    assert spent.allows(1.0) == (made < limit)
    if made == limit - 1 and limit > 1:
        assert "1 of" in spent.line()
