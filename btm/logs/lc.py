"""LangChain's messages, in the forms in which they are dumped.

- ``messages_to_dict``: ``{"type": "ai", "data": {"content": ..., "tool_calls": [...]}}``
- ``langchain_core.load.dumps``: ``{"lc": 1, "type": "constructor", "id": [..., "AIMessage"], "kwargs": {...}}``
- ``message.model_dump()``: ``{"type": "ai", "content": ..., "tool_calls": [...]}``

A tool's answer has ``status`` "error" where LangChain itself caught the error. "success" is the default and says
nothing: a tool that handles its own errors leaves it so, and only the content tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs.turns import Turns
from btm.logs.values import arguments_of, content_of, time_of

_TYPES = {
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "HumanMessage": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
    "RemoveMessage": "remove",
}
_KINDS = frozenset(_TYPES.values()) | {"AIMessageChunk", "developer"}
_FIELDS = ("content", "tool_calls", "data")


def is_message(value: object) -> bool:
    """Whether this is a message in one of LangChain's forms."""
    if not isinstance(value, dict):
        return False
    if "lc" in value:
        return _constructed(value) in _TYPES
    kind = value.get("type")
    return isinstance(kind, str) and kind in _KINDS and any(key in value for key in _FIELDS)


def plain(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a message's type ("ai", "tool", ...) and its fields, whatever the form."""
    if "lc" in value:
        fields = value.get("kwargs")
        return _TYPES.get(_constructed(value), ""), fields if isinstance(fields, dict) else {}
    kind = str(value.get("type"))
    fields = value.get("data")
    return _TYPES.get(kind, kind), fields if isinstance(fields, dict) else value


def _constructed(value: Mapping[str, Any]) -> str:
    path = value.get("id")
    return str(path[-1]) if isinstance(path, list) and path else ""


def read_message(turns: Turns, value: Mapping[str, Any]) -> None:
    """Read one message."""
    kind, fields = plain(value)
    if kind == "ai":
        _calls(turns, fields)
    elif kind == "tool":
        turns.result(fields.get("tool_call_id"), content_of(fields.get("content")), failed(fields))


def failed(fields: Mapping[str, Any]) -> bool | None:
    """Return True for a tool message that is marked as an error, else None: "success" is only the default."""
    return True if fields.get("status") == "error" else None


def _calls(turns: Turns, fields: Mapping[str, Any]) -> None:
    turns.turn()
    extra = fields.get("additional_kwargs")
    invalid = (call for call in _listed(fields, "invalid_tool_calls") if call.get("name"))
    calls = [*_listed(fields, "tool_calls"), *invalid]
    if not calls and isinstance(extra, dict):  # dumps from before `tool_calls` was a field of its own
        calls = _listed(extra, "tool_calls")
    metadata = fields.get("response_metadata")
    at = time_of(metadata.get("created_at", metadata.get("created"))) if isinstance(metadata, dict) else None
    for call in calls:
        function = call.get("function") or call
        given = function.get("args", function.get("arguments"))
        turns.call(function["name"], arguments_of(given), call.get("id"), at)


def _listed(fields: Mapping[str, Any], key: str) -> list[Any]:
    found = fields.get(key)
    return found if isinstance(found, list) else []
