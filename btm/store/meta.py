"""What a database states about itself: its schema, its key, how evidence in it is forgotten and what it is fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, inspect, select, update

from btm.errors import DatabaseFailedError, StoreError
from btm.learning.posterior import Decay, Priors
from btm.store import schema as t
from btm.store.database import insert_into

DEFAULT_HALF_LIFE_S = 14 * 86_400.0
"""Evidence counts half after fourteen days, unless the database says otherwise: see `btm regret` for what it costs."""


@contextmanager
def as_written(where: str) -> Iterator[None]:
    """Raise StoreError for values that no btm writes: another program has been at the file."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as problem:
        raise DatabaseFailedError(f"{where} holds what btm cannot read: {problem}") from problem


def seconds(half_life_s: Any) -> float:
    """Return a half-life as it is written. Raises TypeError for what is no number, ValueError if it is not positive."""
    if isinstance(half_life_s, bool) or not isinstance(half_life_s, Real):
        raise TypeError(f"half_life_s is a number of seconds, or math.inf for never, not {half_life_s!r}")
    try:
        seconds = float(half_life_s)
    except OverflowError as error:
        raise ValueError(
            "half_life_s is beyond every number of seconds; math.inf stands for never"
        ) from error
    if not seconds > 0.0:
        raise ValueError(f"half_life_s is a positive number of seconds, not {half_life_s!r}")
    return seconds


class RequestedMeta(NamedTuple):
    """What a new database is to state. An old one must state the same half-life; None takes what it states."""

    half_life_s: float | None
    landmark: float


def agree(connection: Connection, asked: RequestedMeta) -> dict[str, str]:
    """Have a new database state what is asked, and an old one move its landmark when that is due.

    Return what it states. Raises StoreError as :func:`checked` does.
    """
    defaults = {
        "schema_version": str(t.SCHEMA_VERSION),
        "half_life_s": repr(DEFAULT_HALF_LIFE_S if asked.half_life_s is None else asked.half_life_s),
        "landmark": repr(asked.landmark),
    }
    rows = [{"key": key, "value": value} for key, value in defaults.items()]
    connection.execute(insert_into(connection, t.meta).on_conflict_do_nothing(), rows)
    with as_written("the database"):
        current_decay(connection, asked.landmark)
    return checked(read(connection), asked)


def checked(stated: dict[str, str], asked: RequestedMeta) -> dict[str, str]:
    """Return what a database states, if it is what is asked.

    Raises StoreError for another half-life than the one asked for, and for what no btm states.
    """
    with as_written("the database"):
        half_life_s = decay_of(stated).half_life_s
    if asked.half_life_s is not None and half_life_s != asked.half_life_s:
        raise StoreError(
            f"the database {pace(half_life_s)} (a half-life of {stated['half_life_s']} s), and not "
            f"as half_life_s={asked.half_life_s!r} has it; "
            "open it without half_life_s, or fit a new database"
        )
    return stated


def is_stated(connection: Connection) -> bool:
    """Whether a database states its schema: else it is new, or another program's."""
    return inspect(connection).has_table(t.meta.name) and "schema_version" in read(connection)


def read(connection: Connection) -> dict[str, str]:
    """Return everything that is stated."""
    return {row.key: row.value for row in connection.execute(select(t.meta))}


def state(connection: Connection, key: str, value: str) -> None:
    """State something, in place of what was stated of it."""
    statement = insert_into(connection, t.meta).values(key=key, value=value)
    connection.execute(
        statement.on_conflict_do_update(index_elements=["key"], set_={"value": statement.excluded.value})
    )


def decay_of(stated: dict[str, str]) -> Decay:
    """Return how evidence is forgotten. Raises ValueError for what cannot be: no btm has written it."""
    decay = Decay(float(stated["half_life_s"]), float(stated["landmark"]))
    if not (decay.half_life_s > 0.0 and math.isfinite(decay.landmark)):
        raise ValueError(f"a half-life of {stated['half_life_s']} s, counted from {stated['landmark']}")
    return decay


