"""Events as lines of JSON and back: what of them is stored, and nothing more."""

from __future__ import annotations

import json
from typing import Any

from btm.model import (
    Action,
    Attempt,
    Effect,
    ErrorKind,
    EvidenceKey,
    Incident,
    IncidentState,
    Outcome,
    ToolCall,
)
from btm.store import CallEvent, Event, IncidentEvent, Intent, IntentEvent, IntentState


def to_line(event: Event) -> bytes:
    """Return an event as one line. A call's arguments are not in it, as they are not in the database."""
    # Python's own JSON, since names may hold lone surrogates and numbers may be infinite.
    return json.dumps(_plain(event), separators=(",", ":")).encode("ascii") + b"\n"


def from_line(line: bytes) -> Event:
    """Return the event of a line. Raises ValueError, TypeError or KeyError for what is none."""
    found = json.loads(line)
    if "intent" in found:
        return IntentEvent(_intent_of(found["intent"]))
    incidents = tuple(map(_incident_of, found["incidents"]))
    if "call" not in found:
        wrong = found.get("found_wrong")
        return IncidentEvent(incidents, (wrong[0], wrong[1], ErrorKind(wrong[2])) if wrong else None)
    outcome = found["outcome"]
    kind = None if outcome["kind"] is None else ErrorKind(outcome["kind"])
    return CallEvent(
        call=_call_of(found["call"]),
        fingerprint=found["fingerprint"],
        outcome=Outcome(**{**outcome, "kind": kind}),
        ended_at=found["ended_at"],
        latency_s=found["latency_s"],
        arguments=found["arguments"],
        attempts=tuple(map(_attempt_of, found["attempts"])),
        incidents=incidents,
        shapes=tuple((a, b, c, d) for a, b, c, d in found["shapes"]),
    )


def _intent_of(found: list[Any]) -> Intent:
    conversation, call_id, tool, fingerprint, at, state, wish, owner, kind, keep = found
    failed_as = None if kind is None else ErrorKind(kind)
    return Intent(
        conversation, call_id, tool, fingerprint, at, IntentState(state), wish, owner, failed_as, keep
    )


def _plain(event: Event) -> dict[str, Any]:
    if isinstance(event, IntentEvent):
        return {"intent": list(event.intent)}
    incidents = [_incident(incident) for incident in event.incidents]
    if isinstance(event, IncidentEvent):
        return {"incidents": incidents, "found_wrong": event.found_wrong}
    outcome = event.outcome
    return {
        "call": _call(event.call),
        "fingerprint": event.fingerprint,
        "outcome": {
            "kind": outcome.kind,
            "retry_after_s": outcome.retry_after_s,
            "silent": outcome.silent,
            "ambiguous": outcome.ambiguous,
            "status_code": outcome.status_code,
            "detail": outcome.detail,
            "confidence": outcome.confidence,
            "reason": outcome.reason,
            "rule": outcome.rule,
        },
        "ended_at": event.ended_at,
        "latency_s": event.latency_s,
        "arguments": event.arguments,
        "attempts": [_attempt(attempt) for attempt in event.attempts],
        "incidents": incidents,
        "shapes": event.shapes,
    }


def _call(call: ToolCall) -> list[Any]:
    return [call.tool, call.effect, call.conversation, call.call_id, call.at]


def _call_of(found: list[Any]) -> ToolCall:
    tool, effect, conversation, call_id, at = found
    return ToolCall(tool, {}, Effect(effect), conversation, call_id, at)


def _attempt(attempt: Attempt) -> list[Any]:
    a = attempt
    return [a.incident_id, a.call_id, list(a.key), a.success, a.at, a.latency_s, a.failed_as]


def _attempt_of(found: list[Any]) -> Attempt:
    incident_id, call_id, key, success, at, latency_s, failed_as = found
    tool, kind, action, target, ordinal = key
    evidence_key = EvidenceKey(tool, ErrorKind(kind), Action(action), target, ordinal)
    failed = None if failed_as is None else ErrorKind(failed_as)
    return Attempt(incident_id, call_id, evidence_key, success, at, latency_s, failed)


def _incident(incident: Incident) -> list[Any]:
    i = incident
    return [
        i.incident_id,
        i.conversation,
        _call(i.call),
        i.kind,
        i.opened_at,
        i.state,
        i.parent_id,
        i.closed_at,
    ]


def _incident_of(found: list[Any]) -> Incident:
    incident_id, conversation, call, kind, opened_at, state, parent_id, closed_at = found
    return Incident(
        incident_id,
        conversation,
        _call_of(call),
        ErrorKind(kind),
        Outcome(ErrorKind(kind)),
        opened_at,
        IncidentState(state),
        parent_id=parent_id,
        closed_at=closed_at,
    )
