"""The store on a SQL database: SQLite by default, PostgreSQL by its URL."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, select

from btm.errors import StoreError
from btm.learning.posterior import Decay, Priors
from btm.model import ErrorKind, EvidenceKey
from btm.store import (
    SKEW_S,
    CallEvent,
    Event,
    EvidenceRow,
    FittedConversation,
    IncidentEvent,
    Intent,
    IntentEvent,
    RecentCall,
    Reported,
    ShapeRow,
    Snapshot,
    Store,
    TaughtRule,
    additions,
    forgetting,
    hash_key,
    intents,
    late_reports,
    meta,
    queries,
    taught,
)
from btm.store import schema as t
from btm.store.ahead import as_of
from btm.store.calls import insert_calls
from btm.store.database import MEMORY, Database, keep_to_owner
from btm.store.journal import journal_of_server, write_what_was_left
from btm.store.meta import RequestedMeta, as_written
from btm.store.migrations import migrate, version_of
from btm.store.queries import Halves
from btm.store.rows import name, sums

_log = logging.getLogger("btm")


class SqlStore:
    """Evidence in SQLite (a path) or PostgreSQL (a URL). ``None`` keeps it in this process's memory.

    ``half_life_s`` (seconds; ``math.inf``: never forgotten) is written when the database is made; opening an existing
    one with another value raises :class:`~btm.errors.StoreError`, since sums under one half-life cannot be read under
    another. ``None`` takes the database's own, or fourteen days for a new one. ``now`` is the landmark of a new database.
    ``hash_key`` is the secret under which arguments are named; see :mod:`btm.store.hash_key` for where one comes from
    that is not given. With ``read_only`` nothing is written, nor is a database made. A ``late`` one is not opened before
    it is read or written.
    TypeError or ValueError for a half-life that is no positive number.
    """

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        half_life_s: float | None = None,
        now: float = 0.0,
        hash_key: bytes | None = None,
        read_only: bool = False,
        late: bool = False,
    ) -> None:
        if half_life_s is not None:
            half_life_s = meta.seconds(half_life_s)
        self._asked = RequestedMeta(half_life_s, now)
        self._now = now
        self._given_key = hash_key
        self._key: bytes | None = None
        self._key_warning = ""
        self._loaded: Snapshot | None = None
        self._prune_at: float | None = None
        self._latest = forgetting.LatestCalls()
        place = str(where) if where is not None else MEMORY
        self._database = Database(place, self._ready, self._prepare, read_only=read_only)
        if not late:
            self._database.make()
            self._take_up()

    @property
    def where(self) -> str:
        """The database's path or URL, without a password."""
        return self._database.name

    @property
    def database(self) -> Database:
        """The connections, for who looks after the database."""
        return self._database

    @property
    def path(self) -> str | None:
        """The path of a SQLite file, or None."""
        return self._database.path

    @property
    def is_shared(self) -> bool:
        """Whether other processes can use the database, or this one again when it starts anew."""
        return not self._database.in_memory and not self._database.read_only

    @property
    def journal(self) -> Path | None:
        """What the names of journals for this database begin with; None for one that ends with the process."""
        if self.path is not None:
            return Path(self.path).absolute()
        return None if self._database.in_memory else journal_of_server(self.where)

    @property
    def secret(self) -> bytes:
        """The secret under which arguments are named."""
        return self._key or b""

    @property
    def key_warning(self) -> str:
        """Why calls that were made before are not known again: empty where they are."""
        if not self._key_warning:
            return ""
        return (
            f"the arguments in {self.where} are named under another hash key, and a call made before is not known "
            f"again: {self._key_warning}"
        )

    def _take_up(self) -> None:
        """Write what processes left behind that ended while the database did not take it."""
        if self.journal is None or self._database.read_only:
            return
        try:
            number = write_what_was_left(self.journal, self.write)
        except StoreError as error:
            _log.warning("what earlier processes could not write waits on (%s)", error)
        else:
            if number:
                _log.info("%d events that an earlier process could not write are written", number)
        if self._prune_at is not None:
            with self._transaction() as connection:
                forgetting.old(connection, self._prune_at)

    def _ready(self, connection: Connection) -> bool:
        """Whether the tables are there, of the present schema, and state what they must."""
        if not meta.is_stated(connection):
            return False
        stated = meta.read(connection)
        old = version_of(stated) < t.SCHEMA_VERSION
        meta.checked(stated, self._asked)
        with as_written(self.where):
            keys = self._keys_to_read(stated)
            due = meta.decay_of(stated).overdue(self._asked.landmark)
        if not self._database.read_only and (old or due or keys.to_state):
            return False
        self._take(stated, keys)
        return True

    def _keys_to_read(self, stated: dict[str, str]) -> hash_key.Keys:
        try:
            return hash_key.found(stated, self.path, self._given_key, self._key)
        except StoreError as error:
            if not self._database.read_only:
                raise
            return hash_key.Keys(hash_key.drawn(), {}, str(error))  # what was learned can be read without it

    def _prepare(self, connection: Connection) -> None:
        if meta.is_stated(connection):
            migrate(connection, self.path)
        elif self.path is not None:
            keep_to_owner(self.path)
        t.create(connection)
        stated = meta.agree(connection, self._asked)
        with as_written(self.where):
            keys = hash_key.keep(hash_key.found(stated, self.path, self._given_key, self._key), self.path)
        for item, value in keys.to_state.items():
            meta.state(connection, item, value)
        self._take(stated, keys)

    def _take(self, stated: dict[str, str], keys: hash_key.Keys) -> None:
        # Should the file be lost, the new one states the same.
        decay = meta.decay_of(stated)
        self._prune_at = self._now if meta.is_prune_due(stated, self._now) else None
        self._asked = RequestedMeta(decay.half_life_s, decay.landmark)
        self._key, self._key_warning = keys.key, keys.warning

    def go_live(self, now: float) -> None:
        """Have what was fitted from logs fade from now on, unless a half-life was asked for; say so once."""
        if not math.isinf(self._asked.half_life_s or 0.0):
            return
        with self._reading() as connection, as_written(self.where):
            if not meta.is_of_logs_alone(connection):
                return  # nothing to write: who may only read can open it
        with self._transaction() as connection, as_written(self.where):
            started = meta.start_forgetting(connection, now)
            decay = meta.decay_of(meta.read(connection))
        self._asked = RequestedMeta(decay.half_life_s, decay.landmark)
        if started:
            _log.warning("%s %s", self.where, meta.live_notice(decay.half_life_s))

    # -- reading ------------------------------------------------------------------------------------------------

    def load_ahead(self, now: float, instead: Store | None = None) -> None:
        """Read what a memory starts from, and keep it for the next :meth:`load`: what cannot be read is found now.

        It is read from ``instead``, if that is given.
        """
        self._loaded = (instead or self).load(now)

    def load(self, now: float) -> Snapshot:
        """Return what a memory starts from; see :class:`~btm.store.Snapshot`."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            return loaded
        with self._reading() as connection, as_written(self.where):
            stated = meta.read(connection)
            rows = queries.evidence(connection)
            decay, rows, latest_at = as_of(connection, self.where, meta.decay_of(stated), rows, now)
            return Snapshot(
                decay=decay,
                priors=meta.priors_of(stated),
                hash_key=self.secret,
                evidence=tuple(rows),
                latest_at=latest_at,
                recent_calls=queries.recent_calls(connection, now - queries.RECENT_S, now + SKEW_S),
                left_open=queries.left_open(connection, now - queries.LEFT_OPEN_S),
                shapes=tuple(queries.shapes(connection)),
                recent_attempts=queries.recent_attempts(connection),
                taught=taught.rules(stated),
            )

    @property
    def shared(self) -> bool:
        """Whether other processes can write here: not into a database in this process's memory."""
        return not self._database.in_memory

    def recent_calls(self, since: float, now: float) -> tuple[RecentCall, ...]:
        """Return the calls that ended after ``since`` (epoch seconds), oldest first, the latest 2,000 at most."""
        with self._reading() as connection, as_written(self.where):
            return queries.recent_calls(connection, since, now + SKEW_S)

    def evidence(self) -> Iterator[EvidenceRow]:
        """Iterate over every key's sums as they stand (not decayed to now)."""
        with self._reading() as connection, as_written(self.where):
            rows = queries.evidence(connection)
        yield from rows

    def log(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of ``calls``, ``attempts`` or ``incidents``, oldest first."""
        with self._reading() as connection:
            return queries.log(connection, table)

    def failures(self, until: float = math.inf) -> list[tuple[str, str, str, str]]:
        """Return the failures before ``until`` (epoch seconds) as tool, kind, rule and detail, each once."""
        with self._reading() as connection:
            return queries.failures(connection, until)

    def incidents(self, since: float) -> list[dict[str, Any]]:
        """Return the incidents that opened or ended after ``since`` (epoch seconds), with their errors, oldest first."""
        with self._reading() as connection:
            return queries.incidents(connection, since)

    def halves(self, keys: Collection[EvidenceKey] | None = None, fewest: int = 1) -> Iterator[Halves]:
        """Iterate over what keys' attempts came to: those of the earlier half in time, those of the later.

        Without ``keys`` every attempt is read. A key with fewer attempts than ``fewest`` is left out.
        """
        with self._reading() as connection, as_written(self.where):
            found = queries.halves(connection, keys, fewest)
        yield from found

    # -- writing ------------------------------------------------------------------------------------------------

    def write(self, events: Sequence[Event]) -> Sequence[CallEvent]:
        """Write events in one transaction; return those that were there already: they add nothing."""
        calls = [e for e in events if isinstance(e, CallEvent)]
        with self._transaction() as connection:
            fresh, duplicates = insert_calls(connection, calls)
            additions.add_attempts(connection, fresh.values())
            kept = (fresh.get(id(e), e) for e in events if not isinstance(e, CallEvent) or id(e) in fresh)
            additions.put_incidents(connection, (i for e in kept for i in e.incidents))
            intents.put(connection, (e.intent for e in events if isinstance(e, IntentEvent)))
            intents.end(connection, calls)
            additions.add_shapes(connection, (row for e in fresh.values() for row in e.shapes))
            additions.add_lessons(connection, fresh.values())
            for event in events:
                if isinstance(event, IncidentEvent) and event.found_wrong is not None:
                    late_reports.turn(connection, self._asked.landmark, *event.found_wrong)
            if self._database.in_memory:
                self._latest.keep(connection, len(calls))
        return duplicates

    def unsettled(self, conversation: str) -> Sequence[Intent]:
        """Return a conversation's writes of which it is not known whether they happened, oldest first."""
        with self._reading() as connection, as_written(self.where):
            return intents.unsettled(connection, conversation)

    def claim(self, intent: Intent, blocks: Callable[[Intent], bool]) -> Intent | None:
        """Note a write, on the disk when this returns, unless one of its conversation blocks it: return that one."""
        with self._database.transaction(durable=True) as connection, as_written(self.where):
            return intents.claim(connection, intent, blocks)

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
        with self._transaction() as connection:
            meta.current_decay(connection, self._asked.landmark)
            additions.add_evidence(connection, sums(evidence))
            additions.add_shapes(connection, shapes)
            if priors is not None:
                meta.save_priors(connection, priors)
            additions.add_fitted(connection, self.where, fitted)

    @property
    def decay(self) -> Decay:
        """How the evidence kept here is forgotten."""
        with self._reading() as connection:
            return meta.current_decay(connection)

    def fitted(self) -> list[FittedConversation]:
        """Return the conversations that were fitted."""
        with self._reading() as connection:
            return [FittedConversation(*row) for row in connection.execute(select(t.fitted))]

    def fitted_digests(self) -> frozenset[str]:
        """Return the digests of the conversations that were fitted."""
        with self._reading() as connection:
            return frozenset(connection.execute(select(t.fitted.c.digest)).scalars())

    def conversations(self) -> frozenset[str]:
        """Return the conversations whose calls are kept here: those that were lived through."""
        with self._reading() as connection:
            return frozenset(connection.execute(select(t.calls.c.conversation).distinct()).scalars())

    def forget_shape(self, tool: str) -> None:
        """Forget what a tool's good results looked like."""
        with self._transaction() as connection:
            connection.execute(delete(t.shapes).where(t.shapes.c.tool == name(tool)))

    def teach(self, rule: TaughtRule) -> None:
        """Keep a rule for texts of a tool, in place of an earlier one for the same texts."""
        with self._transaction() as connection:
            taught.keep(connection, rule)

    def forget_taught(self, name: str) -> bool:
        """Undo a rule that was taught; return whether it was there."""
        with self._transaction() as connection:
            return taught.forget(connection, name)

    # -- late reports -------------------------------------------------------------------------------------------

    def report(self, conversation: str, call_id: str, kind: ErrorKind) -> Reported:
        """Turn a call that had seemed to succeed into a failure of this kind, and move its evidence."""
        with self._transaction() as connection:
            return late_reports.turn(connection, self._asked.landmark, conversation, call_id, kind)

    def take_back_report(self, conversation: str, call_id: str) -> Reported:
        """Undo :meth:`report`: the call had succeeded after all, and its evidence moves back."""
        with self._transaction() as connection:
            return late_reports.take_back(connection, self._asked.landmark, conversation, call_id)

    # -- plumbing -----------------------------------------------------------------------------------------------

    def _reading(self) -> AbstractContextManager[Connection]:
        return self._database.reading()

    def _transaction(self) -> AbstractContextManager[Connection]:
        return self._database.transaction()

    def close(self) -> None:
        """Let go of connections."""
        self._database.close()
