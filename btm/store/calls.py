"""Putting calls into their table: each once, and under a name that no other call has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, select, tuple_

from btm.store import CallEvent
from btm.store import schema as t
from btm.store.database import dialect_insert, insert_rows
from btm.store.rows import call_row, name
from btm.support.call_ids import name_beside

_IDENTITY = itemgetter("conversation", "call_id")
_AT_ONCE = 500


def insert_calls(
    connection: Connection, calls: Sequence[CallEvent]
) -> tuple[dict[int, CallEvent], list[CallEvent]]:
    """Insert calls that are not there yet; return them by the ``id()`` of their events, and the others.

    A call whose id was another's (an earlier process's: it had another tool or other arguments) goes by a name of
    its own.
    """
    fresh: dict[int, CallEvent] = {}
    left = _insert_new(connection, {id(item): item for item in calls}, fresh)
    others = _renamed(left, _fingerprints(connection, left.values())) if left else {}
    copies = left.keys() - others.keys() | _insert_new(connection, others, fresh).keys()
    return fresh, [item for item in calls if id(item) in copies]


def _insert_new(
    connection: Connection, calls: dict[int, CallEvent], fresh: dict[int, CallEvent]
) -> dict[int, CallEvent]:
    """Insert calls whose names are not taken, and add them to ``fresh``; return those that were left."""
    if not calls:
        return {}
    rows = [call_row(item) for item in calls.values()]
    if _all_new(connection, rows):
        fresh |= calls
        return {}
    written = connection.execute(
        _adding(connection.dialect.name).returning(t.calls.c.conversation, t.calls.c.call_id),
        sorted(rows, key=_IDENTITY),
    )
    inserted = {(row.conversation, row.call_id) for row in written}
    left: dict[int, CallEvent] = {}
    for row, (number, item) in zip(rows, calls.items(), strict=True):
        identity = (row["conversation"], row["call_id"])
        if identity in inserted:
            inserted.discard(identity)  # a second event with this id in the same batch is no new one
            fresh[number] = item
        else:
            left[number] = item
    return left


def _all_new(connection: Connection, rows: list[dict[str, Any]]) -> bool:
    """Insert calls if none of them is there; return whether that is so, as it is nearly always.

    To be told which were there takes several times as long as to insert them.
    """
    point = connection.begin_nested()
    dialect = connection.dialect.name
    ordered = sorted(rows, key=_IDENTITY) if dialect != "sqlite" else rows
    if insert_rows(connection, _adding(dialect), ordered) == len(rows):
        point.commit()
        return True
    point.rollback()
    return False


@lru_cache(maxsize=8)  # one for each sort of database
def _adding(dialect: str) -> Any:
    """Return the statement that adds calls, but for those that are there."""
    return dialect_insert(dialect, t.calls).on_conflict_do_nothing()


def _fingerprints(connection: Connection, calls: Iterable[CallEvent]) -> dict[tuple[str, str], str]:
    """Return the fingerprints under which the names of these calls are taken."""
    names = iter(sorted({(name(e.call.conversation), name(e.call.call_id)) for e in calls}))
    columns = (t.calls.c.conversation, t.calls.c.call_id, t.calls.c.fingerprint)
    found: dict[tuple[str, str], str] = {}
    while part := list(islice(names, _AT_ONCE)):
        where = tuple_(t.calls.c.conversation, t.calls.c.call_id).in_(part)
        found |= {(r[0], r[1]): r[2] for r in connection.execute(select(*columns).where(where))}
    return found


def _renamed(calls: dict[int, CallEvent], taken: dict[tuple[str, str], str]) -> dict[int, CallEvent]:
    """Return the calls that are others than those whose names they came with, under names of their own."""
    found: dict[int, CallEvent] = {}
    for number, item in calls.items():
        call = item.call
        taken_by = taken[name(call.conversation), name(call.call_id)]
        call_id = name_beside(call.call_id, item.fingerprint, taken_by)
        if call_id != call.call_id:
            attempts = tuple(replace(a, call_id=call_id) for a in item.attempts)
            found[number] = item._replace(call=replace(call, call_id=call_id), attempts=attempts)
    return found
