"""What the adapter tests share: a chat model that plays a script and keeps its requests, and a memory with a map."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from btm import FallbackMap, ToolMemory

MAP = """
version: 1
domain: test
tools:
  get_order:
    effect: read
    fallbacks:
      - tool: list_orders
        coverage: full
        arguments: {user_id: "{{ known.user_id }}"}
        pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
  list_orders: {effect: read}
  find_user: {effect: read}
  charge:
    effect: write
    irreversible: true
    verify:
      tool: get_charge
      arguments: {order_id: "{{ call.order_id }}"}
      done_when: "result.charged == true"
  get_charge: {effect: read}
  human: {role: escalation}
"""

Answer = AIMessage | Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers with ``script`` one by one, and keeps every request in ``requests``."""

    script: list[Any]
    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def requests(self) -> list[list[BaseMessage]]:
        return self._requests

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedModel:  # type: ignore[override]
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        with self._lock:
            self._requests.append(list(messages))
            answer = self.script[len(self._requests) - 1]
        answer = answer if isinstance(answer, AIMessage) else answer(messages)
        return answer.model_copy(deep=True)  # LangGraph gives messages ids in place

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._next(messages)
        chunk = AIMessageChunk(
            content=message.content,
            tool_calls=message.tool_calls,
            invalid_tool_calls=message.invalid_tool_calls,
        )
        yield ChatGenerationChunk(message=chunk)


def calls(*asked: tuple[str, dict[str, Any], str]) -> AIMessage:
    """An answer that asks for tool calls: name, arguments, id."""
    return AIMessage(
        content="", tool_calls=[{"name": n, "args": a, "id": i, "type": "tool_call"} for n, a, i in asked]
    )


def broken_call(tool: str, text: str, call_id: str) -> AIMessage:
    """An answer whose only call has arguments that are no JSON."""
    call = {
        "name": tool,
        "args": text,
        "id": call_id,
        "error": "Expecting value",
        "type": "invalid_tool_call",
    }
    return AIMessage(content="", invalid_tool_calls=[call])


DONE = AIMessage(content="done")


async def _no_wait(_: float) -> None:
    await asyncio.sleep(0)


def memory_of(mode: str = "advise", *, map_text: str = MAP, **options: Any) -> ToolMemory:
    """A memory in this process, with waits that take no time."""
    options.setdefault("sleep", lambda _: None)
    options.setdefault("asleep", _no_wait)
    options.setdefault("rng", random.Random(7))
    options.setdefault("hash_key", b"fixed for tests")
    return ToolMemory.open(
        options.pop("path", None), fallback_map=FallbackMap.from_text(map_text), mode=mode, **options
    )


def learned(memory: ToolMemory) -> list[tuple[str, ...]]:
    """What was learned, as (tool, kind, action, target, ordinal, successes, tries)."""
    memory.flush()
    rows = []
    for key, belief in memory.beliefs():
        rows.append(
            (
                key.tool,
                str(key.kind),
                str(key.action),
                key.target,
                key.ordinal,
                round(belief.worked),
                round(belief.n),
            )
        )
    return sorted(rows)


def logged(memory: ToolMemory) -> list[tuple[str, str, str]]:
    """The calls in the store, as (tool, kind or "ok", call id), by call id."""
    memory.flush()
    rows = memory._store.log("calls")  # type: ignore[attr-defined]
    return sorted(((r["tool"], r["kind"] or "ok", r["call_id"]) for r in rows), key=lambda r: r[2])


def conversations(memory: ToolMemory) -> set[str]:
    memory.flush()
    return {r["conversation"] for r in memory._store.log("calls")}  # type: ignore[attr-defined]


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [m.text for m in messages]
