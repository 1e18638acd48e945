"""Looking after a database: what it holds, whether it is sound, how it is made smaller, copied and thinned out."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select, text

from btm.errors import StoreError
from btm.store import IntentState, forgetting, hash_key, meta
from btm.store import schema as t
from btm.store.database import copy_file
from btm.store.forgetting import Removed
from btm.store.journal import left_behind
from btm.store.migrations import version_of
from btm.store.rows import KEY_COLUMNS
from btm.store.sql import SqlStore

DAY_S = 86_400.0
_TABLES = tuple(table for table in t.metadata.sorted_tables if table is not t.meta)


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """What a database holds. ``bytes`` is its size with what lies beside it; ``keep_s`` is None where nothing is old.

    ``waiting`` are the journals of events that could not be written, ``unsettled`` the writes of which it is not known
    whether they happened.
    """

    where: str
    schema_version: int
    half_life_s: float
    landmark: float
    keep_s: float | None
    bytes: int
    rows: dict[str, int]
    tools: int
    first_call_at: float | None
    latest_call_at: float | None
    unsettled: int
    waiting: tuple[str, ...] = field(default=())


def info(store: SqlStore) -> DatabaseInfo:
    """Return what a database holds."""
    with store.database.reading() as connection, meta.as_written(store.where):
        stated = meta.read(connection)
        decay = meta.decay_of(stated)
        first, latest = connection.execute(
            select(func.min(t.calls.c.ended_at), func.max(t.calls.c.ended_at))
        ).one()
        doubt = t.intents.c.state.in_([s for s in IntentState if not s.settled])
        version = version_of(stated)
        tables = [table for table in _TABLES if version > 1 or table is not t.intents]
        return DatabaseInfo(
            where=store.where,
            schema_version=version,
            half_life_s=decay.half_life_s,
            landmark=decay.landmark,
            keep_s=meta.kept_s(stated),
            bytes=_size(store, connection),
            rows={
                x.name: int(connection.execute(select(func.count()).select_from(x)).scalar_one())
                for x in tables
            },
            tools=int(connection.execute(select(func.count(t.calls.c.tool.distinct()))).scalar_one()),
            first_call_at=first,
            latest_call_at=latest,
            unsettled=int(connection.execute(select(func.count()).where(doubt)).scalar_one())
            if version > 1
            else 0,
            waiting=_waiting(store),
        )


def _waiting(store: SqlStore) -> tuple[str, ...]:
    return tuple(map(str, left_behind(store.journal))) if store.journal is not None else ()


def _size(store: SqlStore, connection: Connection) -> int:
    if store.path is None:
        found = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
        return int(found)
    beside = (f"{store.path}{ending}" for ending in ("", "-wal"))
    return sum(os.path.getsize(name) for name in beside if os.path.exists(name))


def problems(store: SqlStore) -> list[str]:
    """Return what is wrong with a database that could be opened: a sentence each, with the cure where one is known."""
    found = list(_damage(store))
    with store.database.reading() as connection, meta.as_written(store.where):
        stated = meta.read(connection)
        decay = meta.decay_of(stated)
        short = _short(connection, decay.weight)
    if short:
        found.append(
            f"{short} posteriors count less than their attempts in the log: a program other than btm changed the file"
        )
    if store.path is not None:
        mode = os.stat(store.path).st_mode & 0o077
        if mode:
            found.append(f"others than its owner may use the file: chmod 600 {store.path}")
        key = hash_key.file_of(store.path)
        if key.exists() and key.stat().st_mode & 0o077:
            found.append(f"others than its owner may read the hash key: chmod 600 {key}")
    if store.key_warning and not hash_key.is_missing_outside(stated):
        found.append(store.key_warning)
    found += [
        f"events wait in {name}: the next memory that opens the database writes them"
        for name in _waiting(store)
    ]
    return found


def _damage(store: SqlStore) -> list[str]:
    if store.path is None:
        return []
    try:
        with closing(sqlite3.connect(store.path)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
    except sqlite3.Error as error:
        said = [str(error)]
    return [f"it is damaged ({line}): restore it from a copy" for line in said if line != "ok"]


def _short(connection: Connection, weight: Callable[[float], float]) -> int:
    """Count the keys whose sums are less than what their attempts come to: attempts are in the sums, and more may be."""
    counted: dict[tuple[object, ...], float] = {}
    columns = (t.attempts.c[name] for name in KEY_COLUMNS)
    for *key, at in connection.execute(select(*columns, t.attempts.c.at)):
        counted[tuple(key)] = counted.get(tuple(key), 0.0) + weight(at)
    summed = {tuple(row[:5]): row[5] + row[6] for row in connection.execute(select(t.evidence))}
    return sum(summed.get(key, 0.0) < (1.0 - 1e-6) * least for key, least in counted.items())


def compact(store: SqlStore) -> None:
    """Give back the room of what was removed, and overwrite it. Raises StoreError while others use the database."""
    if store.path is None:
        store.database.run_alone("VACUUM FULL ANALYZE")
        return
    store.close()
    try:
        with closing(sqlite3.connect(store.path, timeout=5.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("VACUUM")
            connection.execute("PRAGMA optimize")
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"the database {store.where} cannot be made smaller: {error}") from error
    if busy:
        raise StoreError(
            f"others use the database {store.where}: what was removed is still in its log ({store.path}-wal); "
            "end them and run 'btm db compact'"
        )


def backup(store: SqlStore, output: str) -> None:
    """Copy a SQLite database, while others use it, with its hash key. Raises StoreError for one on a server."""
    if store.path is None:
        raise StoreError("a database on a server is copied by its own tools (pg_dump), or by 'btm db export'")
    copy_file(store.path, output)
    key = hash_key.in_file(store.path)
    if key is not None:
        hash_key.keep_in_file(output, key)


def forget(store: SqlStore, *, tool: str | None = None, conversation: str | None = None) -> Removed:
    """Remove a tool or a conversation for good, from the file's bytes too; return how many rows of which tables."""
    with store.database.transaction() as connection:
        removed: Removed = {}
        if tool is not None:
            removed = forgetting.tool(connection, tool)
        if conversation is not None:
            decay = meta.current_decay(connection)
            removed = forgetting.conversation(connection, conversation, decay)
    compact(store)
    return removed


def keep(store: SqlStore, seconds: float | None, now: float) -> Removed:
    """State how long calls, attempts and incidents are kept (None: for ever), and remove the older ones.

    From then on a memory that opens the database removes what is older, once a day.
    """
    with store.database.transaction() as connection:
        meta.state(connection, meta.KEEP, "" if seconds is None else repr(seconds))
        return forgetting.old(connection, now)
