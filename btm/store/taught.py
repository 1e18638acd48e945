"""Rules that were taught, one a row of what a database states: few, small, and each written and undone by itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete

from btm.model import ErrorKind
from btm.store import PERSON, TaughtRule, meta
from btm.store import schema as t

_KEY = "taught:"
_MOST, _MOST_OF_MODELS = 4_000, 2_000

_log = logging.getLogger("btm")


def keep(connection: Connection, taught: TaughtRule) -> None:
    """Write one rule, in place of what was taught of the same answers; a model's never in place of a person's.

    Raises ValueError when there are too many: 2,000 of models, or 4,000.
    """
    known = {rule.name: rule for rule in rules(meta.read(connection))}
    before = known.get(taught.name)
    if before is not None and before.by_person and not taught.by_person:
        return
    most = _MOST if taught.by_person else _MOST_OF_MODELS
    if before is None and len(known) >= most:
        raise ValueError(f"{most:,} rules are taught already; undo some first")
    _write(connection, taught)


def forget(connection: Connection, name: str) -> bool:
    """Undo one rule; return whether it was there. What a model said is then a person's word that nothing was said."""
    known = {rule.name: rule for rule in rules(meta.read(connection))}
    rule = known.get(name)
    if rule is None:
        return False
    if rule.by_person:
        connection.execute(delete(t.meta).where(t.meta.c.key == _KEY + name))
    else:
        _write(connection, rule._replace(kind=None, source=PERSON, as_it_was=True))
    return True


def _write(connection: Connection, rule: TaughtRule) -> None:
    meta.state(connection, _KEY + rule.name, json.dumps(rule._asdict(), ensure_ascii=False))


def rules(stated: Mapping[str, str]) -> tuple[TaughtRule, ...]:
    """Return the rules among what a database states, the oldest first; one of another form is left out and told of."""
    found = []
    for key, value in stated.items():
        if key.startswith(_KEY):
            try:
                found.append(_read(json.loads(value)))
            except (TypeError, ValueError, KeyError):
                _log.warning(
                    "what was taught as %s is not in a form that this btm reads; it has no effect", key
                )
    return tuple(sorted(found, key=lambda each: (each.at, each.name)))


def _read(row: dict[str, Any]) -> TaughtRule:
    kind = ErrorKind(row["kind"]) if row["kind"] else None
    return TaughtRule(**{**row, "kind": kind, "at": float(row["at"])})
