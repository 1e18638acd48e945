"""What is added to the tables, each as a function of a connection.

Whoever upserts many rows goes through them in the order of their keys: two writers whose batches hold the same rows in
other orders would each wait for what the other has, on PostgreSQL until it ends one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, and_, insert, or_

from btm.errors import StoreError
from btm.model import Incident, IncidentState
from btm.store import CallEvent, FittedConversation, ShapeRow, meta
from btm.store import schema as t
from btm.store.database import dialect_insert, insert_into, insert_rows
from btm.store.rows import KEY_COLUMNS, attempt_row, evidence_row, incident_row, name, summed

_PATH_LIMIT = 512
_AT_ONCE = 10_000
_ATTEMPT = insert(t.attempts)


def add_attempts(connection: Connection, events: Iterable[CallEvent]) -> None:
    """Add the attempts of calls; :func:`add_lessons` adds what they teach."""
    rows = [attempt_row(e.call.conversation, a) for e in events for a in e.attempts]
    if rows:
        insert_rows(connection, _ATTEMPT, rows)


def add_lessons(connection: Connection, events: Collection[CallEvent]) -> None:
    """Add what the attempts of calls teach. The last thing in a transaction: other writers wait for the same keys."""
    if not any(event.attempts for event in events):
        return
    decay = meta.current_decay(connection, max(event.ended_at for event in events))
    learned = [evidence_row(a.key, decay.weight(a.at), a.success) for e in events for a in e.attempts]
    if connection.dialect.name != "sqlite":
        # A server keeps every version of a row that a transaction has made: hundreds of one key take their time.
        learned = summed(learned)
    # On SQLite one by one and in order, so that sums do not depend, in their last bits, on how events were batched.
    add_evidence(connection, learned)


def add_evidence(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add to keys' sums."""
    if not rows:
        return
    adding = _adding(connection.dialect.name)
    insert_rows(connection, adding, sorted(rows, key=itemgetter(*KEY_COLUMNS)))


@lru_cache(maxsize=8)  # one for each sort of database
def _adding(dialect: str) -> Any:
    """Return the statement that adds to keys' sums."""
    statement = dialect_insert(dialect, t.evidence)
    summing = {c: t.evidence.c[c] + statement.excluded[c] for c in ("successes", "failures")}
    return statement.on_conflict_do_update(index_elements=list(KEY_COLUMNS), set_=summing)


def add_shapes(connection: Connection, rows: Iterable[ShapeRow]) -> None:
    """Add to the learned shapes of results."""
    sums: dict[tuple[str, str, str], float] = {}
    for tool, path, json_type, answers in rows:
        row = name(tool), name(path, _PATH_LIMIT), json_type
        sums[row] = sums.get(row, 0.0) + answers
    if not sums:
        return
    statement = insert_into(connection, t.shapes)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["tool", "path", "json_type"],
            set_={"answers": t.shapes.c.answers + statement.excluded.answers},
        ),
        [
            {"tool": tool, "path": path, "json_type": kind, "answers": answers}
            for (tool, path, kind), answers in sorted(sums.items())
        ],
    )


def add_fitted(connection: Connection, where: str, conversations: Iterable[FittedConversation]) -> None:
    """Note conversations that were fitted. Raises StoreError if one of them is there already."""
    rest = iter(conversations)
    while part := [f._asdict() for f in islice(rest, _AT_ONCE)]:
        statement = insert_into(connection, t.fitted).on_conflict_do_nothing().returning(t.fitted.c.digest)
        new = len(connection.execute(statement, sorted(part, key=itemgetter("digest"))).all())
        if new != len(part):
            raise StoreError(
                f"{len(part) - new} of these conversations were fitted into {where} before; "
                "their evidence would count twice"
            )


def put_incidents(connection: Connection, incidents: Iterable[Incident]) -> None:
    """Have incidents stand as they were last heard of."""
    latest = {incident.incident_id: incident_row(incident) for incident in incidents}
    if not latest:
        return
    standing = _standing(connection.dialect.name)
    insert_rows(connection, standing, sorted(latest.values(), key=itemgetter("incident_id")))


@lru_cache(maxsize=8)  # one for each sort of database
def _standing(dialect: str) -> Any:
    """Return the statement that has incidents stand as they were last heard of."""
    statement = dialect_insert(dialect, t.incidents)
    changing = {c: statement.excluded[c] for c in ("kind", "state", "closed_at")}
    # What is settled stays so: a run that is replayed later opens the same incidents again. One that was left can
    # still be settled, when its conversation goes on, but not be left twice.
    state, left = t.incidents.c.state, IncidentState.ABANDONED
    unsettled = and_(
        state != IncidentState.RESOLVED,
        state != IncidentState.ESCALATED,
        or_(state != left, statement.excluded.state != left),
    )
    return statement.on_conflict_do_update(index_elements=["incident_id"], set_=changing, where=unsettled)
