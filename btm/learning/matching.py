"""Which incident a call is an attempt on, and as which action: the half of the tracker that only looks; its values.

The rules stand at the head of :mod:`btm.learning.tracker`, which keeps the incidents that are matched here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from btm.learning.relations import Relations
from btm.model import Action, Attempt, Incident, Outcome, ToolCall

_RANK = {
    action: rank
    for rank, action in enumerate((Action.RETRY, Action.REPAIR, Action.VERIFY, Action.SWITCH, Action.REVISE))
}
"""How close a match of each action is, the closest first."""


MOST_ABOVE = 8
"""Incidents above a substitute's that its answer counts for: a chain of failures that goes on and on teaches no more."""


class Match(NamedTuple):
    """A call as an attempt on an incident.

    ``unsure`` says that a substitute which changes things failed and may have done so all the same; ``guessed`` that
    only the order of calls speaks for the match, not the map.
    """

    action: Action
    target: str = ""
    unsure: bool = False
    guessed: bool = False


class Ticket(NamedTuple):
    """A call that has begun: its fingerprint, its place in the order, and the incidents open then, as they stood then.

    The newest incident stands last. What calls that run side by side are attempts on does not hang on which of them ends
    first. ``sequence`` counts from 1 in its conversation; 0 is a replay of a call that was taken in before, and teaches
    nothing. ``at`` is when it began, in epoch seconds; ``order`` counts the calls begun in all conversations, ``beside``
    those of its conversation that had not ended when it began. ``turn`` names the answer of the model that asked for it.
    """

    call: ToolCall
    fingerprint: str
    sequence: int = 0
    seen: Mapping[str, Incident] = MappingProxyType({})
    at: float = 0.0
    order: int = 0
    beside: int = 0
    turn: str = ""


class Undone(NamedTuple):
    """A write that had answered well and was not done: its incident, and the attempts as which it had counted."""

    incident: Incident
    attempts: tuple[Attempt, ...]


class Learned(NamedTuple):
    """What one finished call taught.

    ``outcome`` is what came of the call as it looks from the conversation: an empty answer answers a read that was to
    show whether something is there. ``incident`` is the open one it belongs to: its own if it failed, and the one it
    left open if it was a verifying read which did not settle it or a substitute which did not answer it. ``undone`` is a
    write that the call, a read, showed not to have been done.
    """

    outcome: Outcome
    attempts: tuple[Attempt, ...] = ()
    incident: Incident | None = None
    opened: bool = False
    closed: tuple[Incident, ...] = ()
    undone: Undone | None = None


class Ending(NamedTuple):
    """How and when a call ended."""

    ticket: Ticket
    outcome: Outcome
    at: float
    latency_s: float | None
    result: Any


@dataclass(slots=True)
class OpenIncident:
    """The tracker's own notes about an open incident.

    Times are numbers of calls: that of the call begun last when something happened.
    """

    incident: Incident
    fingerprints: dict[str, int] = field(
        default_factory=dict
    )  # of the calls that failed, oldest first, and since when
    repaired_by: str = ""
    repaired_at: int = 0
    failed_by: int = 0  # the number of the failed call that began last
    latest: int = 0  # when something was last done about it
    before_that: int = 0  # and when before that
    until: int = 0  # the number of the call with which it has had its time
    turn: str = ""  # the answer of the model that asked for the failed call

    def renew(self, number: int, until: int) -> None:
        """Note that something was done about it when ``number`` calls had begun; its time is until ``until`` at least."""
        if number > self.latest:
            self.before_that, self.latest = self.latest, number
        self.until = max(self.until, until)

    def latest_before(self, number: int) -> int:
        """Return when something was last done about it before that many calls had begun."""
        return self.latest if self.latest < number else self.before_that


Answer = tuple[OpenIncident, Match]


