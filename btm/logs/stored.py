"""The calls that a database remembers, as btm's own event log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from btm.logs.eventlog import CALL, outcome_fields, report_event
from btm.model import ErrorKind, Outcome
from btm.store.sql import SqlStore


def stored_events(store: SqlStore) -> Iterator[bytes]:
    """Give a line for each call, in the order in which they began, and one for each that was reported to have failed.

    Arguments are named by the hash that the database keeps, also where it keeps them in the clear.
    """
    for row in sorted(store.log("calls"), key=lambda row: row["started_at"]):
        kind = None if row["kind"] is None else ErrorKind(row["kind"])
        yield _call(row, None if row["reported"] else kind)
        if row["reported"] and kind is not None:
            yield report_event(row["conversation"], row["call_id"], kind, row["ended_at"])


def _call(row: dict[str, Any], kind: ErrorKind | None) -> bytes:
    outcome = Outcome(
        kind,
        detail=row["detail"] if kind else "",
        status_code=row["status_code"],
        silent=bool(row["silent"]) and kind is not None,
        ambiguous=bool(row["ambiguous"]),
        rule=row["rule"],
    )
    latency_s = row["latency_s"]
    if latency_s is None:
        latency_s = row["ended_at"] - row["started_at"]
    event = {
        "type": CALL,
        "conversation": row["conversation"],
        "call_id": row["call_id"],
        "tool": row["tool"],
        "at": row["started_at"],
        "kind": kind,
        "arguments_hash": row["fingerprint"],
        "effect": row["effect"],
        "latency_s": latency_s,
        **outcome_fields(outcome),
    }
    return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
