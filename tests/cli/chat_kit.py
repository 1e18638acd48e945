"""Logs for tests of commands that read them: chats of OpenAI form about one order each."""

from __future__ import annotations

import json
from typing import Any

TIMEOUT = "Error: request timed out"


def conversation(number: int, *answers: str, tool: str = "get_order") -> str:
    """Return one line of a log: the same call again and again, with these answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "where is my order?"}]
    for place, answer in enumerate(answers):
        call = {"id": f"c{place}", "function": {"name": tool, "arguments": f'{{"order_id": "O{number}"}}'}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": answer})
    return json.dumps({"conversation_id": f"conversation-{number}", "messages": messages}) + "\n"
