"""Taking things out of a database for good, as functions of a connection: a tool, a conversation, what is old."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, func, or_, select

from btm.learning.posterior import Decay
from btm.store import IntentState, additions, meta
from btm.store import schema as t
from btm.store.rows import KEY_COLUMNS, attempt, name, sums

Removed = Mapping[str, int]
"""How many rows of each table were removed; tables of which none was are left out."""

KEPT_IN_MEMORY = 50_000
"""The latest calls that a database in this process's memory keeps, with what belongs to them: about 40 MB."""

_PRECISE = 1e-9  # of a sum: what is left below that, when all of it is taken out, is rounding
_SETTLED = tuple(state for state in IntentState if state.settled)


def tool(connection: Connection, which: str) -> Removed:
    """Remove all that names a tool: its calls, what was learned of it, and what was learned of it as a substitute."""
    named = name(which)

    def among(table: Table) -> ColumnElement[bool]:
        own: ColumnElement[bool] = table.c.tool == named
        if "target" not in table.c:
            return own
        chain = table.c.target
        end = [
            chain == named,
            chain.startswith(f"{named} > ", autoescape=True),
            chain.endswith(f" > {named}", autoescape=True),
            chain.contains(f" > {named} > ", autoescape=True),
        ]
        return or_(own, *end)

    return _removed(
        connection, {x: among(x) for x in (t.calls, t.incidents, t.attempts, t.evidence, t.shapes, t.intents)}
    )


def conversation(connection: Connection, which: str, decay: Decay) -> Removed:
    """Remove a conversation's calls, and what they taught from the sums.

    What ``btm fit`` learned from a log is in sums only, and stays: nothing there names a conversation.
    """
    mine = {x: x.c.conversation == name(which) for x in (t.calls, t.incidents, t.attempts, t.intents)}
    found = [attempt(row) for row in connection.execute(select(t.attempts).where(mine[t.attempts]))]
    lessons = sums(
        (a.key, decay.weight(a.at) * a.success, decay.weight(a.at) * (not a.success)) for a in found
    )
    for row in lessons:
        row |= {"successes": -row["successes"], "failures": -row["failures"]}
    additions.add_evidence(connection, lessons)
    nothing = t.evidence.c.successes + t.evidence.c.failures <= bindparam("rounding")
    key = (t.evidence.c[column] == bindparam(f"{column}_") for column in KEY_COLUMNS)
    left = [
        {
            **{f"{column}_": row[column] for column in KEY_COLUMNS},
            "rounding": -_PRECISE * (row["successes"] + row["failures"]),
        }
        for row in lessons
    ]
    if left:
        connection.execute(delete(t.evidence).where(*key, nothing), left)
    return _removed(connection, mine)


def old(connection: Connection, now: float) -> Removed:
    """Remove what is older than the database keeps it, at ``now`` (epoch seconds).

    A clock that is far ahead removes nothing: ages are counted from the latest call, if that is earlier.
    """
    seconds = meta.kept_s(meta.read(connection))
    latest = connection.execute(select(func.max(t.calls.c.ended_at))).scalar()
    if seconds is None or latest is None:
        return {}
    meta.state(connection, meta.PRUNED, repr(now))
    return before(connection, min(now, float(latest)) - seconds)


def before(connection: Connection, moment: float) -> Removed:
    """Remove the calls, incidents and attempts of before ``moment`` (epoch seconds). What they taught stays.

    A write of which it is not known whether it happened is kept however old it is.
    """
    return _removed(
        connection,
        {
            t.calls: t.calls.c.ended_at < moment,
            t.incidents: t.incidents.c.opened_at < moment,
            t.attempts: t.attempts.c.at < moment,
            t.intents: and_(t.intents.c.at < moment, t.intents.c.state.in_(_SETTLED)),
        },
    )


class LatestCalls:
    """Keeps the log of a database in this process's memory from growing: the latest calls stay, and all sums."""

    def __init__(self) -> None:
        self._new = 0

    def keep(self, connection: Connection, new: int) -> None:
        """Note that ``new`` calls were written, and remove what is older than the latest now and then."""
        self._new += new
        if self._new < KEPT_IN_MEMORY // 10:
            return
        self._new = 0
        ends = t.calls.c.ended_at
        oldest = connection.execute(
            select(ends).order_by(ends.desc()).offset(KEPT_IN_MEMORY - 1).limit(1)
        ).scalar()
        if oldest is not None:
            before(connection, float(oldest))


def _removed(connection: Connection, which: Mapping[Table, ColumnElement[bool]]) -> Removed:
    found = {
        table.name: connection.execute(delete(table).where(rows)).rowcount for table, rows in which.items()
    }
    return {table: number for table, number in found.items() if number}
