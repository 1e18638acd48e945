"""What is read from the tables, each as a function of a connection."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Table,
    Text,
    and_,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)

from btm.learning.posterior import Counts
from btm.model import Attempt, Effect, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall
from btm.store import RECENT_ATTEMPTS, EvidenceRow, RecentCall, ShapeRow
from btm.store import schema as t
from btm.store.rows import KEY_COLUMNS, attempt, key_columns, key_from, key_of

RECENT_S = 1_200.0
"""How far back calls are read for the tools' health when a memory opens."""

LEFT_OPEN_S = 86_400.0
"""How far back incidents are read that nobody ended: their conversations may go on."""

_MOST_LEFT_OPEN = 1_000

Halves = tuple[EvidenceKey, Counts, Counts]
"""A key, what the earlier half of its attempts came to, and what the later half did."""

_KEYS_AT_ONCE = 100
_MOST_RECENT = 2_000


def evidence(connection: Connection) -> list[EvidenceRow]:
    """Return every key's sums, in an order that does not depend on when each was written.

    Raises ValueError for what is no sum.
    """
    result = connection.execute(select(t.evidence).order_by(*t.evidence.primary_key))
    # As the driver has them: a row object each would take as long again, and there are tens of thousands.
    rows = result.cursor.fetchall()
    found = [
        (key_from(tool, kind, action, target, ordinal), float(worked), float(failed))
        for tool, kind, action, target, ordinal, worked, failed in rows
    ]
    for key, worked, failed in found:
        if not math.isfinite(worked + failed):
            raise ValueError(f"evidence that is no number, of {key.tool!r}")
    return found


def shapes(connection: Connection) -> list[ShapeRow]:
    """Return the learned shapes of results."""
    rows = connection.execute(select(t.shapes).order_by(*t.shapes.primary_key.columns))
    return [(row.tool, row.path, row.json_type, row.answers) for row in rows]


def recent_calls(connection: Connection, since: float, until: float) -> tuple[RecentCall, ...]:
    """Return the calls that ended in a span of time, oldest first, the latest 2,000 at most."""
    c = t.calls.c
    recent = select(c.tool, c.ended_at, c.kind, c.effect, c.conversation, c.call_id, c.started_at)
    recent = recent.where(c.ended_at >= since, c.ended_at <= until).order_by(c.ended_at.desc())
    rows = connection.execute(recent.limit(_MOST_RECENT)).all()
    return tuple(
        RecentCall(
            tool=r.tool,
            at=float(r.ended_at),
            kind=None if r.kind is None else ErrorKind(r.kind),
            effect=Effect(r.effect),
            conversation=r.conversation,
            call_id=r.call_id,
            began_at=float(r.started_at),
        )
        for r in reversed(rows)
    )


def recent_attempts(connection: Connection) -> tuple[tuple[EvidenceKey, bool, float], ...]:
    """Return the latest 1,000 attempts, oldest first: key, whether it worked, when."""
    table = t.attempts.c
    # As they were written, where rows are numbered so: that needs no sorting.
    order = literal_column("rowid").desc() if connection.dialect.name == "sqlite" else table.at.desc()
    columns = (*(table[name] for name in KEY_COLUMNS), table.success, table.at)
    rows = connection.execute(select(*columns).order_by(order).limit(RECENT_ATTEMPTS)).all()
    return tuple((key_of(row), bool(row.success), float(row.at)) for row in reversed(rows))


def left_open(connection: Connection, since: float) -> tuple[tuple[Incident, str], ...]:
    """Return incidents that nobody ended, with the fingerprints of their calls, oldest first."""
    i, c = t.incidents.c, t.calls.c
    of_incident = (i.incident_id, i.parent_id, i.opened_at, i.conversation, i.kind.label("failed_as"))
    of_call = (c.call_id, c.tool, c.effect, c.fingerprint, c.ambiguous, c.silent, c.status_code, c.detail)
    found = select(*of_incident, *of_call).where(i.state == "open", i.opened_at >= since)
    found = found.where(i.conversation == c.conversation, i.call_id == c.call_id)
    rows = connection.execute(found.order_by(i.opened_at.desc()).limit(_MOST_LEFT_OPEN)).all()
    tried: dict[str, list[Attempt]] = {}
    for start in range(0, len(rows), _KEYS_AT_ONCE):
        ids = [row.incident_id for row in rows[start : start + _KEYS_AT_ONCE]]
        where = t.attempts.c.conversation.in_([r.conversation for r in rows[start : start + _KEYS_AT_ONCE]])
        of_these = select(t.attempts).where(where, t.attempts.c.incident_id.in_(ids))
        for row in connection.execute(of_these.order_by(t.attempts.c.at)):
            tried.setdefault(row.incident_id, []).append(attempt(row))
    return tuple((_incident(row, tried.get(row.incident_id, ())), row.fingerprint) for row in reversed(rows))


