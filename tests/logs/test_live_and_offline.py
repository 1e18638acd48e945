"""One attribution, two entrances: the messages of a live run, fitted as a log, teach what the live run taught."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
    messages_to_dict,
)
from langchain_core.tools import BaseTool, StructuredTool

from btm import ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.adapters.langchain import BTMMiddleware, wrap_tools
from btm.fallback import FallbackMap
from btm.learning.posterior import Decay
from btm.logs.fit import fit
from btm.logs.reading import read_conversations

MAP = FallbackMap.from_text("""
version: 1
domain: shop
tools:
  get_order:
    effect: read
    fallbacks: [{tool: list_orders, coverage: full}]
  list_orders: {effect: read}
  get_quote: {effect: read, repairs: [{tool: refresh_token, on: [auth_error]}]}
  refresh_token: {effect: write, idempotent: true}
  cancel_order:
    effect: write
    verify: {tool: get_order, arguments: {order_id: "{{ call.order_id }}"}, done_when: "result.status == 'cancelled'"}
  transfer_to_human: {role: escalation}
""")

Result = Exception | str | dict[str, Any]
Made = tuple[str, dict[str, Any], Result]

ORDER = {"order_id": "O-1"}
PENDING, CANCELLED = {**ORDER, "status": "pending"}, {**ORDER, "status": "cancelled"}

# What the agent does, turn by turn: tool, arguments, and what the tool gives or raises.
SCRIPT: tuple[tuple[Made, ...], ...] = (
    (("list_orders", {"user_id": "u-1"}, [PENDING]),),  # type: ignore[arg-type] # any JSON value
    (("get_order", ORDER, TimeoutError("timed out after 30 s")),),
    (("get_order", ORDER, TimeoutError("timed out after 30 s")),),
    (("list_orders", {"user_id": "u-1"}, "Error: 503 Service Unavailable"),),
    (("list_orders", {"user_id": "u-1"}, [PENDING]),),  # type: ignore[arg-type]
    (("get_quote", {"sku": "A-1"}, PermissionError("401 Unauthorized: the token has expired")),),
    (("refresh_token", {}, "refreshed"),),
    (("get_quote", {"sku": "A-1"}, {"sku": "A-1", "price": 12.5}),),
    (("cancel_order", ORDER, ConnectionResetError("connection reset by peer")),),
    (("get_order", ORDER, CANCELLED),),
    (
        ("get_order", {"order_id": "X-9"}, {"status": "error", "message": "order X-9 not found"}),
        ("get_quote", {"sku": "B-2"}, ValueError("400 Bad Request: sku must be upper case")),
    ),
    (("get_order", {"order_id": "O-9"}, {**PENDING, "order_id": "O-9"}),),
    (("get_quote", {"sku": "B-3"}, "Error: rate limit exceeded, retry after 2 s"),),
    (("transfer_to_human", {"why": "no quote"}, "transferred"),),
)


class Shop:
    """The agent's tools, which give what the script says next, and wait for the other calls of their turn."""

    def __init__(self) -> None:
        self._left = [list(turn) for turn in SCRIPT]
        self._started = threading.Barrier(1)

    def begin(self, turn: int) -> None:
        self._started = threading.Barrier(len(SCRIPT[turn]))

    def tools(self) -> list[BaseTool]:
        names = {tool for turn in SCRIPT for tool, _, _ in turn}
        return [self._tool(name) for name in sorted(names)]

    def _tool(self, name: str) -> BaseTool:
        parameters = {key for turn in SCRIPT for tool, given, _ in turn if tool == name for key in given}
        schema = {
            "type": "object",
            "properties": {key: {"type": "string"} for key in sorted(parameters)},
        }

        def answer(**arguments: Any) -> Any:
            self._started.wait(5.0)
            turn = next(turn for turn in self._left if turn)
            made = next(m for m in turn if m[0] == name and m[1] == arguments)
            turn.remove(made)
            if isinstance(made[2], Exception):
                raise made[2]
            return made[2]

        return StructuredTool(name=name, description=name, args_schema=schema, func=answer)


def agent_loop(tools: Sequence[BaseTool], begin: Callable[[int], None]) -> list[BaseMessage]:
    """Run the script as a bare tool-calling loop would: the calls of a turn at once, exceptions told to the model."""
    by_name = {tool.name: tool for tool in tools}
    messages: list[BaseMessage] = [HumanMessage("Cancel my order O-1, and quote me A-1.")]
    with ThreadPoolExecutor() as pool:
        for number, turn in enumerate(SCRIPT):
            calls = [
                {"name": tool, "args": arguments, "id": f"call_{number}_{place}", "type": "tool_call"}
                for place, (tool, arguments, _) in enumerate(turn)
            ]
            messages.append(AIMessage("", tool_calls=calls))
            begin(number)
            messages += pool.map(lambda call: _run(by_name[call["name"]], call), calls)
    return [*messages, AIMessage("A colleague will take over.")]


def _run(tool: BaseTool, call: dict[str, Any]) -> BaseMessage:
    try:
        # The loop's threads have no context of their own: the thread id names the conversation.
        answer = tool.invoke(call, {"configurable": {"thread_id": "thread-1"}})
    except Exception as error:  # noqa: BLE001 - as LangGraph's ToolNode tells them
        text = f"Error: {error!r}\n Please fix your mistakes."
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
    assert isinstance(answer, ToolMessage)
    return answer


