"""Writes that answered well, until a read shows whether they happened: some services say yes and do nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from btm.learning.matching import Ticket
from btm.learning.relations import Relations, VerifyingRead
from btm.model import Attempt, Effect, ErrorKind, Outcome, ToolCall

_MOST = 20


@dataclass(frozen=True, slots=True)
class DoneWrite:
    """A write that said it was done, the read that shows it, and the attempts as which it counted.

    ``begun`` is its number, ``ended_at`` that of the call begun last when it ended.
    """

    call: ToolCall
    fingerprint: str
    begun: int
    ended_at: int
    check: VerifyingRead
    attempts: tuple[Attempt, ...] = ()


class DoneWrites:
    """The latest such writes of one conversation. Not thread-safe: its owner holds the lock."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._kept: deque[DoneWrite] = deque(maxlen=_MOST)
        self._begun: deque[tuple[int, VerifyingRead]] = deque(maxlen=_MOST)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def keeps(self, call: ToolCall) -> bool:
        """Whether a call is a write of which a read shows something, and is to be told here where it answers well."""
        return call.effect is Effect.WRITE and self._relations.shown_by(call) is not None

    def begin(self, call: ToolCall, number: int) -> None:
        """Take in that a write begins: what a read shows from then on can be its doing."""
        check = self._relations.shown_by(call) if call.effect is Effect.WRITE else None
        if check is not None:
            self._begun.append((number, check))

    def keep(self, ticket: Ticket, ended_at: int, attempts: Iterable[Attempt] = ()) -> None:
        """Take in a write that answered well, if the map says what shows that it happened.

        A later write about the same thing may rightly leave it otherwise: earlier ones are let go.
        """
        check = self._relations.shown_by(ticket.call)
        if check is None:
            return
        same = [write for write in self._kept if write.check[:2] == check[:2]]
        if any(write.begun > ticket.sequence for write in same):
            return
        for write in same:
            self._kept.remove(write)
        if check.tells:
            self._kept.append(
                DoneWrite(ticket.call, ticket.fingerprint, ticket.sequence, ended_at, check, tuple(attempts))
            )

    def undone(self, call: ToolCall, begun: int, result: Any) -> DoneWrite | None:
        """Hold a read that began after them against the writes that it shows; return one that did not happen.

        ``begun`` is its number.
        """
        for write in sorted(self._kept, key=lambda write: write.begun, reverse=True):
            if begun <= write.ended_at or not write.check.made_by(call):
                continue
            if any(other > write.begun and check[:2] == write.check[:2] for other, check in self._begun):
                continue
            done = self._relations.done(write.call, result)
            if done is None:
                continue
            self._kept.remove(write)
            return None if done else write
        return None


def undone_outcome(write: DoneWrite, by: ToolCall) -> Outcome:
    """Return what came of a write that answered well and, as ``by`` shows, did nothing."""
    return Outcome(
        ErrorKind.FACTUAL_ERROR,
        silent=True,
        confidence=0.9,
        detail=f"{write.call.tool} answered well, but {by.tool} does not show it done",
        reason=f"{by.tool} does not show that it was done",
        rule="not_done",
    )
