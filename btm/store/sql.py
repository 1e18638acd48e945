"""The store on a SQL database: SQLite by default, PostgreSQL by its URL."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from btm.errors import StoreError
from btm.learning.posterior import Counts, Decay, Priors
from btm.model import ErrorKind, EvidenceKey, Incident, IncidentState
from btm.store import (
    SKEW_S,
    CallEvent,
    Event,
    EvidenceRow,
    FittedConversation,
    IncidentEvent,
    Reported,
    ShapeRow,
    Snapshot,
    meta,
)
from btm.store import schema as t
from btm.store.ahead import as_of
from btm.store.calls import insert_calls
from btm.store.database import MEMORY, Database, insert_into
from btm.store.meta import RequestedMeta, as_written
from btm.store.rows import (
    KEY_COLUMNS,
    attempt,
    attempt_row,
    evidence_row,
    incident_row,
    key_of,
    name,
    sums,
)

_PATH_LIMIT = 512

RECENT_S = 1_200.0
"""How far back calls are read for the tools' health when a memory opens."""


class SqlStore:
    """Evidence in SQLite (a path) or PostgreSQL (a URL). ``None`` keeps it in this process's memory.

    ``half_life_s`` (seconds; ``math.inf``: never forgotten) is written when the database is made; opening an existing
    one with another value raises :class:`~btm.errors.StoreError`, since sums under one half-life cannot be read under
    another. ``None`` takes the database's own, or fourteen days for a new one. ``now`` is the landmark of a new database.
    TypeError or ValueError for a half-life that is no positive number.
    """

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        half_life_s: float | None = None,
        now: float = 0.0,
        hash_key: bytes | None = None,
    ) -> None:
        if half_life_s is not None:
            half_life_s = meta.seconds(half_life_s)
        self._asked = RequestedMeta(half_life_s, now, hash_key or secrets.token_bytes(16))
        self._database = Database(str(where) if where is not None else MEMORY, self._prepare)

    @property
    def where(self) -> str:
        """The database's path or URL, without a password."""
        return self._database.name

    def _prepare(self, connection: Connection) -> None:
        t.metadata.create_all(connection)
        # Should the file be lost, the new one states the same.
        self._asked = meta.agree(connection, self._asked)

    # -- reading ------------------------------------------------------------------------------------------------

    def load(self, now: float) -> Snapshot:
        """Return what a memory starts from; see :class:`~btm.store.Snapshot`."""
        with self._transaction() as connection, as_written(self.where):
            stated = meta.read(connection)
            recent = select(t.calls.c.tool, t.calls.c.ended_at, t.calls.c.kind)
            recent = recent.where(t.calls.c.ended_at >= now - RECENT_S).order_by(t.calls.c.ended_at)
            rows = self._evidence(connection)
            decay, rows, latest_at = as_of(connection, self.where, meta.decay_of(stated), rows, now)
            return Snapshot(
                decay=decay,
                priors=meta.priors_of(stated),
                hash_key=bytes.fromhex(stated["hash_key"]),
                evidence=tuple(rows),
                latest_at=latest_at,
                recent_calls=tuple(
                    (r.tool, at, r.kind is None)
                    for r in connection.execute(recent)
                    if (at := float(r.ended_at)) <= now + SKEW_S
                ),
                shapes=tuple(self._shapes(connection)),
            )

    def evidence(self) -> Iterator[EvidenceRow]:
        """Iterate over every key's sums as they stand (not decayed to now)."""
        with self._transaction() as connection, as_written(self.where):
            rows = self._evidence(connection)
        yield from rows

    def _evidence(self, connection: Connection) -> list[EvidenceRow]:
        rows = connection.execute(select(t.evidence))
        return [(key_of(row), float(row.successes), float(row.failures)) for row in rows]

    def log(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of ``calls``, ``attempts`` or ``incidents``, oldest first."""
        source, time = {
            "calls": (t.calls, t.calls.c.ended_at),
            "attempts": (t.attempts, t.attempts.c.at),
            "incidents": (t.incidents, t.incidents.c.opened_at),
        }[table]
        with self._transaction() as connection:
            # SQLite numbers rows as they are written, which also tells those of one moment apart.
            order = literal_column("rowid") if connection.dialect.name == "sqlite" else time
            rows = connection.execute(select(source).order_by(order))
            return [dict(row._mapping) for row in rows]

    def halves(self) -> Iterator[tuple[EvidenceKey, Counts, Counts]]:
        """Iterate over what every key's attempts came to: those of the earlier half in time, those of the later."""
        table = t.attempts.c
        key = tuple(table[name] for name in KEY_COLUMNS)
        half = func.ntile(2).over(partition_by=key, order_by=table.at).label("half")
        worked = case((table.success, 1.0), else_=0.0).label("worked")
        numbered = select(*key, half, worked).subquery()
        columns = [numbered.c[name] for name in KEY_COLUMNS]

        def total(number: int, value: ColumnElement[float]) -> ColumnElement[float]:
            return func.sum(case((numbered.c.half == number, value), else_=0.0))

        failed = 1.0 - numbered.c.worked
        sums = (total(n, value) for n in (1, 2) for value in (numbered.c.worked, failed))
        with self._transaction() as connection:
            rows = connection.execute(select(*columns, *sums).group_by(*columns)).all()
        with as_written(self.where):
            found = [(key_of(row), Counts(row[-4], row[-3]), Counts(row[-2], row[-1])) for row in rows]
        yield from found

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, events: Sequence[Event]) -> Sequence[CallEvent]:
        """Write events in one transaction; return those that were there already: they add nothing."""
        with self._transaction() as connection:
            fresh, duplicates = insert_calls(connection, [e for e in events if isinstance(e, CallEvent)])
            self._write_attempts(connection, list(fresh.values()))
            kept = (fresh.get(id(e), e) for e in events if isinstance(e, IncidentEvent) or id(e) in fresh)
            self._upsert_incidents(connection, (i for e in kept for i in e.incidents))
            self._add_shapes(connection, [row for e in fresh.values() for row in e.shapes])
        return duplicates

    def _write_attempts(self, connection: Connection, events: Sequence[CallEvent]) -> None:
        rows = [attempt_row(e.call.conversation, a) for e in events for a in e.attempts]
        if not rows:
            return
        connection.execute(insert(t.attempts), rows)
        decay = meta.current_decay(connection, max(event.ended_at for event in events))
        # One by one and in order, so that the sums do not depend, in their last bits, on how events were batched.
        learned = [evidence_row(a.key, decay.weight(a.at), a.success) for e in events for a in e.attempts]
        self._add_evidence(connection, learned)

    def _add_evidence(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        statement = insert_into(connection, t.evidence)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=list(KEY_COLUMNS),
                set_={
                    "successes": t.evidence.c.successes + statement.excluded.successes,
                    "failures": t.evidence.c.failures + statement.excluded.failures,
                },
            ),
            rows,
        )

    def add_learned(
        self,
        evidence: Iterable[EvidenceRow],
        *,
        fitted: Iterable[FittedConversation] = (),
        shapes: Sequence[ShapeRow] = (),
        priors: Priors | None = None,
    ) -> None:
        """Add sums that were learned elsewhere (from logs, in another database) in one transaction.

        ``fitted`` names the conversations they came from. Raises StoreError, and adds nothing, when one of those is
        here already: its evidence would count twice. ``priors`` are kept with what they were fitted to.
        """
        rest = iter(fitted)
        with self._transaction() as connection:
            self._add_evidence(connection, sums(evidence))
            self._add_shapes(connection, shapes)
            if priors is not None:
                meta.save_priors(connection, priors)
            while part := [f._asdict() for f in islice(rest, 10_000)]:
                statement = (
                    insert_into(connection, t.fitted).on_conflict_do_nothing().returning(t.fitted.c.digest)
                )
                new = len(connection.execute(statement, part).all())
                if new != len(part):
                    raise StoreError(
                        f"{len(part) - new} of these conversations were fitted into {self.where} before; "
                        "their evidence would count twice"
                    )

    @property
    def decay(self) -> Decay:
        """How the evidence kept here is forgotten."""
        with self._transaction() as connection:
            return meta.current_decay(connection)

    def shapes(self) -> list[ShapeRow]:
        """Return the learned shapes of results."""
        with self._transaction() as connection:
            return self._shapes(connection)

    def _shapes(self, connection: Connection) -> list[ShapeRow]:
        rows = connection.execute(select(t.shapes))
        return [(row.tool, row.path, row.json_type, row.answers) for row in rows]

    def fitted(self) -> list[FittedConversation]:
        """Return the conversations that were fitted."""
        with self._transaction() as connection:
            return [FittedConversation(*row) for row in connection.execute(select(t.fitted))]

    def fitted_digests(self) -> frozenset[str]:
        """Return the digests of the conversations that were fitted."""
        with self._transaction() as connection:
            return frozenset(connection.execute(select(t.fitted.c.digest)).scalars())

    def conversations(self) -> frozenset[str]:
        """Return the conversations whose calls are kept here: those that were lived through."""
        with self._transaction() as connection:
            return frozenset(connection.execute(select(t.calls.c.conversation).distinct()).scalars())

    def _upsert_incidents(self, connection: Connection, incidents: Iterable[Incident]) -> None:
        latest = {incident.incident_id: incident_row(incident) for incident in incidents}
        if not latest:
            return
        statement = insert_into(connection, t.incidents)
        changing = {c: statement.excluded[c] for c in ("kind", "state", "closed_at")}
        # What is settled stays so: a run that is replayed later opens the same incidents again. One that was left can
        # still be settled, when its conversation goes on, but not be left twice.
        state, left = t.incidents.c.state, IncidentState.ABANDONED
        unsettled = and_(
            state != IncidentState.RESOLVED,
            state != IncidentState.ESCALATED,
            or_(state != left, statement.excluded.state != left),
        )
        connection.execute(
            statement.on_conflict_do_update(index_elements=["incident_id"], set_=changing, where=unsettled),
            list(latest.values()),
        )

    def _add_shapes(self, connection: Connection, rows: Sequence[ShapeRow]) -> None:
        if not rows:
            return
        sums: dict[tuple[str, str, str], float] = {}
        for tool, path, json_type, answers in rows:
            sums[tool, path, json_type] = sums.get((tool, path, json_type), 0.0) + answers
        statement = insert_into(connection, t.shapes)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["tool", "path", "json_type"],
                set_={"answers": t.shapes.c.answers + statement.excluded.answers},
            ),
            [
                {"tool": name(tool), "path": name(path, _PATH_LIMIT), "json_type": kind, "answers": answers}
                for (tool, path, kind), answers in sums.items()
            ],
        )

    def forget_shape(self, tool: str) -> None:
        """Forget what a tool's good results looked like."""
        with self._transaction() as connection:
            connection.execute(delete(t.shapes).where(t.shapes.c.tool == name(tool)))

    # -- late reports -------------------------------------------------------------------------------------------

    def report(self, conversation: str, call_id: str, kind: ErrorKind) -> Reported:
        """Turn a call that had seemed to succeed into a failure of this kind, and move its evidence."""
        conversation, call_id = name(conversation), name(call_id)
        same_call = (t.calls.c.conversation == conversation) & (t.calls.c.call_id == call_id)
        same_attempt = (t.attempts.c.conversation == conversation) & (t.attempts.c.call_id == call_id)
        with self._transaction() as connection:
            found = connection.execute(
                update(t.calls)
                .where(same_call, t.calls.c.kind.is_(None))
                .values(kind=kind, silent=True, reported=True)
            )
            rows = connection.execute(select(t.attempts).where(same_attempt, t.attempts.c.success)).all()
            if not found.rowcount or not rows:
                return Reported(found=bool(found.rowcount))
            connection.execute(update(t.attempts).where(same_attempt).values(success=False, failed_as=kind))
            decay = meta.current_decay(connection)
            moved = tuple(attempt(row) for row in rows)
            weights = ((a.key, decay.weight(a.at)) for a in moved)
            self._add_evidence(connection, sums((key, -weight, weight) for key, weight in weights))
        return Reported(moved, found=True)

    # -- plumbing -----------------------------------------------------------------------------------------------

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self._database.transaction()

    def clear(self) -> None:
        """Forget all evidence, calls and shapes; the half-life and the hash key stay."""
        with self._transaction() as connection:
            for table in (t.calls, t.incidents, t.attempts, t.evidence, t.shapes, t.fitted):
                connection.execute(delete(table))

    def close(self) -> None:
        """Let go of connections."""
        self._database.close()
