"""Older databases are brought to the present schema when they are opened to write, all in one transaction."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, delete

from btm.errors import StoreError
from btm.store import hash_key, meta
from btm.store import schema as t
from btm.store.database import keep_to_owner

OLDEST = 1
"""The oldest schema that is still read."""


def version_of(stated: dict[str, str]) -> int:
    """Return a database's schema version. Raises StoreError for one that this btm does not read."""
    version = stated.get("schema_version", "")
    if not version.isdecimal() or not OLDEST <= int(version) <= t.SCHEMA_VERSION:
        raise StoreError(
            f"the database has schema version {version or 'none'}; this btm reads {OLDEST} to {t.SCHEMA_VERSION}: "
            "use a newer btm, or name another database"
        )
    return int(version)


def migrate(connection: Connection, path: str | None) -> None:
    """Bring a database to the present schema. ``path`` is that of a SQLite file."""
    version = version_of(meta.read(connection))
    while version < t.SCHEMA_VERSION:
        _STEPS[version](connection, path)
        version += 1
    meta.state(connection, "schema_version", str(version))


def _to_2(connection: Connection, path: str | None) -> None:
    """Writes are noted before they run; one key's attempts are found in order; the hash key leaves the file."""
    t.intents.create(connection, checkfirst=True)
    for index in (*t.attempts.indexes, *t.incidents.indexes):
        index.create(connection, checkfirst=True)
    if path is None:
        return
    key = meta.read(connection).get(hash_key.IN_DATABASE)
    if key is not None:
        with meta.as_written("the database"):
            hash_key.keep_in_file(path, bytes.fromhex(key))
        connection.exec_driver_sql("PRAGMA secure_delete=1")
        connection.execute(delete(t.meta).where(t.meta.c.key == hash_key.IN_DATABASE))
    keep_to_owner(path)


_STEPS: dict[int, Callable[[Connection, str | None], None]] = {1: _to_2}
