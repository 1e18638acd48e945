"""What the core's tests share: a clock that is moved by hand, a small map, scripted tools, and a recount by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from btm.fallback import FallbackMap
from btm.memory import ToolMemory
from btm.model import Action, Effect, ErrorKind, EvidenceKey, ToolCall
from btm.store.sql import SqlStore

MAP = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - tool: list_orders
        coverage: partial
        lacks: [history]
        arguments: {user_id: "{{ known.user_id }}"}
        pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
      - via:
          - {tool: find_user, arguments: {email: "{{ known.email }}"}, as: user}
          - {tool: list_orders, arguments: {user_id: "{{ user.user_id }}"}}
        coverage: 0.5
    repairs: [{on: auth_error, tool: log_in}]
  list_orders: {effect: read}
  find_user: {effect: read}
  log_in: {role: repair}
  cancel:
    effect: write
    irreversible: true
    verify:
      tool: get_order
      arguments: {order_id: "{{ call.order_id }}"}
      done_when: "result.status == 'cancelled'"
    fallbacks:
      - {tool: void, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}
    repairs: [{on: [auth_error, timeout], tool: log_in}]
  void: {effect: write}
  set_note: {effect: write, idempotent: true}
  human: {role: escalation}
""")

NO_MAP = FallbackMap.empty()


class Clock:
    """A clock that moves only when told, or when somebody sleeps by it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


class Tools:
    """Tools that answer from scripts: each answer is a value to return, or an exception to raise. The last one stays."""

    def __init__(self, **scripts: list[Any]) -> None:
        self.scripts = scripts
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append((tool, dict(arguments)))
        script = self.scripts[tool]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    async def run(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return self(tool, arguments)

    @property
    def made(self) -> list[str]:
        """The names of the tools that were called, in order."""
        return [tool for tool, _ in self.calls]


def memory_of(
    clock: Clock | None = None,
    *,
    path: Any = None,
    fallback_map: FallbackMap = MAP,
    mode: str = "advise",
    half_life_s: float = math.inf,
    **options: Any,
) -> ToolMemory:
    """Open a memory whose clock, waits and randomness are fixed."""
    clock = clock or Clock()
    return ToolMemory.open(
        path,
        fallback_map=fallback_map,
        mode=mode,
        half_life_s=half_life_s,
        clock=clock,
        sleep=clock.sleep,
        asleep=clock.asleep,
        rng=random.Random(7),
        hash_key=b"fixed for tests",
        **options,
    )


def call(
    tool: str,
    /,
    conversation: str = "talk",
    call_id: str = "",
    *,
    effect: Effect | None = None,
    **arguments: Any,
) -> ToolCall:
    """A call with the effect that the map states, or a read."""
    return ToolCall(tool, arguments, effect or MAP.effect(tool) or Effect.READ, conversation, call_id)


def key(tool: str, kind: str, action: Action | str, target: str = "", ordinal: int = 1) -> EvidenceKey:
    return EvidenceKey(tool, ErrorKind(kind), Action(action), target, ordinal)


def stored(store: Any) -> dict[EvidenceKey, tuple[float, float]]:
    """The evidence table."""
    return {k: (s, f) for k, s, f in store.evidence()}


def recounted(store: SqlStore) -> dict[EvidenceKey, tuple[float, float]]:
    """The evidence as the log of attempts gives it, counted by hand."""
    decay = store.decay
    sums: dict[EvidenceKey, tuple[float, float]] = {}
    for row in store.log("attempts"):
        k = key(row["tool"], row["kind"], row["action"], row["target"], row["ordinal"])
        weight = decay.weight(row["at"])
        s, f = sums.get(k, (0.0, 0.0))
        sums[k] = (s + weight, f) if row["success"] else (s, f + weight)
    return sums


def known(memory: ToolMemory) -> dict[EvidenceKey, tuple[float, float]]:
    """What the memory itself believes to have seen, as of now: (worked, failed)."""
    return {k: (b.worked, b.n - b.worked) for k, b in memory.beliefs()}


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that always raises."""

    def fails(*_args: Any, **_kwargs: Any) -> Any:
        raise error

    return fails