def _incident(row: Any, tried: Iterable[Attempt]) -> Incident:
    kind = ErrorKind(row.failed_as)
    outcome = Outcome(kind, row.detail, row.status_code, silent=row.silent, ambiguous=row.ambiguous)
    call = ToolCall(row.tool, {}, Effect(row.effect), row.conversation, row.call_id)
    return Incident(
        row.incident_id,
        row.conversation,
        call,
        kind,
        outcome,
        float(row.opened_at),
        attempts=tuple(tried),
        parent_id=row.parent_id,
    )


def log(connection: Connection, table: str) -> list[dict[str, Any]]:
    """Return the rows of ``calls``, ``attempts`` or ``incidents``, oldest first."""
    orders: dict[str, tuple[Table, tuple[ColumnElement[Any], ...]]] = {
        "calls": (t.calls, (t.calls.c.ended_at,)),
        "attempts": (t.attempts, (t.attempts.c.at,)),
        "incidents": (t.incidents, (t.incidents.c.opened_at, t.incidents.c.incident_id)),
    }
    source, order = orders[table]
    if connection.dialect.name == "sqlite" and source is not t.incidents:
        # Rows are numbered as they are written, which also tells those of one moment apart. Incidents are written in the
        # order of their ids, a batch at a time.
        order = (literal_column("rowid"),)
    rows = connection.execute(select(source).order_by(*order))
    return [dict(row._mapping) for row in rows]


def failures(connection: Connection, until: float) -> list[tuple[str, str, str, str]]:
    """Return the failures before a moment as tool, kind, rule and detail, each once."""
    c = t.calls.c
    found = select(c.tool, c.kind, c.rule, c.detail).where(c.kind.is_not(None), c.ended_at < until).distinct()
    return [(row.tool, row.kind, row.rule, row.detail) for row in connection.execute(found)]


def incidents(connection: Connection, since: float) -> list[dict[str, Any]]:
    """Return the incidents that opened or ended after a moment, with what their calls failed with, oldest first."""
    i, c = t.incidents.c, t.calls.c
    columns = (i.incident_id, i.conversation, i.tool, i.kind, i.state, i.opened_at, i.closed_at)
    of_call = and_(i.conversation == c.conversation, i.call_id == c.call_id)
    found = select(*columns, c.rule, c.detail)
    found = found.where(of_call, or_(i.opened_at >= since, i.closed_at >= since))
    return [dict(row._mapping) for row in connection.execute(found.order_by(i.opened_at))]


def halves(
    connection: Connection, keys: Collection[EvidenceKey] | None = None, fewest: int = 1
) -> list[Halves]:
    """Return what keys' attempts came to, the earlier half in time and the later; None: of every key there is.

    A key with fewer attempts than ``fewest`` is left out.
    """
    if keys is None:
        return _halves(connection, None, fewest)
    asked, found = list(keys), []
    for start in range(0, len(asked), _KEYS_AT_ONCE):
        found += _halves(connection, asked[start : start + _KEYS_AT_ONCE], fewest)
    return found


def _halves(connection: Connection, keys: list[EvidenceKey] | None, fewest: int) -> list[Halves]:
    """Have each key's outcomes put in a row, one character each: a window over every attempt takes ten times as long."""
    table = t.attempts.c
    outcome = cast(cast(table.success, Integer), Text)
    order: list[ColumnElement[Any]] = [table[name] for name in KEY_COLUMNS]
    chosen: ColumnElement[bool] = true()
    if keys is not None:
        chosen = or_(*(and_(*(table[n] == v for n, v in key_columns(k).items())) for k in keys))
    if connection.dialect.name != "sqlite":
        from sqlalchemy.dialects.postgresql import aggregate_order_by  # noqa: PLC0415 - loads slowly

        in_a_row = func.string_agg(outcome, aggregate_order_by(literal(""), table.at))
        query = select(*order, in_a_row).where(chosen)
    elif keys is None and connection.exec_driver_sql("PRAGMA index_info(attempts_by_key)").all():
        # In the order of the index, which holds all that is asked for.
        query = select(*order, func.group_concat(outcome, ""))
        query = query.with_hint(t.attempts, "INDEXED BY attempts_by_key", "sqlite")
    else:
        rows = select(*order, outcome.label("outcome")).where(chosen).order_by(*order, table.at).subquery()
        order = [rows.c[name] for name in KEY_COLUMNS]
        query = select(*order, func.group_concat(rows.c.outcome, ""))
    found: list[Halves] = []
    for *key, text in connection.execute(query.group_by(*order).having(func.count() >= fewest)):
        earlier, later = text[: (len(text) + 1) // 2], text[(len(text) + 1) // 2 :]
        found.append((key_from(*key), _counts(earlier), _counts(later)))
    return found


def _counts(outcomes: str) -> Counts:
    worked = outcomes.count("1")
    return Counts(float(worked), float(len(outcomes) - worked))
