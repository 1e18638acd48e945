"""Which incident a call is an attempt on, and as which action: the half of the tracker that only looks.

The rules stand at the head of :mod:`btm.learning.tracker`, which keeps the incidents that are matched here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from btm.learning.relations import Relations
from btm.model import Action, Incident, ToolCall

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
    """A call that has begun: its fingerprint, its place in the order, and the incidents open at that moment.

    ``sequence`` counts from 1 in its conversation; 0 is a replay of a call that was taken in before, and teaches nothing.
    ``at`` is when it began, in epoch seconds; ``order`` counts the calls begun in all conversations.
    """

    call: ToolCall
    fingerprint: str
    sequence: int = 0
    eligible: frozenset[str] = frozenset()
    at: float = 0.0
    order: int = 0


@dataclass(slots=True)
class OpenIncident:
    """The tracker's own notes about an open incident."""

    incident: Incident
    fingerprints: dict[str, None] = field(default_factory=dict)  # of the calls that failed, oldest first
    repaired_by: str = ""
    latest: int = 0  # the number of the call begun last when something was last done about it
    until: int = 0  # the number of the call with which it has had its time


Answer = tuple[OpenIncident, Match]


def answered_by(
    ticket: Ticket,
    ok: bool,
    open_incidents: dict[str, OpenIncident],
    relations: Relations,
    result: Any = None,
) -> list[Answer]:
    """Return the incident that a call answers, then those above it that it answers too."""
    best = closest(ticket, ok, open_incidents, relations, result)
    if best is None:
        return []
    found = [best]
    parent = open_incidents.get(best[0].incident.parent_id)
    for _ in range(MOST_ABOVE):
        if parent is None:
            break
        match = matched(parent, ticket, ok, relations, result)
        if match is not None:
            found.append((parent, match))
        parent = open_incidents.get(parent.incident.parent_id)
    return found


def closest(
    ticket: Ticket,
    ok: bool,
    open_incidents: dict[str, OpenIncident],
    relations: Relations,
    result: Any = None,
) -> Answer | None:
    """Return the closest match among the incidents that were open when the call began, the newest of equals."""
    best: Answer | None = None
    for incident_id in reversed(open_incidents):
        if incident_id not in ticket.eligible:
            continue
        note = open_incidents[incident_id]
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
    incident, call = note.incident, ticket.call
    if call.tool == incident.tool:
        return _of_the_same_tool(note, ticket, relations)
    if incident.outcome.ambiguous and relations.verifies(incident.call, call):
        return Match(Action.VERIFY, call.tool)
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
    if ticket.sequence != note.latest + 1 or not relations.related(
        incident.call, call, result if ok else None
    ):
        return None
    return Match(Action.SWITCH, call.tool, guessed=True)


def _of_the_same_tool(note: OpenIncident, ticket: Ticket, relations: Relations) -> Match | None:
    """Return what another call of the failed tool is: a repeat, however it is spelled where that matters, or a revise."""
    incident, call = note.incident, ticket.call
    again = ticket.fingerprint in note.fingerprints
    if incident.outcome.ambiguous and not again:
        # What may have been done once is the same wish in any spelling; another wish is no answer to it.
        if not relations.same_wish(incident.call, call):
            return None
        again = True
    if again:
        return Match(Action.REPAIR, note.repaired_by) if note.repaired_by else Match(Action.RETRY)
    if relations.general(call):
        return None  # another command says nothing about the one that failed
    return Match(Action.REVISE) if incident.kind.arguments_at_fault else None
