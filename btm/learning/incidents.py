"""The open incidents of one conversation: which there are, how they end, and on which of them a call is an attempt.

The rules of that stand at the head of :mod:`btm.learning.tracker`, which keeps these incidents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from btm.learning.relations import Relations
from btm.model import Action, Attempt, Incident, IncidentState, Outcome, ToolCall

MAX_OPEN = 64
"""Incidents of one conversation that are open at once; beyond them the oldest is abandoned."""

MOST_ENDED = 16
"""Incidents that have ended and that calls which began before are still held against, at most."""

_MOST_BESIDE = 64

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


class OpenIncidents:
    """Incidents by id, oldest first, and the calls that run beside each other. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self.by_id: dict[str, OpenIncident] = {}
        self._ended: dict[str, OpenIncident] = {}  # the latest, for calls that began before they were
        self.left_for_room = 0
        """Incidents that were abandoned because too many were open."""
        self._below: dict[str, list[str]] = {}  # the incidents of substitutes that failed in place of each
        self._under_way: set[int] = set()  # the numbers of calls that have begun and not ended
        self._overdue: list[Incident] = []  # abandoned when a call began, to be told when one ends

    @property
    def known(self) -> Mapping[str, OpenIncident]:
        """The open ones, and those that ended last: what ran beside that counts for them too."""
        return {**self._ended, **self.by_id} if self._ended else self.by_id

    def known_to(self, ticket: Ticket) -> dict[str, OpenIncident]:
        """Return those that were open when a call began, the newest last, unless they ended long ago."""
        if not ticket.seen:
            return {}
        known = self.known
        return {name: known[name] for name in ticket.seen if name in known}

    def begin(self, number: int, at: float, turn: str) -> tuple[dict[str, Incident], int]:
        """Take in that a call begins, in a turn; return how the open incidents stand, and beside how many others it runs.

        Those whose time is over are abandoned. To what comes next, those that failed in the turn ended with it. The
        incident of the call begun last stands at the end. Calls that never end are let go.
        """
        self._overdue += self._expire(number, at)
        for note in self.by_id.values() if turn else ():
            if note.turn == turn:
                note.renew(number, note.until)
        if self._under_way:
            self._under_way = {other for other in self._under_way if number - other <= _MOST_BESIDE}
        beside = len(self._under_way)
        self._under_way.add(number)
        return self.standing(), beside

    def ended(self, ticket: Ticket, at: float) -> tuple[list[Incident], dict[str, OpenIncident]]:
        """Take in that a call has ended.

        Return the incidents whose time was over when the latest call began, and those that are :meth:`known_to` it.
        """
        self._under_way.discard(ticket.sequence)
        return self.overdue(at) if self._overdue else [], self.known_to(ticket)

    def overdue(self, at: float | None = None) -> list[Incident]:
        """Give up, once, the incidents whose time was over; they were closed ``at``."""
        found, self._overdue = self._overdue, []
        return found if at is None else [replace(incident, closed_at=at) for incident in found]

    def __bool__(self) -> bool:
        """Whether any is open, or its end still to be told."""
        return bool(self.by_id or self._overdue)

    def standing(self) -> dict[str, Incident]:
        """Return the open incidents as they stand, that of the call begun last at the end."""
        notes = self.by_id.values()
        ordered = sorted(notes, key=lambda note: note.failed_by) if len(notes) > 1 else notes
        return {note.incident.incident_id: note.incident for note in ordered}

    def of_call(self, fingerprint: str, tool: str) -> OpenIncident | None:
        """Return the newest incident that the same call (tool and arguments) belongs to."""
        for note in reversed(self.by_id.values()):
            if note.incident.call.tool == tool and fingerprint in note.fingerprints:
                return note
        return None

    def add(self, note: OpenIncident) -> None:
        """Take in an incident; one that has a parent is closed with it."""
        incident = note.incident
        self.by_id[incident.incident_id] = note
        if incident.parent_id:
            self._below.setdefault(incident.parent_id, []).append(incident.incident_id)

    def close(
        self, note: OpenIncident, state: IncidentState, at: float, attempts: tuple[Attempt, ...] | None = None
    ) -> list[Incident]:
        """Close an incident, and with it those of substitutes that had failed while standing in for it."""
        attempts = note.incident.attempts if attempts is None else attempts
        left = IncidentState.ABANDONED if state is IncidentState.RESOLVED else state
        closed = [self._take_out(note, state, at, attempts)]
        for incident in closed:  # which grows: a chain of substitutes can be as long as a conversation
            for name in self._below.pop(incident.incident_id, ()):
                child = self.by_id.get(name)
                if child is not None:
                    closed.append(self._take_out(child, left, at, child.incident.attempts))
        return closed

    def close_all(self, state: IncidentState, at: float) -> list[Incident]:
        """Close every incident."""
        closed: list[Incident] = []
        while self.by_id:
            closed += self.close(self._oldest(), state, at)
        return closed

    def _expire(self, sequence: int, at: float) -> list[Incident]:
        """Abandon the incidents whose time is over at a call, and the oldest ones where there is no room for more."""
        closed: list[Incident] = []
        for note in list(self.by_id.values()):
            if sequence > note.until and note.incident.incident_id in self.by_id:
                closed += self.close(note, IncidentState.ABANDONED, at)
        while len(self.by_id) >= MAX_OPEN:
            closed += self.close(self._oldest(), IncidentState.ABANDONED, at)
            self.left_for_room += 1
        return closed

    def _oldest(self) -> OpenIncident:
        return next(iter(self.by_id.values()))

    def _take_out(
        self,
        note: OpenIncident,
        state: IncidentState,
        at: float,
        attempts: tuple[Attempt, ...],
    ) -> Incident:
        del self.by_id[note.incident.incident_id]
        note.incident = replace(note.incident, state=state, closed_at=at, attempts=attempts)
        self._ended[note.incident.incident_id] = note
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]
        return note.incident


# -- which incident a call is an attempt on ---------------------------------------------------------------------------

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
