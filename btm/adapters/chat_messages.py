"""Messages of the chat-completions protocol, as dictionaries or as a client's objects. Never changed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from btm.adapters.outline import OutlinedMessage, RequestedCall, gaps, strays
from btm.adapters.wording import BRIDGE, LOST, longer


def field(value: Any, name: str) -> Any:
    """Return a field of a dictionary or of an object, None when it has none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def asked(tool_call: Any) -> tuple[Any, str, Any]:
    """Return a tool call's id, its tool's name and its arguments as they came."""
    function = field(tool_call, "function")
    return field(tool_call, "id"), field(function, "name") or "unknown", field(function, "arguments")


def id_text(call_id: object) -> str:
    """Return an id as text; ``""`` for none. Some servers number calls: 0 is an id."""
    return "" if call_id is None else str(call_id)


def outline(messages: Sequence[Any]) -> list[OutlinedMessage]:
    """Return the outline of a message list."""
    return [_entry(message) for message in messages]


def _entry(message: Any) -> OutlinedMessage:
    role = field(message, "role")
    if role == "tool":
        return OutlinedMessage("tool", answers=id_text(field(message, "tool_call_id")))
    if role == "assistant":
        calls = [asked(tool_call) for tool_call in field(message, "tool_calls") or ()]
        return OutlinedMessage(
            "assistant", calls=tuple(RequestedCall(id_text(i), tool, i) for i, tool, _ in calls)
        )
    if role == "user":
        return OutlinedMessage("user", lambda: _text(field(message, "content")))
    return OutlinedMessage("system")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [field(part, "text") for part in content]
    return "\n".join(text for text in texts if isinstance(text, str))


def with_rules(messages: Sequence[Any], rules: str) -> list[Any]:
    """Return the messages with the standing rules at the end of the first system message, once."""
    made = list(messages)
    if not made or field(made[0], "role") not in ("system", "developer"):
        return [{"role": "system", "content": rules}, *made]
    content = field(made[0], "content")
    if rules in _text(content):
        return made
    made[0] = {"role": field(made[0], "role"), "content": longer(content, rules)}
    return made


def with_note(messages: Sequence[Any], said: str, *, bridge: bool) -> list[Any]:
    """Return the messages with a note at their end, in the user's role.

    After a user's message it is the end of that: some servers refuse two in a row. ``bridge`` puts an assistant's turn
    between a tool's result and the note.
    """
    last = messages[-1] if messages else None
    if last is not None and field(last, "role") == "user":
        return [*messages[:-1], {"role": "user", "content": longer(field(last, "content") or "", said)}]
    bridged = bridge and last is not None and field(last, "role") == "tool"
    between = [{"role": "assistant", "content": BRIDGE}] if bridged else []
    return [*messages, *between, {"role": "user", "content": said}]


def result(call_id: Any, content: str) -> dict[str, Any]:
    """Return the message that answers the call with this id."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def repaired(messages: Sequence[Any]) -> list[Any]:
    """Return a history in which every call has its result right after it, and every result its call."""
    unasked = set(strays(outline(messages)))
    kept = [message for i, message in enumerate(messages) if i not in unasked]
    for gap in reversed(list(gaps(outline(kept)))):
        kept.insert(gap.at, result(gap.asked.given, LOST))
    return kept
