"""A whole database as lines of JSON and back: from one kind of database to another, and for who wants to read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.exc import DataError, IntegrityError

from btm.errors import StoreError
from btm.store import hash_key, meta
from btm.store import schema as t
from btm.store.merging import made_whole
from btm.store.rows import KEY_COLUMNS, key_from
from btm.store.sql import SqlStore

_AT_ONCE = 500
_MOST = 2**63 - 1
_STATED = ("half_life_s", "landmark", "priors", meta.KEEP)
_TABLES = {table.name: table for table in t.metadata.sorted_tables if table is not t.meta}


def lines(store: SqlStore, *, with_key: bool = False) -> Iterator[bytes]:
    """Give a database line by line: what it states, its rows, and how many those are. ``with_key``: its hash key, too."""
    with store.database.reading() as connection, meta.as_written(store.where):
        stated = meta.read(connection)
        head: dict[str, Any] = {
            "btm": int(stated["schema_version"]),
            "stated": {key: stated[key] for key in _STATED if key in stated},
        }
        if with_key:
            head["hash_key"] = store.secret.hex()
        yield _line(head)
        number = 0
        for name, table in _TABLES.items():
            columns = [column.name for column in table.columns]
            yield _line({"table": name, "columns": columns})
            for row in connection.execution_options(yield_per=_AT_ONCE).execute(select(table)):
                number += 1
                yield _line(list(row))
        yield _line({"rows": number})


def _line(value: Any) -> bytes:
    # Python's own JSON: texts may hold lone surrogates.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def read_into(where: str, dumped: Iterable[bytes]) -> dict[str, int]:
    """Make a database of dumped lines, whole or not at all; return how many rows of which tables it has.

    Raises StoreError for what is no dump, with its line, and for a database that holds something already.
    """
    if "://" not in where and Path(where).exists():
        raise StoreError(f"the database {where} holds something already; name a new one")
    numbered = enumerate(dumped, 1)
    stated, key = _head(numbered)
    with made_whole(where) as place:
        if key is not None and "://" not in where:
            hash_key.keep_in_file(place, key)
        decay = meta.decay_of(stated)
        with closing(SqlStore(place, half_life_s=decay.half_life_s, now=decay.landmark)) as store:
            if key is not None and store.path is None:
                stated[hash_key.IN_DATABASE] = key.hex()
            return _fill(store, stated, numbered)


def _fill(store: SqlStore, stated: dict[str, str], numbered: Iterator[tuple[int, bytes]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    with store.database.transaction() as connection:
        for table in _TABLES.values():
            if connection.execute(select(table).limit(1)).first() is not None:
                raise StoreError(f"the database {store.where} holds something already; name a new one")
        for name, value in stated.items():
            meta.state(connection, name, value)
        for name, rows in groupby(_rows(numbered), key=itemgetter(0)):
            while part := [row for _, row in islice(rows, _AT_ONCE)]:
                try:
                    connection.execute(insert(_TABLES[name]), part)
                except (IntegrityError, DataError) as error:
                    raise StoreError(f"the table {name} does not take these rows: {error.orig}") from error
                counts[name] = counts.get(name, 0) + len(part)
    return counts


def _head(numbered: Iterator[tuple[int, bytes]]) -> tuple[dict[str, str], bytes | None]:
    """Return what the dumped database states, and its hash key if it is there."""
    for number, line in numbered:
        match _parsed(number, line):
            case {"btm": int(version), "stated": dict(stated)} as head:
                pass
            case _:
                raise StoreError(f"line {number} is not how 'btm db export' begins")
        if version != t.SCHEMA_VERSION:
            cure = "open the database itself with this btm, then export it again"
            raise StoreError(
                f"this was exported from schema {version}, and this btm has {t.SCHEMA_VERSION}: "
                + (cure if version < t.SCHEMA_VERSION else "use a newer btm")
            )
        try:
            stated = {name: str(stated[name]) for name in _STATED if name in stated}
            for read in (meta.decay_of, meta.priors_of, meta.kept_s):
                read(stated)
            return stated, bytes.fromhex(head["hash_key"]) if "hash_key" in head else None
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"line {number} states what no database of btm's does: {error}") from error
    raise StoreError("there is nothing in it")


def _rows(numbered: Iterator[tuple[int, bytes]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give each row with the name of its table."""
    name, given, columns = "", 0, list[str]()
    for number, line in numbered:
        match _parsed(number, line):
            case {"rows": rows}:
                if rows != given:
                    raise StoreError(f"line {number} says that {rows} rows stand before it, and {given} do")
                return
            case {"table": str(name), "columns": list(columns)} if name in _TABLES:
                if {*columns} != {*_TABLES[name].columns.keys()}:
                    raise StoreError(f"line {number} names other columns than {name} has")
            case {}:
                raise StoreError(f"line {number} names no table of btm's")
            case list(values) if name and len(values) == len(columns):
                given += 1
                yield name, _checked(number, name, dict(zip(columns, values, strict=True)))
            case _:
                raise StoreError(f"line {number} is no row of {len(columns)} values")
    raise StoreError("it ends in the middle: the line is missing that says how many rows there are")


def _checked(number: int, name: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row, if its values are what its table holds. Raises StoreError, with its line, if not."""
    for column in _TABLES[name].columns:
        value, wanted = row[column.name], column.type.python_type
        if value is None and column.nullable:
            continue
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise StoreError(f"line {number}: {column.name} is no {wanted.__name__}, but {value!r:.80}")
        if isinstance(value, int | float) and not -_MOST <= value <= _MOST:
            raise StoreError(f"line {number}: {column.name} is beyond all that btm writes: {value!r:.80}")
    if {*KEY_COLUMNS} <= row.keys():
        try:
            key_from(*(row[column] for column in KEY_COLUMNS))
        except ValueError as error:
            raise StoreError(f"line {number}: {error}") from error
    return row


def _parsed(number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"line {number} is not JSON: {error}") from error
