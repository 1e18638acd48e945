"""Between values and table rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from btm.model import Action, Attempt, ErrorKind, EvidenceKey, Incident
from btm.store import CallEvent, EvidenceRow

KEY_COLUMNS = ("tool", "kind", "action", "target", "ordinal")

_NAME_LIMIT = 255


def name(text: str) -> str:
    """Return a name that every database takes: no NUL, no lone surrogates, bounded."""
    if text.isascii() and len(text) <= _NAME_LIMIT and "\0" not in text:
        return text
    return text[:_NAME_LIMIT].encode("utf-8", "replace").decode().replace("\0", "?")


def key_of(row: Any) -> EvidenceKey:
    """Return the evidence key of a row that has the key's columns."""
    return EvidenceKey(row.tool, ErrorKind(row.kind), Action(row.action), row.target, row.ordinal)


def key_columns(key: EvidenceKey) -> dict[str, Any]:
    """Return an evidence key as columns."""
    tool, kind, action, target, ordinal = key
    return {"tool": name(tool), "kind": kind, "action": action, "target": name(target), "ordinal": ordinal}


def sums(rows: Iterable[EvidenceRow]) -> list[dict[str, Any]]:
    """Return rows for the evidence table, one a key: the same key may not stand twice in one upsert."""
    found: dict[EvidenceKey, tuple[float, float]] = {}
    for key, successes, failures in rows:
        s, f = found.get(key, (0.0, 0.0))
        found[key] = (s + successes, f + failures)
    return [{**key_columns(key), "successes": s, "failures": f} for key, (s, f) in found.items()]


def call_row(item: CallEvent) -> dict[str, Any]:
    """Return an event as a row of ``calls``."""
    call, outcome = item.call, item.outcome
    return {
        "conversation": name(call.conversation),
        "call_id": name(call.call_id),
        "tool": name(call.tool),
        "effect": call.effect,
        "fingerprint": item.fingerprint,
        "arguments": item.arguments,
        "started_at": call.at,
        "ended_at": item.ended_at,
        "latency_s": item.latency_s,
        "kind": outcome.kind,
        "silent": outcome.silent,
        "ambiguous": outcome.ambiguous,
        "status_code": outcome.status_code,
        "detail": outcome.detail,
        "rule": outcome.rule,
        "reported": False,
    }


def attempt_row(conversation: str, attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as a row of ``attempts``."""
    return {
        "conversation": name(conversation),
        "call_id": name(attempt.call_id),
        "incident_id": attempt.incident_id,
        **key_columns(attempt.key),
        "success": attempt.success,
        "failed_as": attempt.failed_as,
        "at": attempt.at,
        "latency_s": attempt.latency_s,
    }


def attempt(row: Any) -> Attempt:
    """Return a row of ``attempts`` as the value it was."""
    failed_as = None if row.failed_as is None else ErrorKind(row.failed_as)
    return Attempt(row.incident_id, row.call_id, key_of(row), row.success, row.at, row.latency_s, failed_as)


def incident_row(incident: Incident) -> dict[str, Any]:
    """Return an incident as a row of ``incidents``."""
    return {
        "incident_id": incident.incident_id,
        "conversation": name(incident.conversation),
        "call_id": name(incident.call.call_id),
        "parent_id": incident.parent_id,
        "tool": name(incident.tool),
        "kind": incident.kind,
        "state": incident.state,
        "opened_at": incident.opened_at,
        "closed_at": incident.closed_at,
    }


def cause(error: SQLAlchemyError) -> str:
    """Return the driver's own words: SQLAlchemy's text would add the statement and a link."""
    return str(getattr(error, "orig", None) or error)
