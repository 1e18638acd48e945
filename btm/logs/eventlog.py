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

from btm.model import ErrorKind, Outcome
from btm.support.untrusted import redact

NAME = "btm_events"
"""What the format is called."""

CALL, REPORT, END = "call", "report", "end"
TYPES = frozenset({CALL, REPORT, END})

_NORMAL = Outcome()
_DETAILS = tuple(field.name for field in fields(Outcome) if field.name != "kind")


def report_event(conversation: str, call_id: str, kind: ErrorKind, at: float) -> bytes:
    """Return the line that says that a call had failed after all, with its line end."""
    event = {"type": REPORT, "conversation": conversation, "call_id": call_id, "kind": kind, "at": at}
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