def opened(mode: str) -> ToolMemory:
    times = iter(range(1_777_600_000, 1_777_700_000))
    return ToolMemory.open(
        fallback_map=MAP, mode=mode, half_life_s=math.inf, clock=lambda: float(next(times))
    )


@pytest.fixture(scope="module")
def run() -> tuple[list[BaseMessage], dict[Any, tuple[float, float]]]:
    """A live run in observe mode: its messages, and what the memory learned from it."""
    memory, shop = opened("observe"), Shop()
    with memory:
        messages = agent_loop(wrap_tools(shop.tools(), memory), shop.begin)
        return messages, beliefs(memory)


def beliefs(memory: ToolMemory) -> dict[Any, tuple[float, float]]:
    """What a memory has seen, by key: worked, failed."""
    assert memory.flush()
    found = memory.beliefs()
    return {key: (round(b.worked, 9), round(b.n - b.worked, 9)) for key, b in found}


FORMS: dict[str, Callable[[list[BaseMessage]], Any]] = {
    "messages_to_dict": messages_to_dict,
    "dumpd": lambda messages: [dumpd(message) for message in messages],
    "model_dump": lambda messages: [message.model_dump(mode="json") for message in messages],
    "openai": convert_to_openai_messages,  # this form has no error flag: only the texts tell
}


@pytest.mark.parametrize("form", FORMS)
def test_the_messages_of_a_live_run_teach_what_the_run_taught(
    form: str, run: tuple[list[BaseMessage], dict[Any, tuple[float, float]]], tmp_path: Path
) -> None:
    messages, live = run
    log = tmp_path / "run.jsonl"
    log.write_text(json.dumps({"thread_id": "thread-1", "messages": FORMS[form](messages)}) + "\n")
    done = fit(read_conversations([log]), MAP, decay=Decay(), now=0.0)
    assert done.calls == sum(map(len, SCRIPT))
    assert {key: tuple(sums) for key, sums in done.sums.items()} == live


def test_the_live_run_exercises_every_way_out(
    run: tuple[list[BaseMessage], dict[Any, tuple[float, float]]],
) -> None:
    _, live = run
    assert {key.action for key in live} == {"retry", "revise", "repair", "switch", "verify", "escalate"}


# -- ids that every turn uses anew -----------------------------------------------------------------------------------


class Numbered(GenericFakeChatModel):
    """A model whose server numbers the calls of each answer from 0."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Numbered:  # type: ignore[override]
        return self


def asked(turn: tuple[Made, ...]) -> list[dict[str, Any]]:
    return [
        {"name": tool, "args": arguments, "id": f"call_{place}", "type": "tool_call"}
        for place, (tool, arguments, _) in enumerate(turn)
    ]


def through_the_middleware(memory: ToolMemory, shop: Shop) -> list[dict[str, Any]]:
    def answers() -> Iterator[AIMessage]:
        for number, turn in enumerate(SCRIPT):
            shop.begin(number)
            yield AIMessage("", tool_calls=asked(turn))
        yield AIMessage("A colleague will take over.")

    agent = create_agent(Numbered(messages=answers()), shop.tools(), middleware=[BTMMiddleware(memory)])
    config: Any = {"configurable": {"thread_id": "thread-1"}, "recursion_limit": 100}
    done = agent.invoke({"messages": [HumanMessage("Cancel my order O-1, and quote me A-1.")]}, config)
    return messages_to_dict(done["messages"])


def through_the_bare_loop(memory: ToolMemory, shop: Shop) -> list[dict[str, Any]]:
    functions = {tool.name: tool.func for tool in shop.tools()}  # type: ignore[attr-defined]
    loop = ChatLoop(memory, functions, conversation="thread-1")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Cancel my order O-1, and quote me A-1."}]
    for number, turn in enumerate(SCRIPT):
        loop.prepare(messages)
        calls = [
            {
                "id": c["id"],
                "type": "function",
                "function": {"name": c["name"], "arguments": json.dumps(c["args"])},
            }
            for c in asked(turn)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        shop.begin(number)
        messages += asyncio.run(loop.arun(calls))
    return messages


@pytest.mark.parametrize("live_run", [through_the_middleware, through_the_bare_loop])
def test_ids_that_repeat_each_turn_teach_live_and_offline_what_unique_ones_do(
    live_run: Callable[[ToolMemory, Shop], list[dict[str, Any]]],
    run: tuple[list[BaseMessage], dict[Any, tuple[float, float]]],
    tmp_path: Path,
) -> None:
    with opened("advise") as memory:
        messages = live_run(memory, Shop())
        live = beliefs(memory)
    log = tmp_path / "run.jsonl"
    log.write_text(json.dumps({"thread_id": "thread-1", "messages": messages}) + "\n")
    done = fit(read_conversations([log]), MAP, decay=Decay(), now=0.0)
    assert done.calls == sum(map(len, SCRIPT))
    assert {key: tuple(sums) for key, sums in done.sums.items()} == live
    assert live == run[1]
