"""A validator of message order, written from what the providers publish and from their 400 texts.

* OpenAI: an assistant message with ``tool_calls`` must be followed by tool messages responding to each
  ``tool_call_id``; a ``tool`` message must be a response to a preceding message with ``tool_calls``.
* Anthropic: each ``tool_use`` block must have a corresponding ``tool_result`` block in the next message, results
  before any text; ids are unique; the conversation does not end with the assistant (tool-using models take no prefill).
* Gemini: a function call's turn comes right after a user's or a function response's turn, and is answered by as
  many function responses as it has calls.
* Mistral: no ``user`` right after ``tool`` ("Unexpected role 'user' after role 'tool'", code 3230); the last role
  is user or tool.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

PROVIDERS = ("openai", "anthropic", "gemini", "mistral")


def violations(messages: Sequence[BaseMessage], provider: str) -> list[str]:
    """Return what a provider would refuse about a request's messages."""
    found: list[str] = []
    seen: set[str] = set()
    waiting: list[str] = []
    before: BaseMessage | None = None
    for position, message in enumerate(messages):
        place = f"messages[{position}]"
        if isinstance(message, ToolMessage):
            if message.tool_call_id in waiting:
                waiting.remove(message.tool_call_id)
            else:
                found.append(f"{place}: a result without its call right before it: {message.tool_call_id}")
        else:
            found += [f"{place}: calls without results: {waiting}"] if waiting else []
            waiting = []
        if isinstance(message, AIMessage):
            asked = [c["id"] or "" for c in (*message.tool_calls, *message.invalid_tool_calls)]
            found += [f"{place}: an id used twice: {i}" for i in asked if i in seen]
            seen.update(asked)
            waiting = asked
            if provider == "gemini" and asked and not isinstance(before, HumanMessage | ToolMessage):
                found.append(f"{place}: a function call after neither a user's nor a response's turn")
        if isinstance(message, SystemMessage) and position > 0:
            found.append(f"{place}: a system message that is not the first")
        if provider == "mistral" and isinstance(message, HumanMessage) and isinstance(before, ToolMessage):
            found.append(f"{place}: unexpected role 'user' after role 'tool'")
        before = message
    if waiting:
        found.append(f"end: calls without results: {waiting}")
    if provider in ("anthropic", "mistral") and isinstance(before, AIMessage):
        found.append("end: the last message is the assistant's")
    return found


def assert_accepted(messages: Sequence[BaseMessage], providers: Sequence[str] = PROVIDERS[:3]) -> None:
    """Fail when one of these providers would refuse the messages."""
    for provider in providers:
        assert violations(messages, provider) == [], f"{provider} refuses {[m.type for m in messages]}"
