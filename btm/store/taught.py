"""Rules that were taught, one a row of what a database states: few, small, and each written and undone by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import Connection, delete, select

from btm.model import ErrorKind
from btm.store import TaughtRule, meta
from btm.store import schema as t

_KEY = "taught:"
_MOST = 2_000
"""Rules of one database, at most: each is tried on every answer of its tool."""


def keep(connection: Connection, taught: TaughtRule) -> None:
    """Write one rule, in place of what was taught of the same texts. Raises ValueError when there are too many."""
    if len(rules(meta.read(connection))) >= _MOST:
        raise ValueError(f"{_MOST:,} rules are taught already; undo some first")
    meta.state(connection, _KEY + taught.name, json.dumps(taught[1:], ensure_ascii=False))


def forget(connection: Connection, name: str) -> bool:
    """Undo one rule; return whether it was there."""
    key = t.meta.c.key == _KEY + name
    if connection.execute(select(t.meta.c.key).where(key)).first() is None:
        return False
    connection.execute(delete(t.meta).where(key))
    return True


def rules(stated: Mapping[str, str]) -> tuple[TaughtRule, ...]:
    """Return the rules among what a database states, the oldest first."""
    found = []
    for key, value in stated.items():
        if key.startswith(_KEY):
            tool, pattern, kind, *rest = json.loads(value)
            known = ErrorKind(kind) if kind else None
            found.append(TaughtRule(key[len(_KEY) :], tool, pattern, known, *rest))
    return tuple(sorted(found, key=lambda each: (each.at, each.name)))
