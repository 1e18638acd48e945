"""Older databases are brought to the present schema when they are opened to write, all in one transaction, after a copy."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from sqlalchemy import Connection, delete

from btm.errors import StoreError
from btm.store import hash_key, meta
from btm.store import schema as t
from btm.store.database import copy_file, keep_to_owner

_log = logging.getLogger("btm")

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
    if version < t.SCHEMA_VERSION and path is not None:
        _keep_copy(path, version)
    while version < t.SCHEMA_VERSION:
        _STEPS[version](connection, path)
        version += 1
    meta.state(connection, "schema_version", str(version))


def _keep_copy(path: str, version: int) -> None:
    """Keep a copy of an older database as it was, unless there is one. Another connection reads what is committed."""
    output = f"{path}.schema-{version}"
    if not os.path.exists(output):
        copy_file(path, output)
        _log.warning(
            "%s is brought to schema %d; as it was before it is kept in %s", path, t.SCHEMA_VERSION, output
        )


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
