from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kit import DONE, ScriptedModel, calls, conversations, learned, logged, memory_of
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from btm.adapters.langchain import BTMMiddleware, wrap_tools

ASK = {"messages": [HumanMessage("go")]}


@tool
def get_order(order_id: str) -> str:
    """Look."""
    raise PermissionError("401 Unauthorized")


def test_an_agent_inside_another_has_a_conversation_of_its_own() -> None:
    memory = memory_of()
    middleware = BTMMiddleware(memory)

    @tool
    def research(topic: str) -> str:
        """Hand over to another agent."""
        inner = create_agent(
            ScriptedModel(script=[calls(("get_order", {"order_id": topic}, f"in-{topic}")), DONE]),
            [get_order],
            middleware=[middleware],
        )
        answer = inner.invoke({"messages": [HumanMessage(topic)]})
        assert isinstance(answer["messages"][-1].content, str)
        return str(answer["messages"][-1].content)

    both = calls(("research", {"topic": "a"}, "c1"), ("research", {"topic": "b"}, "c2"))
    outer = create_agent(ScriptedModel(script=[both, DONE]), [research], middleware=[middleware])
    outer.invoke(ASK)
    names = conversations(memory)
    assert len(names) == 3
    top = min(names, key=len)
    assert all(name.startswith(top) for name in names)
    assert [kind for _, kind, _ in logged(memory)] == ["ok", "ok", "auth_error", "auth_error"]


def test_a_wrapped_tool_that_calls_another_counts_both() -> None:
    memory = memory_of()

    @tool
    def inner(x: str) -> str:
        """Inner."""
        return x

    [wrapped_inner] = wrap_tools([inner], memory)

    @tool
    def outer(x: str) -> str:
        """Outer."""
        return str(wrapped_inner.invoke({"x": x}))

    [wrapped_outer] = wrap_tools([outer], memory)
    wrapped_outer.invoke({"type": "tool_call", "name": "outer", "args": {"x": "1"}, "id": "c1"})
    assert sorted(name for name, _, _ in logged(memory)) == ["inner", "outer"]


def test_wrapped_tools_inside_the_middleware_of_the_same_memory_are_handled_once() -> None:
    memory = memory_of("act")
    tries: list[int] = []

    @tool
    def get_order(order_id: str) -> str:
        """Look."""
        tries.append(1)
        if len(tries) < 3:
            raise TimeoutError("timed out")
        return "fine"

    model = ScriptedModel(script=[calls(("get_order", {"order_id": "o1"}, "c1")), DONE])
    made = create_agent(model, wrap_tools([get_order], memory), middleware=[BTMMiddleware(memory)])
    answer = made.invoke(ASK)
    assert answer["messages"][2].content == "fine\n\n[tool layer: after a timeout, 2 retries]"
    assert len(tries) == 3
    assert learned(memory) == [
        ("get_order", "timeout", "retry", "", 1, 0, 1),
        ("get_order", "timeout", "retry", "", 2, 1, 1),
    ]


def test_one_wrapped_tool_serves_many_threads() -> None:
    memory = memory_of()
    seen = threading.local()

    @tool
    def get_order(order_id: str) -> str:
        """Look."""
        seen.last = order_id
        if int(order_id) % 3 == 0:
            raise TimeoutError("timed out")
        return order_id

    [wrapped] = wrap_tools([get_order], memory)

    def one(number: int) -> Any:
        call = {
            "type": "tool_call",
            "name": "get_order",
            "args": {"order_id": str(number)},
            "id": f"c{number}",
        }
        return wrapped.invoke(call, {"configurable": {"thread_id": f"t{number % 7}"}})

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(300)))
    assert [a.status for a in answers] == ["error" if n % 3 == 0 else "success" for n in range(300)]
    assert [a.tool_call_id for a in answers] == [f"c{n}" for n in range(300)]
    assert len(logged(memory)) == 300
