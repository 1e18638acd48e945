"""Between values and table rows."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from btm.model import MAX_ORDINAL, Action, Attempt, ErrorKind, EvidenceKey, Incident
from btm.store import CallEvent, EvidenceRow
from btm.support.failsafe import is_time

KEY_COLUMNS = ("tool", "kind", "action", "target", "ordinal")

_KEY = itemgetter(*KEY_COLUMNS)

_KINDS: dict[object, ErrorKind] = {kind.value: kind for kind in ErrorKind}
_ACTIONS: dict[object, Action] = {action.value: action for action in Action}
_ORDINALS = frozenset(range(1, MAX_ORDINAL + 1))

_NAME_LIMIT = 255
_ID_LIMIT = 512
_RULE_LIMIT = 64


def name(text: str, limit: int = _NAME_LIMIT) -> str:
    """Return a name that every database takes: no NUL, no lone surrogates, at most ``limit`` characters.

    What is cut off a long one is replaced by its hash, so that different names stay different.
    """
    if text.isascii() and len(text) <= limit and "\0" not in text:
        return text
    plain = text.encode("utf-8", "replace").decode().replace("\0", "?")
    if len(plain) <= limit:
        return plain
    digest = blake2b(plain.encode(), digest_size=16).hexdigest()
    return f"{plain[: limit - len(digest) - 1]}~{digest}"


def key_of(row: Any) -> EvidenceKey:
    """Return the evidence key of a row that has the key's columns. Raises ValueError for one that no btm has written."""
    return key_from(row.tool, row.kind, row.action, row.target, row.ordinal)


def key_from(tool: Any, kind: Any, action: Any, target: Any, ordinal: Any) -> EvidenceKey:
    """Return the evidence key of these columns, as :func:`key_of` does."""
    if not (isinstance(tool, str) and isinstance(target, str)):
        raise ValueError(f"a tool that is no text: {tool!r}")  # noqa: TRY004 - a value of the database's
    if ordinal not in _ORDINALS:
        raise ValueError(f"try number {ordinal} of {tool!r}")
    # Databases hold tens of thousands of keys, and looking a member up by its value is slow.
    return EvidenceKey(
        tool, _KINDS.get(kind) or ErrorKind(kind), _ACTIONS.get(action) or Action(action), target, ordinal
    )


def key_columns(key: EvidenceKey) -> dict[str, Any]:
    """Return an evidence key as columns."""
    tool, kind, action, target, ordinal = key
    return {"tool": name(tool), "kind": kind, "action": action, "target": name(target), "ordinal": ordinal}


def evidence_row(key: EvidenceKey, weight: float, success: bool) -> dict[str, Any]:
    """Return what one attempt adds to the evidence table."""
    return {**key_columns(key), "successes": weight * success, "failures": weight * (not success)}


def sums(rows: Iterable[EvidenceRow]) -> list[dict[str, Any]]:
    """Return rows for the evidence table, one a key."""
    return summed({**key_columns(key), "successes": s, "failures": f} for key, s, f in rows)


def summed(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of the evidence table added up, one a key."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        known = found.setdefault(_KEY(row), {**row, "successes": 0.0, "failures": 0.0})
        known["successes"] += row["successes"]
        known["failures"] += row["failures"]
    return list(found.values())


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
        "started_at": call.at if is_time(call.at) else item.ended_at - (item.latency_s or 0.0),
        "ended_at": item.ended_at,
        "latency_s": item.latency_s,
        "kind": outcome.kind,
        "silent": outcome.silent,
        "ambiguous": outcome.ambiguous,
        "status_code": outcome.status_code,
        "detail": outcome.detail,
        "rule": name(outcome.rule, _RULE_LIMIT),
        "reported": False,
    }


def attempt_row(conversation: str, attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as a row of ``attempts``."""
    return {
        "conversation": name(conversation),
        "call_id": name(attempt.call_id),
        "incident_id": name(attempt.incident_id, _ID_LIMIT),
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
        "incident_id": name(incident.incident_id, _ID_LIMIT),
        "conversation": name(incident.conversation),
        # That of the call which opened it: ``incident.call`` is the latest one that failed.
        "call_id": name(incident.incident_id.removeprefix(f"{incident.conversation}/")),
        "parent_id": name(incident.parent_id, _ID_LIMIT),
        "tool": name(incident.tool),
        "kind": incident.kind,
        "state": incident.state,
        "opened_at": incident.opened_at,
        "closed_at": incident.closed_at,
    }
