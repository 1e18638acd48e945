"""LangChain message lists: their outline, and the requests made from them. Nothing here changes a message in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from btm.adapters import outline as outlined
from btm.adapters.langchain.results import is_refused_by_person, with_text
from btm.adapters.outline import AnsweredCall, OutlinedMessage, RequestedCall, gaps, strays
from btm.adapters.wording import BRIDGE, LOST, longer
from btm.support import imitations
from btm.support.call_ids import Turn


def outline(messages: Sequence[BaseMessage]) -> list[OutlinedMessage]:
    """Return the outline of a message list."""
    return [_entry(message) for message in messages]


def messages_of(state: Any) -> Sequence[BaseMessage]:
    """Return the messages of a graph's state, none where it has none."""
    found = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return found if isinstance(found, list) else ()


def turn_of(messages: Sequence[BaseMessage], call_id: str) -> Turn:
    """Return which assistant's message asked for a call: the latest with its id, by its own id or its place."""
    return outlined.turn_of(messages, call_id, _asks)


def last_answers(messages: Sequence[BaseMessage]) -> tuple[AnsweredCall, ...]:
    """Return whose results the tool messages that end the list are; see :func:`btm.adapters.outline.last_answers`."""
    return outlined.last_answers(messages, _asks, _answers)


def refused_by_person(messages: Sequence[BaseMessage]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the latest calls, as tool and arguments, that a person refused before any tool was reached."""
    refused: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            if is_refused_by_person(message, message.name or ""):
                refused.add(message.tool_call_id)
        elif refused and isinstance(message, AIMessage):
            return [(call["name"], call["args"]) for call in message.tool_calls if call["id"] in refused]
        else:
            break
    return []


def _asks(message: BaseMessage, call_id: str) -> str | None:
    if not isinstance(message, AIMessage):
        return None
    for calls in (message.tool_calls, message.invalid_tool_calls):
        for call in calls:
            if call["id"] == call_id:
                return message.id or ""
    return None


def _answers(message: BaseMessage) -> str | None:
    return message.tool_call_id if isinstance(message, ToolMessage) else None


def request(messages: Sequence[BaseMessage]) -> str:
    """Return the user's latest request, or ``""``."""
    return outlined.request(outline(messages))


def _entry(message: BaseMessage) -> OutlinedMessage:
    if isinstance(message, ToolMessage):
        return OutlinedMessage("tool", answers=message.tool_call_id)
    if isinstance(message, AIMessage):
        calls = (*message.tool_calls, *message.invalid_tool_calls)
        asked = [(call["id"], call["name"] or "") for call in calls]
        return OutlinedMessage(
            "assistant", calls=tuple(RequestedCall(i, name) for i, name in asked if i is not None)
        )
    if isinstance(message, HumanMessage):
        # A summary of older messages has the user's role, but is no request of the user.
        is_summary = message.additional_kwargs.get("lc_source") == "summarization"
        return OutlinedMessage("assistant") if is_summary else OutlinedMessage("user", lambda: message.text)
    return OutlinedMessage("system")


def with_rules(system: SystemMessage | None, rules: str) -> SystemMessage:
    """Return the system message with the standing rules at its end, once, always the same bytes."""
    if system is None:
        return SystemMessage(content=rules)
    if rules in system.text:
        return system
    return longer_system(system, rules)


def longer_system(system: SystemMessage | None, text: str) -> SystemMessage:
    """Return the system message with ``text`` at its end; content blocks stay blocks."""
    if system is None:
        return SystemMessage(content=text)
    return system.model_copy(update={"content": longer(system.content, text)})


def with_reminder(messages: Sequence[AnyMessage], text: str, *, bridge: bool) -> list[AnyMessage]:
    """Return the messages with an ephemeral last one in the user's role, after an assistant's turn if need be.

    Where the user's own message is the last, the text stands at its end: some servers refuse two in a row.
    """
    last = messages[-1] if messages else None
    if isinstance(last, HumanMessage):
        return [*messages[:-1], last.model_copy(update={"content": longer(last.content, text)})]
    between: list[AnyMessage] = []
    if bridge and messages and isinstance(messages[-1], ToolMessage):
        between = [AIMessage(content=BRIDGE)]
    return [*messages, *between, HumanMessage(content=text)]


def model_names(model: object) -> list[str]:
    """Return what tells whose a chat model is: its class, its package, and the model's own name."""
    names = [type(model).__name__, type(model).__module__.partition(".")[0]]
    return names + [
        n
        for n in (getattr(model, a, None) for a in ("model", "model_name", "model_id"))
        if isinstance(n, str)
    ]


def with_told_results(messages: Sequence[AnyMessage], told: Mapping[AnsweredCall, str]) -> list[AnyMessage]:
    """Return the messages with texts at the end of the tool results that end the list."""
    texts = {answer.call_id: text for answer, text in told.items()}
    first = next((n for n in range(len(messages), 0, -1) if _answers(messages[n - 1]) is None), 0)
    return [
        with_text(m, texts[m.tool_call_id])
        if place >= first and isinstance(m, ToolMessage) and m.tool_call_id in texts
        else m
        for place, m in enumerate(messages)
    ]


def disarmed(messages: list[AnyMessage]) -> list[AnyMessage]:
    """Return messages in which no tool's result holds what passes for a note of ours; the same list if none does."""
    clean = [_disarmed(message) if isinstance(message, ToolMessage) else message for message in messages]
    changed = any(new is not old for new, old in zip(clean, messages, strict=True))
    return clean if changed else messages


def _disarmed(message: ToolMessage) -> ToolMessage:
    content = imitations.disarmed(message.content)
    if content is message.content:
        return message
    ours = message.response_metadata.get("btm")
    said = ours.get("said") if isinstance(ours, Mapping) else None
    if isinstance(said, str) and said:  # a line of our own, where we put it
        if isinstance(content, list):
            if message.content[-1] == (last := {"type": "text", "text": said}):
                content[-1] = last
        elif isinstance(message.content, str) and message.content.endswith(f"\n\n{said}"):
            content = f"{imitations.disarmed(message.content.removesuffix(said))}{said}"
    return message if content == message.content else message.model_copy(update={"content": content})


def repaired(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a history in which every call has its result right after it, and every result its call.

    A call without one (the process died in between) gets an error result; a result without its call is left out.
    Providers refuse such a history altogether.
    """
    entries = outline(messages)
    unasked = set(strays(entries))
    kept = [m for i, m in enumerate(messages) if i not in unasked]
    missing = list(gaps(outline(kept)))
    for gap in reversed(missing):
        kept.insert(
            gap.at,
            ToolMessage(
                content=LOST, name=gap.asked.tool or None, tool_call_id=gap.asked.call_id, status="error"
            ),
        )
    return kept


def invalid_calls(message: AIMessage) -> list[tuple[str, str, Any, str]]:
    """Return the calls of a message whose arguments are no JSON: id, tool, the raw arguments, what is wrong."""
    found: list[tuple[str, str, Any, str]] = []
    for call in message.invalid_tool_calls:
        call_id = call.get("id")
        if call_id is not None:
            found.append((call_id, call.get("name") or "unknown", call.get("args"), call.get("error") or ""))
    return found