def answered_by(
    ticket: Ticket,
    ok: bool,
    known: Mapping[str, OpenIncident],
    relations: Relations,
    result: Any = None,
) -> list[Answer]:
    """Return the incident that a call answers, then those above it that it answers too; some may be closed by now."""
    best = closest(ticket, ok, known, relations, result)
    if best is None:
        return []
    found = [best]
    parent = known.get(best[0].incident.parent_id)
    for _ in range(MOST_ABOVE):
        if parent is None:
            break
        match = matched(parent, ticket, ok, relations, result)
        if match is not None:
            found.append((parent, match))
        parent = known.get(parent.incident.parent_id)
    return found


def closest(
    ticket: Ticket,
    ok: bool,
    known: Mapping[str, OpenIncident],
    relations: Relations,
    result: Any = None,
) -> Answer | None:
    """Return the closest match among the incidents that were open when the call began, the newest of equals."""
    best: Answer | None = None
    for note in [known[name] for name in reversed([*ticket.seen]) if name in known]:
        match = matched(note, ticket, ok, relations, result)
        if match is not None and (best is None or _RANK[match.action] < _RANK[best[1].action]):
            best = note, match
    return best


def matched(
    note: OpenIncident, ticket: Ticket, ok: bool, relations: Relations, result: Any = None
) -> Match | None:
    """Return what a call is as an attempt on one incident, or None.

    ``ok`` says whether it succeeded, ``result`` what it gave.
    """
    incident, call = as_it_stood(note, ticket), ticket.call
    if call.tool == incident.tool:
        return _of_the_same_tool(note, incident, ticket, relations)
    if incident.outcome.ambiguous and relations.verifies(incident.call, call):
        return Match(Action.VERIFY, call.tool)
    if note.turn and note.turn == ticket.turn:
        return None  # asked for together with the failed call, and made after it: nobody knew of the failure
    stand_in = relations.stands_in(incident.call, call)
    if stand_in is not None:
        if ok and not stand_in.complete:
            # The first of two calls in a row only counts when it fails: then the substitute failed.
            return None
        return Match(Action.SWITCH, stand_in.target, unsure=stand_in.underway)
    if relations.repairs(incident.call, call):
        return None if ok else Match(Action.REPAIR, call.tool)
    if relations.knows(incident.tool) or call.effect is not incident.call.effect:
        return None
    # The order of calls alone speaks for nothing: an agent that gives up goes on, too.
    if ticket.sequence != note.latest_before(ticket.sequence) + 1 or not relations.related(
        incident.call, call, result if ok else None
    ):
        return None
    return Match(Action.SWITCH, call.tool, guessed=True)


def as_it_stood(note: OpenIncident, ticket: Ticket) -> Incident:
    """Return an incident as it was when a call began."""
    return ticket.seen.get(note.incident.incident_id, note.incident)


def _of_the_same_tool(
    note: OpenIncident, incident: Incident, ticket: Ticket, relations: Relations
) -> Match | None:
    """Return what another call of the failed tool is: a repeat, however it is spelled where that matters, or a revise."""
    call = ticket.call
    again = note.fingerprints.get(ticket.fingerprint, ticket.sequence) < ticket.sequence
    if incident.outcome.ambiguous and not again:
        # What may have been done once is the same wish in any spelling; another wish is no answer to it.
        if not relations.same_wish(incident.call, call):
            return None
        again = True
    if again:
        repaired = note.repaired_by and note.repaired_at < ticket.sequence
        return Match(Action.REPAIR, note.repaired_by) if repaired else Match(Action.RETRY)
    if relations.general(call):
        return None  # another command says nothing about the one that failed
    return Match(Action.REVISE) if incident.kind.arguments_at_fault else None


def too_early(incident: Incident, match: Match, ending: Ending) -> bool:
    """Whether a repeat failed that was made before the tool had asked for it."""
    due, begun = incident.due_at, ending.ticket.at
    repeats = match.action is Action.RETRY and not ending.outcome.ok
    return repeats and due is not None and 0.0 < begun < due


def in_doubt(incident: Incident) -> Incident:
    """Return an incident whose write may have happened, as far as anyone knows."""
    return replace(incident, outcome=replace(incident.outcome, ambiguous=True), happened=None)
