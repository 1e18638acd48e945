"""A conversation's outline: what every message list has in common, whichever library's messages it holds.

Adapters turn their messages into entries; the questions below are then asked once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from btm.support.call_ids import Turn

M = TypeVar("M")
Role = Literal["system", "user", "assistant", "tool"]


class RequestedCall(NamedTuple):
    """A tool call that an assistant's message asks for. ``given`` is its id as it stands there, if that is no text."""

    call_id: str
    tool: str
    given: Any = None


class OutlinedMessage(NamedTuple):
    """One message. ``answers`` is the id of the call whose result a tool's message carries."""

    role: Role
    text: Callable[[], str] = str
    calls: tuple[RequestedCall, ...] = ()
    answers: str = ""


class AnsweredCall(NamedTuple):
    """Whose result a tool's message carries. ``turn`` names the message that asked, ``""`` where the id tells."""

    call_id: str
    turn: str = ""


def asks(entry: OutlinedMessage, call_id: str) -> str | None:
    """Return ``""`` for an outlined message that asks for a call, None for any other (outlines hold no ids)."""
    return "" if any(asked.call_id == call_id for asked in entry.calls) else None


def answers(entry: OutlinedMessage) -> str | None:
    """Return the id of the call whose result an outlined message carries, None for any other message."""
    return entry.answers if entry.role == "tool" else None


def turn_of(messages: Sequence[M], call_id: str, asks: Callable[[M, str], str | None]) -> Turn:
    """Return which message asked for a call: the latest that did, by its own id or its place.

    ``asks`` gives the id of a message that asks for the call (``""``: it has none), and None for any other message.
    """
    name = ""
    for place in range(len(messages) - 1, -1, -1):
        own_id = asks(messages[place], call_id)
        if own_id is not None:
            if name:
                return Turn(name, repeats=True)
            name = own_id or f"#{place}"
    return Turn(name)


def last_answers(
    messages: Sequence[M], asks: Callable[[M, str], str | None], answers: Callable[[M], str | None]
) -> tuple[AnsweredCall, ...]:
    """Return whose results the tool messages that end the conversation are, in order; none if it ends otherwise.

    ``answers`` gives the id of the call whose result a message carries, and None for any other message. Which message
    asked is told where an earlier one used the same id too.
    """
    found: list[AnsweredCall] = []
    for message in reversed(messages):
        call_id = answers(message)
        if call_id is None:
            break
        turn = turn_of(messages, call_id, asks)
        found.append(AnsweredCall(call_id, turn.name if turn.repeats else ""))
    return tuple(reversed(found))


def request(entries: Sequence[OutlinedMessage]) -> str:
    """Return the user's latest request, or ``""``."""
    for entry in reversed(entries):
        if entry.role == "user":
            text: str = entry.text()
            if text:
                return text
    return ""


def asked_since_request(entries: Sequence[OutlinedMessage]) -> list[RequestedCall]:
    """Return the tool calls that were asked for since the user's latest message."""
    found: list[RequestedCall] = []
    for entry in reversed(entries):
        if entry.role == "user":
            break
        found.extend(reversed(entry.calls))
    return found[::-1]


class Gap(NamedTuple):
    """A call without a result: one belongs right before position ``at``."""

    at: int
    asked: RequestedCall


def gaps(entries: Sequence[OutlinedMessage]) -> Iterator[Gap]:
    """Yield the calls that have no result among the tool messages right after them, in order.

    Calls of the very last message are not gaps while they may still run: only those that something follows.
    """
    for position, entry in enumerate(entries):
        if not entry.calls:
            continue
        end = position + 1
        while end < len(entries) and entries[end].role == "tool":
            end += 1
        answered = {e.answers for e in entries[position + 1 : end]}
        yield from (Gap(end, asked) for asked in entry.calls if asked.call_id not in answered)


def strays(entries: Sequence[OutlinedMessage]) -> list[int]:
    """Return the positions of tool messages that answer no call of the assistant's message they follow."""
    found: list[int] = []
    open_ids: set[str] = set()
    for position, entry in enumerate(entries):
        if entry.role == "tool":
            if entry.answers in open_ids:
                open_ids.discard(entry.answers)
            else:
                found.append(position)
        else:
            open_ids = {asked.call_id for asked in entry.calls}
    return found
