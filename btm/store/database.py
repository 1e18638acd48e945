"""Connections to the database: how each kind is opened, and what becomes of them after a fork or a lost file."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import StaticPool

from btm.errors import StoreError
from btm.store import troubles
from btm.store.troubles import store_error

MEMORY = ":memory:"
"""The name of a database that is kept in this process."""

# What is wrong with a statement or a value, and not with the database.
_OF_STATEMENTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)

_CREATION_LOCK = 0x62746D  # "btm": the advisory lock under which PostgreSQL's tables are made


class Database:
    """One SQLite file, one SQLite database in memory, or one PostgreSQL database, by its path or URL.

    ``prepare`` is run in the first transaction, and again should the file be found deleted or replaced: it makes the
    tables.
    """

    def __init__(self, where: str, prepare: Callable[[Connection], None]) -> None:
        url = _url(where)
        self.name = url.render_as_string(hide_password=True) if "://" in where else where
        self._prepare = prepare
        self._url = url
        self._is_sqlite = url.get_backend_name() == "sqlite"
        in_memory = self._is_sqlite and url.database in (None, "", MEMORY)
        self._path = url.database if self._is_sqlite and not in_memory else None
        # A database in memory is one connection, and one connection takes one transaction at a time.
        self._turn: Any = threading.RLock() if in_memory else nullcontext()
        self._in_memory = in_memory
        self._inherited: list[Engine] = []
        self._file: tuple[int, int] | None = None
        self._pid = os.getpid()
        self._engine = self._connect()
        self._make()

    def _connect(self) -> Engine:
        if not self._is_sqlite:
            return _server_engine(self._url, self.name)
        if self._in_memory:
            engine = create_engine(self._url, poolclass=StaticPool, connect_args={"check_same_thread": False})
        else:
            wait = {"timeout": troubles.LOCK_WAIT_S, "check_same_thread": False}
            engine = create_engine(self._url, connect_args=wait)
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "begin", _begin_immediate)
        # A database that nobody closed is closed with its last user, or at exit, and not by a warning's finder.
        weakref.finalize(self, _dispose, engine, os.getpid())
        return engine

    def _make(self) -> None:
        """Run ``prepare``, one process at a time."""
        with self._errors(), self._engine.begin() as connection:
            if not self._is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
            self._prepare(connection)
        self._file = self._identity()

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path) if self._path else None
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that commits when the block ends, and rolls back when it raises.

        Raises StoreError when the database cannot be used (locked, full, damaged, gone), and SQLAlchemy's own errors
        for what is wrong with a statement or value.
        """
        self._look_after()
        with self._turn, self._errors(), self._engine.begin() as connection:
            yield connection

    def _look_after(self) -> None:
        if self._in_memory:
            return  # a forked child has a copy of its own
        if self._pid != os.getpid():
            # The parent's connections must not be used, nor closed, here; kept, they are not collected either.
            self._inherited.append(self._engine)
            self._engine = self._connect()
            self._pid = os.getpid()
        if self._path is not None and self._identity() != self._file:
            self._engine.dispose()  # a deleted file would go on taking writes that nobody can read
            self._make()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, InterfaceError) as error:
            if isinstance(error, _OF_STATEMENTS):
                raise
            raise store_error(self.name, error, self._path) from error

    def close(self) -> None:
        """Let go of connections."""
        self._engine.dispose()


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an INSERT of the database's own dialect, which knows ON CONFLICT."""
    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)


def _url(where: str) -> URL:
    if "\0" in where:
        raise StoreError("the database's name holds a NUL character, and no file's name can")
    if "://" not in where:
        return URL.create("sqlite", database=where)
    try:
        url = make_url(where)
        known = url.get_backend_name() in ("sqlite", "postgresql")
    except ArgumentError as error:
        raise StoreError("the database's URL cannot be read") from error
    if not known:
        raise StoreError(f"btm keeps evidence in SQLite or PostgreSQL, not in {url.get_backend_name()}")
    return url


def _server_engine(url: URL, name: str) -> Engine:
    try:
        return create_engine(url)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"the database {name} needs the package {error.name!r}: install it, or name another driver in the URL "
            "(postgresql+psycopg://...)"
        ) from error
    except SQLAlchemyError as error:
        raise store_error(name, error) from error


def _dispose(engine: Engine, pid: int) -> None:
    if os.getpid() == pid:  # a forked child must not close its parent's connections
        engine.dispose()


def _set_pragmas(connection: Any, _record: Any) -> None:
    # Transactions are begun by _begin_immediate, not by the driver.
    connection.isolation_level = None
    cursor = connection.cursor()
    # WAL with NORMAL keeps every committed transaction through kill -9 and does not stall readers.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin_immediate(connection: Any) -> None:
    # A transaction that reads before it writes must hold the write lock from the start, or two processes that
    # upsert at once can fail with "database is locked" instead of waiting for each other.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
