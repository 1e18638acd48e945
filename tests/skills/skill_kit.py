"""Logs of one small domain: orders are looked up, and the look-up fails."""

from __future__ import annotations

import json
from typing import Any

from btm.fallback import FallbackMap
from btm.logs.listening import Listener
from btm.logs.reading import read_conversations
from btm.skills.mining import Mined, mine
from btm.skills.tries import RunRecord, run_record

DENIED = "Error: 401 unauthorized, the session has expired"
DOWN = "Error: 503 service unavailable"


def run_line(name: str, task: str, reward: float, *calls: tuple[str, dict[str, Any], Any]) -> str:
    """One conversation of a log: calls with their answers, the task's id and the score."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"do {task}"}]
    for place, (tool, arguments, answer) in enumerate(calls):
        call = {"id": f"{name}-{place}", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        content = answer if isinstance(answer, str) else json.dumps(answer)
        messages.append({"role": "tool", "tool_call_id": f"{name}-{place}", "content": content})
    return (
        json.dumps({"conversation_id": name, "task_id": task, "reward": reward, "messages": messages}) + "\n"
    )


def order(number: int) -> dict[str, Any]:
    return {"order_id": f"W{number}"}


def repaired(number: int, denied: Any = DENIED) -> str:
    get = ("get_order", order(number))
    return run_line(
        f"good-{number}", f"t{number}", 1.0,
        (*get, denied), ("refresh_session", {}, {"status": "ok"}), (*get, {**order(number), "status": "sent"}),
    )  # fmt: skip


def repeated(number: int, denied: Any = DENIED, tries: int = 3) -> str:
    get = ("get_order", order(number))
    return run_line(f"bad-{number}", f"t{number}", 0.0, *((*get, denied) for _ in range(tries)))


def records(path: Any, fallback_map: FallbackMap | None = None) -> list[RunRecord]:
    listener = Listener(fallback_map or FallbackMap.empty(), now=1_700_000_000.0)
    found = read_conversations([str(path)])
    return [run_record(one, listener.listen(one)) for one in found if hasattr(one, "batches")]


def mined(path: Any, fallback_map: FallbackMap | None = None) -> Mined:
    return mine(records(path, fallback_map), "orders")
