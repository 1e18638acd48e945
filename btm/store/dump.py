"""A whole database as lines of JSON and back: from one kind of database to another, and for who wants to read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from sqlalchemy import insert, select

from btm.errors import StoreError
from btm.store import hash_key, meta
from btm.store import schema as t
from btm.store.database import MEMORY
from btm.store.sql import SqlStore

_AT_ONCE = 500
_STATED = ("half_life_s", "landmark", "priors", meta.KEEP)
_TABLES = {table.name: table for table in t.metadata.sorted_tables if table is not t.meta}


def lines(store: SqlStore, *, with_key: bool = False) -> Iterator[bytes]:
    """Give a database line by line: first what it states, then its rows. ``with_key``: its hash key, too."""
    with store.database.reading() as connection, meta.as_written(store.where):
        stated = meta.read(connection)
        head: dict[str, Any] = {
            "btm": int(stated["schema_version"]),
            "stated": {key: stated[key] for key in _STATED if key in stated},
        }
        if with_key:
            head["hash_key"] = store.secret.hex()
        yield _line(head)
        for name, table in _TABLES.items():
            columns = [column.name for column in table.columns]
            yield _line({"table": name, "columns": columns})
            for row in connection.execution_options(yield_per=_AT_ONCE).execute(select(table)):
                yield _line(list(row))


def _line(value: Any) -> bytes:
    # Python's own JSON: texts may hold lone surrogates.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def read_into(where: str, dumped: Iterable[bytes]) -> dict[str, int]:
    """Make a database of dumped lines; return how many rows of which tables it has.

    Raises StoreError for what is no dump, with its line, and for a database that holds something already.
    """
    numbered = enumerate(dumped, 1)
    head = _head(numbered)
    stated = head["stated"]
    key = bytes.fromhex(head["hash_key"]) if "hash_key" in head else None
    half_life_s, landmark = float(stated["half_life_s"]), float(stated["landmark"])
    if key is not None and "://" not in where and where != MEMORY:
        hash_key.keep_in_file(where, key)
    store = SqlStore(where, half_life_s=half_life_s, now=landmark)
    counts: dict[str, int] = {}
    try:
        with store.database.transaction() as connection:
            for table in _TABLES.values():
                if connection.execute(select(table).limit(1)).first() is not None:
                    raise StoreError(f"the database {store.where} holds something already; name a new one")
            for name, value in stated.items():
                meta.state(connection, name, value)
            if key is not None and store.path is None:
                meta.state(connection, hash_key.IN_DATABASE, key.hex())
            for name, rows in groupby(_rows(numbered), key=itemgetter(0)):
                while part := [row for _, row in islice(rows, _AT_ONCE)]:
                    connection.execute(insert(_TABLES[name]), part)
                    counts[name] = counts.get(name, 0) + len(part)
    finally:
        store.close()
    return counts


def _head(numbered: Iterator[tuple[int, bytes]]) -> dict[str, Any]:
    for number, line in numbered:
        head = _parsed(number, line)
        if not isinstance(head, dict) or "btm" not in head or "stated" not in head:
            raise StoreError(f"line {number} is not how 'btm db export' begins")
        if head["btm"] != t.SCHEMA_VERSION:
            raise StoreError(
                f"this was exported from schema {head['btm']}, and this btm has {t.SCHEMA_VERSION}: "
                "open the database itself with this btm, then export it again"
            )
        return head
    raise StoreError("there is nothing in it")


def _rows(numbered: Iterator[tuple[int, bytes]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each row with the name of its table."""
    name, columns = "", []
    for number, line in numbered:
        value = _parsed(number, line)
        if isinstance(value, dict):
            name, columns = value.get("table", ""), value.get("columns", [])
            if name not in _TABLES:
                raise StoreError(f"line {number} names no table of btm's")
        elif not name or not isinstance(value, list) or len(value) != len(columns):
            raise StoreError(f"line {number} is no row of {len(columns)} values")
        else:
            yield name, dict(zip(columns, value, strict=True))


def _parsed(number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise StoreError(f"line {number} is not JSON: {error}") from error
