"""What came of a call as it looks from its conversation: an empty answer is often true, a good one can miss the point.

The classifier sees one answer. Here it is held against what the call was asked for: a verifying read that finds nothing
has answered, a substitute's good answer need not hold what the failed call wanted, and nothing is what most empty
answers truthfully say. A write that said that it was done counts as done until a read shows otherwise: some services say yes
and do nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from btm.learning.incidents import Match, OpenIncident, Ticket
from btm.learning.relations import Emptiness, Relations, VerifyingRead
from btm.model import Action, Attempt, Effect, ErrorKind, Outcome, ToolCall

VERIFIED = Outcome(reason="it shows what it was asked for: whether the write happened", rule="verified")
NOTHING_THERE = Outcome(reason="it is empty, and nothing speaks against that", rule="empty:ok")
CONFIRMED = Outcome(reason="it is empty, as the tool that it stood in for said", rule="empty:confirmed")
BESIDE_THE_POINT = Outcome(
    ErrorKind.EMPTY_RESULT,
    silent=True,
    reason="it does not hold what the failed call asked for",
    rule="beside_the_point",
)
"""How a substitute's good answer counts for the call that it stood in for when it holds nothing about it."""

NOT_YET = "not_done_yet"
"""The rule of a write's answer that says that it is under way. What a look does not show of it may still come."""

CONTRADICTED = "cross_check"
"""The rule of an answer that a second source contradicts."""

IN_A_ROW = "empty:in a row"
"""The rule of an answer that is suspicious because all of its tool's are empty."""

TOO_MANY_EMPTY = 4
"""Different calls of one tool in a row that come back empty until that is suspicious: a search that is shut says so."""

_MOST_DONE = 20  # writes
_MOST_TOOLS = 64
_MOST_CALLS = 16
_STATED = ("user:", "type:")  # said by the map's own rules, or raised: no reading of an answer


class EmptyAnswers:
    """The calls of each tool that came back empty since its last full answer, in one conversation."""

    def __init__(self) -> None:
        self._since: dict[str, set[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    def filled(self, tool: str) -> None:
        """Note that a tool gave something."""
        self._since.pop(tool, None)

    def empty(self, tool: str, fingerprint: str) -> int:
        """Note that a call came back empty; return how many different ones did in a row."""
        calls = self._since.setdefault(tool, set())
        if len(calls) < _MOST_CALLS:
            calls.add(fingerprint)
        if len(self._since) > _MOST_TOOLS:
            del self._since[next(iter(self._since))]
        return len(calls)


def as_it_looks(
    ticket: Ticket,
    outcome: Outcome,
    result: Any,
    opened: Iterable[OpenIncident],
    relations: Relations,
    empties: EmptyAnswers,
) -> Outcome:
    """Return what came of a call; ``opened`` are the incidents that were open when it began."""
    notes = tuple(opened)
    if outcome.kind is None:
        empties.filled(ticket.call.tool)
        return outcome
    if outcome.silent and any(_tells(note, ticket, result, relations) for note in notes):
        return VERIFIED
    if outcome.kind is ErrorKind.EMPTY_RESULT and outcome.silent and not outcome.rule.startswith(_STATED):
        return _empty(ticket, outcome, notes, relations, empties)
    return outcome


def _tells(note: OpenIncident, ticket: Ticket, result: Any, relations: Relations) -> bool:
    """Whether an answer tells if the write of an incident happened."""
    failed = note.incident.call
    return (
        note.incident.outcome.ambiguous
        and relations.verifies(failed, ticket.call)
        and relations.done(failed, result) is not None
    )


def _empty(
    ticket: Ticket,
    outcome: Outcome,
    notes: tuple[OpenIncident, ...],
    relations: Relations,
    empties: EmptyAnswers,
) -> Outcome:
    """Say what an empty answer is: the answer, unless the map or the conversation speaks against it."""
    call = ticket.call
    in_a_row = empties.empty(call.tool, ticket.fingerprint)
    stated = relations.emptiness(call.tool)
    if stated is Emptiness.OK:
        return NOTHING_THERE
    if stated is Emptiness.ERROR:
        return replace(outcome, reason=f"{outcome.reason}, which is never right of this tool")
    if in_a_row >= TOO_MANY_EMPTY:
        said = f"{outcome.reason}; so did {in_a_row} different calls in a row"
        return replace(outcome, reason=said, rule=IN_A_ROW)
    against = "the map says that this is suspicious" if stated is Emptiness.SUSPICIOUS else ""
    if not against:
        against = _failed_beside(ticket, notes, relations)
    if not against and relations.cross_checked(call.tool):
        against = "another tool can confirm it"
    return replace(outcome, reason=f"{outcome.reason}; {against}") if against else NOTHING_THERE


def _failed_beside(ticket: Ticket, notes: tuple[OpenIncident, ...], relations: Relations) -> str:
    """Name the tool whose failure a moment ago makes an empty answer doubtful: this one's own, or its sibling's."""
    for note in notes:
        failed = note.incident.call
        if note.incident.kind is ErrorKind.EMPTY_RESULT or note.incident.kind.arguments_at_fault:
            continue
        if failed.tool == ticket.call.tool or relations.stands_in(ticket.call, failed) is not None:
            return f"{failed.tool} failed just before ({note.incident.kind})"
    return ""


def as_an_answer(
    note: OpenIncident, match: Match, ticket: Ticket, outcome: Outcome, result: Any, relations: Relations
) -> Outcome:
    """Return how a call counts as an attempt on one incident.

    Two tools that both say that there is nothing agree. A substitute's good answer may not answer the failed call; only
    a read's is judged so, for a write has been done, in whatever form it says it.
    """
    if match.action is not Action.SWITCH:
        return outcome
    if outcome.kind is note.incident.kind is ErrorKind.EMPTY_RESULT and outcome.silent:
        return CONFIRMED
    if not outcome.ok or ticket.call.effect is not Effect.READ or match.guessed:
        return outcome
    if (
        result is None and outcome is not NOTHING_THERE
    ):  # not known, or of a tool that says nothing when all is well
        return outcome
    if relations.answers(note.incident.call, match.target, result) is False:
        return BESIDE_THE_POINT
    return outcome


# -- writes that answered well ----------------------------------------------------------------------------------------


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
        self._kept: deque[DoneWrite] = deque(maxlen=_MOST_DONE)
        self._begun: deque[tuple[int, VerifyingRead]] = deque(maxlen=_MOST_DONE)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def keeps(self, call: ToolCall) -> bool:
        """Whether a call is a write of which a read shows something, and is to be told here where it answers well."""
        return call.effect is Effect.WRITE and self._relations.shown_by(call) is not None

    def begin(self, call: ToolCall, number: int) -> None:
        """Take in that a write begins: what a read shows from then on can be its doing."""
        check = self._relations.shown_by(call)
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
