"""What came of a call as it looks from its conversation: an empty answer is often true, a good one can miss the point.

The classifier sees one answer. Here it is held against what the call was asked for: a verifying read that finds nothing
has answered, a substitute's good answer need not hold what the failed call wanted, and nothing is what most empty
answers truthfully say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from btm.learning.matching import Match, OpenIncident, Ticket
from btm.learning.relations import Emptiness, Relations
from btm.model import Action, Effect, ErrorKind, Outcome

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
