"""A call that had seemed to succeed is found to have failed, later: its rows are turned and its evidence moves, or back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select, update

from btm.model import ErrorKind
from btm.store import Reported, additions, meta
from btm.store import schema as t
from btm.store.rows import attempt, name, sums


def turn(
    connection: Connection, landmark: float | None, conversation: str, call_id: str, kind: ErrorKind
) -> Reported:
    """Turn a call into a failure of this kind."""
    in_calls, in_attempts = _of(conversation, call_id)
    found = connection.execute(
        update(t.calls)
        .where(in_calls, t.calls.c.kind.is_(None))
        .values(kind=kind, silent=True, reported=True)
    )
    rows = connection.execute(select(t.attempts).where(in_attempts, t.attempts.c.success)).all()
    if not found.rowcount or not rows:
        return Reported(found=bool(found.rowcount))
    connection.execute(update(t.attempts).where(in_attempts).values(success=False, failed_as=kind))
    return _moved(connection, landmark, rows, 1.0)


def take_back(connection: Connection, landmark: float | None, conversation: str, call_id: str) -> Reported:
    """Undo :func:`turn`."""
    in_calls, in_attempts = _of(conversation, call_id)
    silent = {"kind": None, "silent": False, "reported": False}
    found = connection.execute(update(t.calls).where(in_calls, t.calls.c.reported).values(**silent)).rowcount
    if not found:
        return Reported()
    rows = connection.execute(select(t.attempts).where(in_attempts, t.attempts.c.success.is_(False))).all()
    connection.execute(update(t.attempts).where(in_attempts).values(success=True, failed_as=None))
    return _moved(connection, landmark, rows, -1.0)


def _of(conversation: str, call_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return what tells a call's row, and its attempts' rows."""
    wanted = name(conversation), name(call_id)
    in_calls, in_attempts = (
        (table.c.conversation == wanted[0]) & (table.c.call_id == wanted[1])
        for table in (t.calls, t.attempts)
    )
    return in_calls, in_attempts


def _moved(connection: Connection, landmark: float | None, rows: Sequence[Row[Any]], sign: float) -> Reported:
    """Move the evidence of attempts from success to failure, or with a negative ``sign`` back."""
    decay = meta.current_decay(connection, landmark)
    moved = tuple(attempt(row) for row in rows)
    weights = ((a.key, sign * decay.weight(a.at)) for a in moved)
    additions.add_evidence(connection, sums((key, -weight, weight) for key, weight in weights))
    return Reported(moved, found=True)
