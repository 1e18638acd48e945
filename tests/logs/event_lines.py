"""Lines of btm's event log, as a running agent would write them."""

from __future__ import annotations

from typing import Any

import orjson

from btm.logs.eventlog import CALL, END, outcome_fields
from btm.model import Effect, Outcome, ToolCall
from btm.support.untrusted import canonical, fingerprint


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


def end_event(conversation: str, at: float, reward: float | None = None) -> bytes:
    """Return the line that says that a conversation is over, with its line end."""
    event = {"type": END, "conversation": conversation, "at": at, "reward": reward}
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
