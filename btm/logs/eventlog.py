"""btm's own event log: JSONL, an event a line, small enough to be written for every call of a running agent.

===========  ===============================================================================================
``type``     fields beside ``conversation``
===========  ===============================================================================================
``call``     ``call_id``, ``tool``, ``at`` (seconds since the epoch), ``kind`` (error kind, null for a success);
             ``arguments`` or ``arguments_hash`` (32 hex digits); where they say something: ``effect`` ("write"),
             ``turn`` (equal for calls that were made together), ``intent``, ``latency_s``, and of the outcome
             ``detail``, ``status_code``, ``retry_after_s``, ``silent``, ``ambiguous``, ``confidence``, ``reason``,
             ``rule``
``report``   ``call_id``, ``kind``, ``at``: the call had failed after all
``end``      ``at``, ``reward``: the conversation is over; the reward may be null
===========  ===============================================================================================

The log holds verdicts instead of results, so that nothing a tool said has to be kept; a reader takes them as they
are. Events of several conversations may be mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import orjson

from btm.model import Effect, ErrorKind, Outcome, ToolCall
from btm.support.untrusted import canonical, fingerprint, redact

NAME = "btm_events"
"""What the format is called."""

CALL, REPORT, END = "call", "report", "end"
TYPES = frozenset({CALL, REPORT, END})

_NORMAL = Outcome()
_DETAILS = tuple(field.name for field in fields(Outcome) if field.name != "kind")


def call_event(
    call: ToolCall,
    outcome: Outcome,
    *,
    hash_key: bytes | None = b"",
    latency_s: float | None = None,
    turn: str | None = None,
) -> bytes:
    """Return the line for a call, with its line end.

    Arguments are kept as a hash under the secret ``hash_key``; None keeps the arguments themselves.
    """
    event: dict[str, Any] = {
        "type": CALL,
        "conversation": call.conversation,
        "call_id": call.call_id,
        "tool": call.tool,
        "at": call.at,
        "kind": outcome.kind,
    }
    if hash_key is None:
        event["arguments"] = orjson.Fragment(canonical(call.arguments))
    else:
        event["arguments_hash"] = fingerprint(call.tool, call.arguments, hash_key)
    if call.effect is Effect.WRITE:
        event["effect"] = call.effect
    extras = {"turn": turn, "intent": call.intent, "latency_s": latency_s}
    event.update((name, value) for name, value in extras.items() if value is not None)
    event.update(outcome_fields(outcome))
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def report_event(conversation: str, call_id: str, kind: ErrorKind, at: float) -> bytes:
    """Return the line that says that a call had failed after all, with its line end."""
    event = {"type": REPORT, "conversation": conversation, "call_id": call_id, "kind": kind, "at": at}
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def end_event(conversation: str, at: float, reward: float | None = None) -> bytes:
    """Return the line that says that a conversation is over, with its line end."""
    event = {"type": END, "conversation": conversation, "at": at, "reward": reward}
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """Return what an outcome says beside its kind, without what is as usual."""
    said = {name: getattr(outcome, name) for name in _DETAILS}
    return {
        name: redact(value) if isinstance(value, str) else value
        for name, value in said.items()
        if value != getattr(_NORMAL, name)
    }


def outcome_from(event: Mapping[str, Any]) -> Outcome:
    """Return the outcome that an event's fields say. Raises ValueError for an error kind that btm does not know."""
    kind = event.get("kind")
    said = {name: event[name] for name in _DETAILS if event.get(name) is not None}
    return Outcome(kind=None if kind is None else ErrorKind(kind), **said)


def reported(kind: str) -> Outcome:
    """Return the outcome of a call that was found out later to have failed."""
    return Outcome(kind=ErrorKind(kind), silent=True, reason="it was found out later", rule="report")
