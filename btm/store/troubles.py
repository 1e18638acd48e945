"""What is wrong with a database that cannot be used, and what to do about it."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from btm.errors import DatabaseFailedError, DatabaseUnavailableError, StoreError

LOCK_WAIT_S = 5.0
"""How long a SQLite database is waited for while another process writes it. A write of btm's own takes milliseconds;
what holds it longer is waited for elsewhere: the writer's events stay in memory and are tried again."""

SPREAD = random.SystemRandom()
"""Spreads waits, so that writers do not come at once again. An application may have seeded the module's own generator."""

_CURES = {
    sqlite3.SQLITE_BUSY: (
        f"another process kept it for more than {LOCK_WAIT_S:g} s; try again when that is done, or give each process a "
        "file of its own and add them up with 'btm merge'"
    ),
    sqlite3.SQLITE_READONLY: (
        "btm writes what it learns: make the file and its folder writable, or copy it to where they are"
    ),
    sqlite3.SQLITE_IOERR: "the disk failed; look at its health, and at what is mounted there",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a copy, or move it away and a new one is made",
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_CANTOPEN: "the file and its folder must be readable and writable",
    sqlite3.SQLITE_NOTADB: "it is a file of another kind; name another, and a new database is made",
    sqlite3.SQLITE_ERROR: "another program may have made it; name another, and a new database is made",
}
_CURES[sqlite3.SQLITE_LOCKED] = _CURES[sqlite3.SQLITE_BUSY]


def store_error(name: str, error: SQLAlchemyError, path: str | None = None) -> StoreError:
    """Return the error to raise: the database's name, the driver's own words, and the cure where one is known.

    ``path`` is that of a SQLite file.
    """
    cure = _cure(error, path)
    # A name that cannot be that of a file is a slip of whoever opens it, and no failure of a database.
    slip = path is not None and (Path(path).is_dir() or not Path(path).parent.is_dir())
    failed = DatabaseUnavailableError if _passes(error, path) else DatabaseFailedError
    return (StoreError if slip else failed)(
        f"the database {name} cannot be used: {cause(error)}{f'; {cure}' if cure else ''}"
    )


def _passes(error: SQLAlchemyError, path: str | None) -> bool:
    """Whether what is wrong may be right later, without anything being done about the database."""
    if path is None:  # a server: there is no connection, or it was lost
        return isinstance(error, OperationalError | InterfaceError)
    return primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def cause(error: SQLAlchemyError) -> str:
    """Return the driver's own words: SQLAlchemy's text would add the statement and a link."""
    return str(getattr(error, "orig", None) or error)


def primary_code(error: SQLAlchemyError) -> int | None:
    """Return SQLite's own code of an error, without what an extended one says beyond it; None for other databases."""
    code: int | None = getattr(getattr(error, "orig", None), "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _cure(error: SQLAlchemyError, path: str | None) -> str:
    primary = primary_code(error)
    if primary is None:
        return ""
    if primary == sqlite3.SQLITE_CANTOPEN and path is not None:
        if Path(path).is_dir():
            return "it is a folder; name a file in it"
        if not Path(path).parent.is_dir():
            return "its folder is not there; make it first"
    return _CURES.get(primary, "")
