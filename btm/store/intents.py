"""Writes that are noted before they run, as functions of a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, text, update

from btm.model import Effect, ErrorKind
from btm.store import CallEvent, Intent, IntentState
from btm.store import schema as t
from btm.store.database import insert_into
from btm.store.rows import name

_UNSETTLED = tuple(state for state in IntentState if not state.settled)
_SAME = (t.intents.c.conversation == bindparam("in_"), t.intents.c.call_id == bindparam("id_"))


def unsettled(connection: Connection, conversation: str) -> list[Intent]:
    """Return a conversation's writes of which it is not known whether they happened, oldest first."""
    found = select(t.intents).where(
        t.intents.c.conversation == name(conversation), t.intents.c.state.in_(_UNSETTLED)
    )
    return [_intent(row) for row in connection.execute(found.order_by(t.intents.c.at))]


def claim(connection: Connection, intent: Intent, blocks: Callable[[Intent], bool]) -> Intent | None:
    """Note a write, unless one that is there blocks it: return that one."""
    if connection.dialect.name != "sqlite":
        # SQLite's writers come one at a time; here those of one conversation do.
        digest = blake2b(name(intent.conversation).encode(), digest_size=7).digest()
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": int.from_bytes(digest, "big")})
    same = select(t.intents).where(
        t.intents.c.conversation == name(intent.conversation), t.intents.c.call_id == name(intent.call_id)
    )
    others = unsettled(connection, intent.conversation)
    known = [*map(_intent, connection.execute(same)), *others]
    found = next((other for other in known if blocks(other)), None)
    if found is None:
        row = _row(intent)
        statement = insert_into(connection, t.intents).values(row)
        connection.execute(
            statement.on_conflict_do_update(index_elements=["conversation", "call_id"], set_=row)
        )
    return found


def put(connection: Connection, intents: Iterable[Intent]) -> None:
    """Note writes that begin, and how others stand, in this order."""
    for intent in intents:
        if intent.state is IntentState.BEGUN:
            statement = insert_into(connection, t.intents).on_conflict_do_nothing()
            connection.execute(statement, [_row(intent)])
        else:
            _end(connection, [(intent.conversation, intent.call_id, intent.state, intent.kind)])


def end(connection: Connection, events: Iterable[CallEvent]) -> None:
    """Note how writes ended."""
    _end(
        connection,
        [
            (e.call.conversation, e.call.call_id, _state(e), e.outcome.kind)
            for e in events
            if e.call.effect is Effect.WRITE
        ],
    )


def _state(event: CallEvent) -> IntentState:
    if event.outcome.ok:
        return IntentState.DONE
    return IntentState.DOUBT if event.outcome.ambiguous else IntentState.NOT_DONE


def _end(connection: Connection, ended: list[tuple[str, str, IntentState, ErrorKind | None]]) -> None:
    settled = [{"in_": name(c), "id_": name(i)} for c, i, state, _ in ended if state.settled]
    if settled:  # what is settled needs no row, but for replays of what must not be done twice
        connection.execute(delete(t.intents).where(*_SAME, t.intents.c.keep.is_(False)), settled)
    rows = [{"in_": name(c), "id_": name(i), "to": s, "as_": kind} for c, i, s, kind in ended]
    if rows:
        changed = update(t.intents).where(*_SAME, t.intents.c.state.in_(_UNSETTLED))
        connection.execute(changed.values(state=bindparam("to"), kind=bindparam("as_")), rows)


def _row(intent: Intent) -> dict[str, Any]:
    return {
        **intent._asdict(),
        "conversation": name(intent.conversation),
        "call_id": name(intent.call_id),
        "tool": name(intent.tool),
        "owner": name(intent.owner),
    }


def _intent(row: Any) -> Intent:
    found = Intent(**row._mapping)
    kind = None if found.kind is None else ErrorKind(found.kind)
    return found._replace(state=IntentState(found.state), kind=kind)