def pace(half_life_s: float) -> str:
    """Return how fast a database forgets, in words."""
    if math.isinf(half_life_s):
        return "never forgets"
    return f"forgets half in {half_life_s / 86_400.0:.6g} days"


def current_decay(connection: Connection, now: float | None = None) -> Decay:
    """Return how evidence is forgotten. Given the time, move the landmark when that is due, and hold it where it is.

    Whoever is about to add weights gives the time: until its transaction ends, the landmark under which it weighed stays.
    """
    if now is None:
        return decay_of(read(connection))
    # Who moves the landmark asks for it alone from the start: two that hold it together would wait for each other.
    decay = _held_decay(connection, alone=decay_of(read(connection)).overdue(now))
    return _rebase(connection, decay, now) if decay.overdue(now) else decay


def start_forgetting(connection: Connection, now: float) -> bool:
    """Have a database that holds what was fitted from logs, and nothing lived through, forget from now on.

    Logs are fitted without a half-life, each conversation as much as any other; what goes live must see tools change.
    Weights stay as they are: one of now is 1. Return whether that was due.
    """
    if not is_of_logs_alone(connection):
        return False
    state(connection, "half_life_s", repr(DEFAULT_HALF_LIFE_S))
    state(connection, "landmark", repr(now))
    return True


def live_notice(half_life_s: float) -> str:
    """Say what :func:`start_forgetting` has done."""
    return (
        f"was fitted from logs and is used live: from now on it {pace(half_life_s)} "
        "(half_life_s=math.inf keeps it for good)"
    )


def is_of_logs_alone(connection: Connection) -> bool:
    """Whether a database forgets nothing and holds what was fitted from logs, but nothing lived through."""
    if not math.isinf(decay_of(read(connection)).half_life_s):
        return False
    lived = connection.execute(select(t.calls.c.call_id).limit(1)).first() is not None
    fitted = connection.execute(select(t.fitted.c.digest).limit(1)).first() is not None
    return fitted and not lived


def _held_decay(connection: Connection, *, alone: bool) -> Decay:
    # SQLite knows no locks of rows, and its writers come one at a time anyway.
    held = select(t.meta).where(t.meta.c.key == "landmark").with_for_update(read=not alone)
    connection.execute(held).all()
    return decay_of(read(connection))


def _rebase(connection: Connection, decay: Decay, now: float) -> Decay:
    """Move the landmark to ``now``, so that weights stay far from overflow; beliefs do not change."""
    scale = decay.scale(now)
    connection.execute(
        update(t.evidence).values(
            successes=t.evidence.c.successes * scale, failures=t.evidence.c.failures * scale
        )
    )
    state(connection, "landmark", repr(now))
    return Decay(decay.half_life_s, now)


KEEP, PRUNED = "keep_s", "pruned_at"
"""What a database states as the age from which calls and attempts are removed, and when they last were."""


def kept_s(stated: dict[str, str]) -> float | None:
    """Return how long calls and attempts are kept, in seconds; None: for ever."""
    return seconds(float(stated[KEEP])) if stated.get(KEEP) else None


def is_prune_due(stated: dict[str, str], now: float) -> bool:
    """Whether it is a day since what is older than it is kept was last removed."""
    return bool(stated.get(KEEP)) and not 0.0 <= now - float(stated.get(PRUNED) or 0.0) < 86_400.0


def save_priors(connection: Connection, priors: Priors) -> None:
    """State the priors that were fitted."""
    document = {
        "strengths": list(priors.strengths),
        "means": [[*level, mean] for level, mean in sorted(priors.means.items())],
    }
    state(connection, "priors", orjson.dumps(document).decode())


def priors_of(stated: dict[str, str]) -> Priors:
    """Return the priors that were fitted, or those that btm starts from."""
    if "priors" not in stated:
        return Priors()
    document = orjson.loads(stated["priors"])
    first, second, third = map(float, document["strengths"])
    if not (first > 0.0 and second > 0.0 and third > 0.0):
        raise ValueError("priors of no strength")
    return Priors((first, second, third), {tuple(row[:-1]): float(row[-1]) for row in document["means"]})
