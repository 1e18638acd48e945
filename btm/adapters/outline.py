"""A conversation's outline: what every message list has in common, whichever library's messages it holds.

Adapters turn their messages into entries; the questions below are then asked once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from btm.support.call_ids import Turn

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


def turn_of(entries: Sequence[OutlinedMessage], call_id: str) -> Turn:
    """Return which assistant's message asked for a call: the latest with its id, by its place."""
    asking = [n for n, entry in enumerate(entries) if any(asked.call_id == call_id for asked in entry.calls)]
    return Turn(f"#{asking[-1]}", repeats=len(asking) > 1) if asking else Turn()


def last_answers(entries: Sequence[OutlinedMessage]) -> tuple[AnsweredCall, ...]:
    """Return whose results the tool messages that end the conversation are, in order; none if it ends otherwise."""
    found: list[AnsweredCall] = []
    for entry in reversed(entries):
        if entry.role != "tool":
            break
        turn = turn_of(entries, entry.answers)
        found.append(AnsweredCall(entry.answers, turn.name if turn.repeats else ""))
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
