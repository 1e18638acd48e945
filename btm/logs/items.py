"""The items of OpenAI's Responses API: ``function_call`` and ``function_call_output`` in one flat list.

https://platform.openai.com/docs/api-reference/responses. Calls that follow each other without an answer in between
are one turn. A call to a remote MCP server holds its own answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs.turns import Turns, answer
from btm.logs.values import arguments_of, content_of, time_of

_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_KNOWN = _CALLS | _OUTPUTS | {"mcp_call", "reasoning", "message", "item_reference"}


def is_item(value: object) -> bool:
    """Whether this is an item of a Responses list."""
    return isinstance(value, dict) and isinstance(kind := value.get("type"), str) and kind in _KNOWN


def is_own_item(value: object) -> bool:
    """Whether this is an item that only the Responses API has: a message can come from elsewhere."""
    return is_item(value) and isinstance(value, dict) and value["type"] != "message"


def read_item(turns: Turns, item: Mapping[str, Any]) -> None:
    """Read one item; reasoning between two calls does not part them."""
    kind = item["type"]
    if kind in _CALLS:
        given = item.get("arguments") if kind == "function_call" else item.get("input")
        turns.call(item["name"], arguments_of(given), item.get("call_id"), time_of(item.get("created_at")))
    elif kind in _OUTPUTS:
        turns.result(item.get("call_id"), content_of(item.get("output")))
    elif kind == "mcp_call":
        slot = turns.call(item["name"], arguments_of(item.get("arguments")), item.get("id"))
        error = item.get("error")
        if error is not None:
            answer(slot, error, is_error=True)
        elif item.get("output") is not None:
            answer(slot, item["output"])
        turns.turn()
    elif kind == "message":
        turns.turn()
