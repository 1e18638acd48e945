"""What btm costs around a LangChain tool. Paired: both kinds of call take turns in one run, one after the other.

Times are processor time of the calling thread, which other processes on the machine do not change; the writer's
thread has its own (about 13 µs an event) and works while the agent waits for its model.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool

from btm import FallbackMap, ToolMemory
from btm.adapters.langchain import BTMMiddleware, wrap_tools

SUCCESS_SHARE = 0.10
FAILURE_US = 400.0
GROWTH_BYTES = 8_000_000

MAP = """
version: 1
domain: bench
tools:
  get_order:
    effect: read
    fallbacks: [{tool: list_orders, coverage: full, arguments: {user_id: "{{ known.user_id }}"}}]
  list_orders: {effect: read}
"""


@tool
def get_order(order_id: str) -> str:
    """Look an order up."""
    if order_id == "bad":
        raise TimeoutError("timed out")
    return '{"order_id": "o1", "status": "shipped"}'


numbers = itertools.count()


def call_of(order_id: str) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "name": "get_order",
        "args": {"order_id": order_id},
        "id": f"c{next(numbers)}",
    }


def microseconds(work: Callable[[], object]) -> float:
    begun = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - begun) / 1_000


def paired(one: Callable[[], object], other: Callable[[], object], times: int) -> tuple[float, float]:
    """Medians of two kinds of work that take turns, in microseconds."""
    for _ in range(300):
        one()
        other()
    gc.collect()
    gc.disable()
    try:
        found = [(microseconds(one), microseconds(other)) for _ in range(times)]
    finally:
        gc.enable()
    return statistics.median(a for a, _ in found), statistics.median(b for _, b in found)


def test_a_successful_call_costs_at_most_a_tenth_more(tmp_path: Path) -> None:
    with ToolMemory.open(tmp_path / "b.db") as memory:
        [wrapped] = wrap_tools([get_order], memory)
        thread: Any = {"configurable": {"thread_id": "t"}}

        def invoke(made: BaseTool) -> Callable[[], object]:
            return lambda: made.invoke(call_of("o1"), thread)

        bare, ours = paired(invoke(get_order), invoke(wrapped), 3_000)
    print(
        f"bare {bare:.0f} us, wrapped {ours:.0f} us: +{ours - bare:.1f} us, {100 * (ours / bare - 1):.1f} %"
    )
    assert ours <= bare * (1 + SUCCESS_SHARE)


def test_a_failing_call_in_advise_mode_takes_at_most_400_microseconds(tmp_path: Path) -> None:
    with ToolMemory.open(tmp_path / "b.db", fallback_map=FallbackMap.from_text(MAP), mode="advise") as memory:
        [wrapped] = wrap_tools([get_order], memory)

        def fails(made: BaseTool) -> object:
            # Every failure in a conversation of its own: each makes a new incident, plan and context.
            name = f"t{next(numbers)}"
            with memory.conversation(name):
                return made.invoke(call_of("bad"))

        def bare_fails() -> object:
            with pytest.raises(TimeoutError):
                get_order.invoke(call_of("bad"))
            return None

        bare, ours = paired(bare_fails, lambda: fails(wrapped), 1_500)
    print(f"a failing call: bare {bare:.0f} us, wrapped, with its context, {ours:.0f} us")
    assert ours - bare <= FAILURE_US


class Model(BaseChatModel):
    """Asks for six calls, one after the other."""

    @property
    def _llm_type(self) -> str:
        return "bench"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Model:  # type: ignore[override]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        made = sum(m.type == "tool" for m in messages)
        calls: Any = [] if made >= 6 else [call_of("o1")]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])


class Nothing(AgentMiddleware[Any, Any, Any]):
    """The two hooks that BTMMiddleware has, empty: what LangChain itself spends on them."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)


def test_what_an_agents_step_costs(tmp_path: Path) -> None:
    with ToolMemory.open(tmp_path / "b.db") as memory:
        kinds: dict[str, list[Any]] = {
            "bare": [],
            "ToolRetryMiddleware": [ToolRetryMiddleware()],
            "two empty hooks": [Nothing()],
            "BTMMiddleware": [BTMMiddleware(memory)],
        }
        agents: dict[str, Any] = {
            k: create_agent(Model(), [get_order], middleware=m) for k, m in kinds.items()
        }
        times: dict[str, list[float]] = {name: [] for name in agents}
        ask: Any = {"messages": [HumanMessage("go")]}
        for _ in range(60):
            for name, agent in agents.items():
                begun = time.process_time_ns()  # tools run in threads of LangGraph's: all of them count
                agent.invoke(ask)
                times[name].append((time.process_time_ns() - begun) / 1_000 / 6)
    best = {name: statistics.quantiles(found, n=10)[0] for name, found in times.items()}
    for name, value in best.items():
        print(f"{name}: {value:.0f} us a step, +{value - best['bare']:.0f}")
    own = best["BTMMiddleware"] - best["two empty hooks"]
    assert own <= 0.25 * best["bare"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_constant_over_100_000_calls(tmp_path: Path) -> None:
    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096

    with ToolMemory.open(tmp_path / "b.db", fallback_map=FallbackMap.from_text(MAP)) as memory:
        [wrapped] = wrap_tools([get_order], memory)
        sizes: list[int] = []
        for number in range(100_001):
            order = "bad" if number % 20 == 0 else "o1"
            name = f"long-{number % 3}" if number % 2 else f"short-{number // 10}"
            with memory.conversation(name):
                wrapped.run({"order_id": order}, tool_call_id=f"c{number}")
            if number % 20_000 == 0:
                memory.flush()
                sizes.append(resident())
        print("resident:", [f"{size / 1e6:.0f} MB" for size in sizes])
        assert sizes[-1] - sizes[3] <= GROWTH_BYTES
