"""Connections to the database: how each kind is opened, and what becomes of them after a fork or a lost file."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import URL, Connection, Dialect, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import StaticPool

from btm.errors import StoreError
from btm.store import troubles
from btm.store.troubles import primary_code, store_error
from btm.support.forks import no_fork

MEMORY = ":memory:"
"""The name of a database that is kept in this process."""

# What is wrong with a statement or a value, and not with the database.
_OF_STATEMENTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)

_CREATION_LOCK = 0x62746D  # "btm": the advisory lock under which PostgreSQL's tables are made

# Who finds the database locked tries again after a while that is drawn: of many writers each then gets its turn, which
# SQLite's own way of waiting, with pauses that grow, does not give to those that have waited longest.
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.03


class Database:
    """One SQLite file, one SQLite database in memory, or one PostgreSQL database, by its path or URL.

    ``ready`` says, in a transaction that only reads, whether the tables are there. Where they are not, ``prepare`` makes
    them in the first transaction, and again should the file be found deleted or replaced. With ``read_only`` nothing
    is written: the database must be there and ready. A new file may be read and written by its owner alone.
    """

    def __init__(
        self,
        where: str,
        ready: Callable[[Connection], bool],
        prepare: Callable[[Connection], None],
        *,
        read_only: bool = False,
    ) -> None:
        url = _url(where)
        self.name = (
            url.difference_update_query(["password"]).render_as_string() if "://" in where else where
        )  # without its password
        self.read_only = read_only
        self._ready, self._prepare = ready, prepare
        self._url = url
        self._is_sqlite = url.get_backend_name() == "sqlite"
        in_memory = self._is_sqlite and url.database in (None, "", MEMORY)
        self.path = url.database if self._is_sqlite and not in_memory else None
        # A database in memory is one connection, and one connection takes one transaction at a time.
        self._turn: Any = threading.RLock() if in_memory else nullcontext()
        self.in_memory = in_memory
        self._inherited: list[Engine] = []
        self._file: tuple[int, int] | None = None
        self._made = False
        self._pid = os.getpid()
        self._engine = self._connect()

    def _connect(self) -> Engine:
        if not self._is_sqlite:
            return _server_engine(self._url, self.name)
        if self.in_memory:
            engine = create_engine(self._url, poolclass=StaticPool, connect_args={"check_same_thread": False})
        else:
            wait = {"timeout": troubles.LOCK_WAIT_S, "check_same_thread": False}
            opened = self._read_only_url() if self.read_only else self._url
            engine = create_engine(opened, connect_args=wait)
        if not self.read_only:
            event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "connect", _leave_transactions_to_us)
        event.listen(engine, "begin", _begin)
        # A database that nobody closed is closed with its last user, or at exit, and not by a warning's finder.
        weakref.finalize(self, _dispose, engine, os.getpid())
        return engine

    def _read_only_url(self) -> URL:
        path = os.path.abspath(self.path or "")
        # SQLite reads a database with a log beside it through files that it must be able to make. Where it cannot, and
        # no log is there, nobody is writing, and the file can be read as it stands.
        alone = not os.path.exists(f"{path}-wal") and not os.access(os.path.dirname(path), os.W_OK)
        query = {"mode": "ro", "uri": "true", **({"immutable": "1"} if alone else {})}
        return URL.create("sqlite", database=f"file:{_quoted(path)}", query=query)

    def make(self) -> None:
        """Have the tables made where they are not there, one process at a time; to be called first."""
        if self.path is not None and _is_pipe(self.path):
            raise StoreError(f"the database {self.name} cannot be used: it is a pipe and no file")
        if self.path is not None and not self.read_only:
            # SQLite gives the files beside it the rights of this one, and says what is wrong where it cannot be made.
            with suppress(OSError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with self._errors():
            with self._turn, no_fork(), self._reading_engine().begin() as connection:
                ready = self._ready(connection)
            if not ready and self.read_only:
                raise StoreError(f"the database {self.name} holds nothing of btm's that can be read")
            if not ready:
                with self._turn, self._begun() as connection:
                    if not self._is_sqlite:
                        connection.execute(
                            text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK}
                        )
                    self._prepare(connection)
        self._file, self._made = self._identity(), True

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path) if self.path else None
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found else None

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction that commits when the block ends, and rolls back when it raises.

        ``durable``: what it did is on the disk when it ends, and outlives a loss of power, not only of the process.
        Raises StoreError when the database cannot be used (locked, full, damaged, gone, opened to read), and SQLAlchemy's
        own errors for what is wrong with a statement or value.
        """
        if self.read_only:
            raise StoreError(f"the database {self.name} was opened to read, and cannot be written")
        self._look_after()
        with self._turn, self._errors(), self._begun(durable=durable) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: it sees one moment, waits for no writer and keeps none waiting.

        Raises as :meth:`transaction` does.
        """
        self._look_after()
        with self._turn, self._errors(), no_fork(), self._reading_engine().begin() as connection:
            yield connection

    def run_alone(self, statement: str) -> None:
        """Run a statement of a server's that takes no transaction. Raises StoreError when it cannot be run."""
        with self._errors(), self._engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text(statement))

    def _reading_engine(self) -> Engine:
        return self._engine.execution_options(btm_reads=True, postgresql_readonly=True)

    @contextmanager
    def _begun(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction that holds the write lock from its start, taken in turn with other writers."""
        engine = self._engine.execution_options(btm_durable=durable)
        until, pause = time.monotonic() + troubles.LOCK_WAIT_S, _FIRST_PAUSE_S
        while True:
            with no_fork(), engine.connect() as connection:
                try:
                    transaction = connection.begin()
                except OperationalError as error:
                    if not is_locked(error) or time.monotonic() >= until:
                        raise
                else:
                    with transaction:
                        yield connection
                    return
            time.sleep(troubles.SPREAD.uniform(0.5, 1.0) * pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)

    def _look_after(self) -> None:
        if self.in_memory:
            return  # a forked child has a copy of its own
        if self._pid != os.getpid():
            # The parent's connections must not be used, nor closed, here; kept, they are not collected either.
            self._inherited.append(self._engine)
            self._engine = self._connect()
            self._pid = os.getpid()
        if not self._made:  # it could not be used when it was opened
            self.make()
        elif self.path is not None and self._identity() != self._file:
            self._engine.dispose()  # a deleted file would go on taking writes that nobody can read
            self.make()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (DatabaseError, InterfaceError) as error:
            if isinstance(error, _OF_STATEMENTS):
                raise
            if self.path is not None and primary_code(error) == sqlite3.SQLITE_READONLY:
                # A connection that was opened while the file could not be written is one to read for good.
                self._engine.dispose()
            raise store_error(self.name, error, self.path) from error

    def close(self) -> None:
        """Let go of connections."""
        self._engine.dispose()


def copy_file(path: str, output: str) -> None:
    """Copy a SQLite file as it is at one moment, for its owner alone. Raises StoreError where it cannot."""
    try:
        os.close(os.open(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise StoreError(f"{output} cannot be written: {error.strerror}") from error
    try:
        with (
            closing(sqlite3.connect(path, timeout=5.0)) as source,
            closing(sqlite3.connect(output)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        os.unlink(output)
        raise StoreError(f"{path} cannot be copied to {output}: {error}") from error


def keep_to_owner(path: str) -> None:
    """Let nobody but its owner read or write a SQLite file and what lies beside it; another's is left as it is."""
    for name in (path, f"{path}-wal", f"{path}-shm"):
        with suppress(OSError):
            if stat.S_ISREG(os.stat(name).st_mode):
                os.chmod(name, 0o600)


def _is_pipe(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an INSERT of the database's own dialect, which knows ON CONFLICT."""
    return dialect_insert(connection.dialect.name, table)


def dialect_insert(dialect: str, table: Table) -> Any:
    """Return what :func:`insert_into` does, of a dialect by its name."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 40 ms that only its users need spend

    return postgresql.insert(table)


def insert_rows(connection: Connection, statement: Any, rows: Sequence[dict[str, Any]]) -> int:
    """Insert rows that have the same columns; return how many of them were not there or were changed."""
    if connection.dialect.name != "sqlite":
        return int(connection.execute(statement, rows).rowcount)
    # Values as SQLite has them, in the statement's order: to name and to convert each takes longer than to insert it.
    text, order, constant = _compiled(connection.dialect, statement, tuple(rows[0]))
    values = [order(constant | row) for row in rows] if constant else list(map(order, rows))
    return int(connection.exec_driver_sql(text, values).rowcount)


@lru_cache(maxsize=64)
def _compiled(
    dialect: Dialect, statement: Any, columns: tuple[str, ...]
) -> tuple[str, Callable[[dict[str, Any]], tuple[Any, ...]], dict[str, Any]]:
    """Return a statement as text, how a row is put in its order, and the values that are the same in every row."""
    compiled = statement.compile(dialect=dialect, column_keys=list(columns))
    constant = {key: value for key, value in compiled.params.items() if key not in columns}
    return compiled.string, itemgetter(*compiled.positiontup), constant


def is_locked(error: SQLAlchemyError) -> bool:
    """Whether a database could not be had because another connection writes it."""
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _quoted(path: str) -> str:
    """Return a path as SQLite's URI has it."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


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
        if url.drivername == "postgres":
            raise StoreError("write the database's URL as postgresql+psycopg://..., not as postgres://...")
        raise StoreError(f"btm keeps evidence in SQLite or PostgreSQL, not in {url.get_backend_name()}")
    return url


def _server_engine(url: URL, name: str) -> Engine:
    try:
        # A connection that went away while nobody used it is no failure: it is looked after before it is used.
        return create_engine(url, pool_pre_ping=True)
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


def _leave_transactions_to_us(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # they are begun by _begin, not by the driver


def _set_pragmas(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    # WAL with NORMAL keeps every committed transaction through kill -9 and does not stall readers.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()


def _begin(connection: Any) -> None:
    if connection.get_execution_options().get("btm_reads"):
        connection.exec_driver_sql("BEGIN")
        return
    # A transaction that reads before it writes must hold the write lock from the start, or two processes that upsert at
    # once can fail with "database is locked" instead of waiting for each other. Waiting is the caller's part.
    driver = connection.connection.driver_connection
    driver.execute("PRAGMA busy_timeout=0")
    durable = connection.get_execution_options().get("btm_durable")
    driver.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        driver.execute(f"PRAGMA busy_timeout={int(troubles.LOCK_WAIT_S * 1000)}")
