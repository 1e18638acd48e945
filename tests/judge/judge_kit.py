"""Conversations about bookings, whose calls seem to have worked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Made = tuple[str, dict[str, Any], Any]


def chat(name: str, asked: str, *calls: Made) -> str:
    """One line of a log: what the user asked, and calls with their answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    for place, (tool, arguments, answer) in enumerate(calls):
        call = {"id": f"{name}-{place}", "function": {"name": tool, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        content = answer if isinstance(answer, str) else json.dumps(answer)
        messages.append({"role": "tool", "tool_call_id": f"{name}-{place}", "content": content})
    return json.dumps({"conversation_id": name, "messages": messages}) + "\n"


def day(date: str, **more: Any) -> dict[str, Any]:
    return {"room": "blue", "date": date, **more}


WRONG_DAY = chat(
    "wrong-day", "Which slots has the blue room on 2026-03-30?",
    ("get_slots", day("2026-03-30"), "Error: 503 service unavailable"),
    ("get_slots", day("2026-03-30"), {**day("2026-03-29"), "slots": ["10:00"]}),
)  # fmt: skip
"""A retry that seemed to work and answered for the day before."""

RIGHT_DAY = chat(
    "right-day", "Which slots has the blue room on 2026-03-30?",
    ("get_slots", day("2026-03-30"), {**day("2026-03-30"), "slots": ["10:00"]}),
)  # fmt: skip


def log_of(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(lines), encoding="utf-8")
    return path
