from __future__ import annotations

from typing import Annotated, Any

import pytest
from kit import DONE, MAP, ScriptedModel, calls, learned, memory_of
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.prebuilt import InjectedState, InjectedStore
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from message_rules import assert_accepted

from btm.adapters.langchain import BTMMiddleware

ASK = {"messages": [HumanMessage("where is o1?")]}
SCRIPT = [
    calls(("find_user", {"email": "a"}, "c1")),
    calls(("get_order", {"order_id": "o1"}, "c2")),
    DONE,
]
ORDER = {"order_id": "o1", "status": "shipped"}


@tool
def find_user(email: str) -> dict[str, str]:
    """Find a user."""
    return {"user_id": "u1"}


@tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    raise PermissionError("401 Unauthorized")


def served(substitute: Any, map_text: str = MAP, failing: Any = get_order) -> tuple[ToolMessage, Any, Any]:
    """The message that answers get_order when ``substitute`` stands in; the model; the memory."""
    memory = memory_of("act", map_text=map_text)
    model = ScriptedModel(script=list(SCRIPT))
    store = InMemoryStore()
    store.put(("n",), "k", {"v": 5})
    made = create_agent(
        model, [find_user, failing, substitute], middleware=[BTMMiddleware(memory)], store=store
    )
    answer = made.invoke(ASK)
    [message] = [m for m in answer["messages"] if isinstance(m, ToolMessage) and m.tool_call_id == "c2"]
    for request in model.requests:
        assert_accepted(request)
    return message, model, memory


def test_a_substitute_answers_under_the_called_name_and_says_who_it_was() -> None:
    @tool
    def list_orders(user_id: str) -> list[dict[str, str]]:
        """List orders."""
        return [ORDER]

    message, model, memory = served(list_orders)
    answer, line = message.text.split("\n\n")
    assert answer == '{"order_id":"o1","status":"shipped"}'
    assert line == "[tool layer: served by list_orders in place of get_order after an auth error]"
    assert (message.name, message.tool_call_id, message.status) == ("get_order", "c2", "success")
    assert message.response_metadata["btm"] == {
        "served_by": "list_orders",
        "moves": ["switch list_orders"],
        "said": line,
    }
    assert "<recovery tool" not in str(model.requests)
    assert learned(memory) == [("get_order", "auth_error", "switch", "list_orders", 1, 1, 1)]


def test_everything_that_is_injected_reaches_the_substitute() -> None:
    got: dict[str, Any] = {}

    @tool
    def list_orders(
        user_id: str,
        state: Annotated[dict[str, Any], InjectedState],
        messages: Annotated[list[Any], InjectedState("messages")],
        call_id: Annotated[str, InjectedToolCallId],
        store: Annotated[BaseStore, InjectedStore()],
        runtime: ToolRuntime,
    ) -> list[dict[str, str]]:
        """List orders."""
        got.update(
            user=user_id,
            state=len(state["messages"]),
            messages=len(messages),
            id=call_id,
            runtime=runtime.tool_call_id,
        )
        found = store.get(("n",), "k")
        got["store"] = found.value["v"] if found else None
        return [ORDER]

    message, _, _ = served(list_orders)
    assert message.status == "success"
    assert got == {"user": "u1", "state": 4, "messages": 4, "id": "c2", "store": 5, "runtime": "c2"}


def test_a_substitute_that_answers_with_a_command_updates_the_state() -> None:
    @tool
    def list_orders(user_id: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """List orders."""
        return Command(
            update={"messages": [ToolMessage("two orders", name="list_orders", tool_call_id=call_id)]}
        )

    plain_map = MAP.replace("pick: \"result | selectattr('order_id', 'eq', call.order_id) | first\"", "")
    message, _, _ = served(list_orders, plain_map)
    assert (message.text.partition("\n\n")[0], message.name) == ("two orders", "get_order")
    assert message.response_metadata["btm"]["served_by"] == "list_orders"


@pytest.mark.parametrize("error", [PermissionError("403 Forbidden"), TimeoutError("timed out")])
def test_when_the_substitute_fails_too_the_first_failure_is_what_the_model_sees(error: Exception) -> None:
    @tool
    def list_orders(user_id: str) -> str:
        """List orders."""
        raise error

    message, model, _ = served(list_orders)
    assert message.status == "error"
    assert message.content == "PermissionError: 401 Unauthorized"
    assert message.response_metadata["btm"]["served_by"] == ""
    assert "tried: switch list_orders" in model.requests[-1][-1].text


def test_a_tool_that_the_agent_does_not_have_is_not_offered() -> None:
    memory = memory_of("act")
    model = ScriptedModel(script=list(SCRIPT))
    create_agent(model, [find_user, get_order], middleware=[BTMMiddleware(memory)]).invoke(ASK)
    assert "list_orders" not in model.requests[-1][-1].text


def test_a_retry_keeps_what_was_injected_and_the_models_id() -> None:
    ids: list[str] = []

    @tool
    def get_order(order_id: str, runtime: ToolRuntime) -> str:
        """Look."""
        ids.append(runtime.tool_call_id or "")
        if len(ids) == 1:
            raise TimeoutError("timed out")
        return "fine"

    @tool
    def other(x: str) -> str:
        """Unused."""
        return x

    message, _, _ = served(other, failing=get_order)
    assert ids == ["c2", "c2"]
    assert message.content == "fine\n\n[tool layer: after a timeout, 1 retry]"
    assert message.response_metadata["btm"]["moves"] == ["retry get_order"]


def test_an_ambiguous_write_is_verified_and_not_repeated() -> None:
    charged: list[str] = []

    @tool
    def charge(order_id: str) -> str:
        """Charge."""
        charged.append(order_id)
        raise TimeoutError("timed out")

    @tool
    def get_charge(order_id: str) -> dict[str, bool]:
        """Look whether it was charged."""
        return {"charged": order_id in charged}

    memory = memory_of("act")
    model = ScriptedModel(script=[calls(("charge", {"order_id": "o1"}, "c1")), DONE])
    made = create_agent(model, [charge, get_charge], middleware=[BTMMiddleware(memory)])
    message = made.invoke(ASK)["messages"][2]
    assert charged == ["o1"]
    assert (message.name, message.status) == ("charge", "success")
    assert message.response_metadata["btm"]["moves"] == ["verify get_charge"]
