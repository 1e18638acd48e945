"""The incident tracker: which call is an attempt on which incident, and who gets the credit.

One tracker follows one conversation. It is told when a call begins and what came of it, in order, and answers with
what that teaches. Live adapters and log readers feed the same tracker, so that what is learned from a conversation
does not depend on which way it came in. It keeps no clock, store or randomness.

The rules of attribution:

* A call can only be an attempt on an incident that was open when the call *began*: calls made in parallel with the
  failing one are not answers to it.
* Same tool and same arguments: a retry (or, after a repair tool ran, a repair). Same tool, other arguments: a
  revise, where arguments can be at fault. A tool that the map names for the failed one: a switch, verify or repair.
  An escalation tool closes every open incident.
* Where the map does not know the failed tool (a log without a map), the very next call, if it is another tool with
  the same effect, counts as a switch to it.
* One call answers one incident: the closest match, the newest of equals. If that incident belongs to a substitute
  that failed in turn, the incidents above it are answered with it.
* Calls that match nothing are the agent's own detours. An incident is abandoned when ``PATIENCE`` calls began after
  its latest attempt, or the conversation ends; nothing is learned about what was not tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from btm.model import (
    Action,
    Attempt,
    Effect,
    EvidenceKey,
    Incident,
    IncidentState,
    Outcome,
    ToolCall,
)

PATIENCE = 20
"""Calls after its latest attempt for which an incident stays open."""

_PRIORITY = (Action.RETRY, Action.REPAIR, Action.VERIFY, Action.SWITCH, Action.REVISE)


class StandIn(NamedTuple):
    """A substitute's name in the evidence, and whether this call completes it (of two in a row, the second does)."""

    target: str
    complete: bool = True


class Relations(Protocol):
    """What the tracker asks of a fallback map. ``failed`` is a call that failed, ``call`` a later one."""

    def knows(self, tool: str) -> bool:
        """Whether the map says anything about ``tool``."""

    def stands_in(self, failed: ToolCall, call: ToolCall) -> StandIn | None:
        """What ``call`` is worth as a substitute that the map offers in place of ``failed``, if it is one."""

    def repairs(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether ``call`` may repair what made ``failed`` fail."""

    def verifies(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether ``call`` is the read that shows what the write ``failed`` did."""

    def done(self, failed: ToolCall, result: Any) -> bool | None:
        """Whether a verifying read's ``result`` shows that the write happened; None when it cannot be told."""

    def escalates(self, tool: str) -> bool:
        """Whether ``tool`` hands over to a human."""


class NoRelations:
    """The relations of a map that says nothing."""

    def knows(self, tool: str) -> bool:  # noqa: ARG002
        """No tool is known."""
        return False

    def stands_in(self, failed: ToolCall, call: ToolCall) -> StandIn | None:  # noqa: ARG002
        """No tool has a substitute."""
        return None

    def repairs(self, failed: ToolCall, call: ToolCall) -> bool:  # noqa: ARG002
        """No tool has a repair."""
        return False

    def verifies(self, failed: ToolCall, call: ToolCall) -> bool:  # noqa: ARG002
        """No write can be verified."""
        return False

    def done(self, failed: ToolCall, result: Any) -> bool | None:  # noqa: ARG002
        """It cannot be told."""
        return None

    def escalates(self, tool: str) -> bool:  # noqa: ARG002
        """No tool escalates."""
        return False


@dataclass(frozen=True, slots=True)
class Ticket:
    """A call that has begun: its fingerprint, its place in the order, and the incidents open at that moment."""

    call: ToolCall
    fingerprint: str
    sequence: int
    eligible: frozenset[str]


@dataclass(frozen=True, slots=True)
class Observation:
    """What one finished call taught. ``incident`` is the one a failed call now belongs to."""

    attempts: tuple[Attempt, ...] = ()
    incident: Incident | None = None
    opened: bool = False
    closed: tuple[Incident, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ending:
    """How and when a call ended."""

    ticket: Ticket
    outcome: Outcome
    at: float
    latency_s: float | None
    result: Any


@dataclass(slots=True)
class _Open:
    """The tracker's own notes about an open incident."""

    incident: Incident
    fingerprints: set[str] = field(default_factory=set)
    repaired_by: str = ""
    last_sequence: int = 0


class ConversationTracker:
    """Follows the calls of one conversation. Not thread-safe: its owner holds the lock."""

    def __init__(self, conversation: str, relations: Relations) -> None:
        self.conversation = conversation
        self._relations = relations
        self._open: dict[str, _Open] = {}
        self._sequence = 0

    @property
    def open_incidents(self) -> tuple[Incident, ...]:
        """The open incidents, oldest first."""
        return tuple(note.incident for note in self._open.values())

    def begin(self, call: ToolCall, fingerprint: str) -> Ticket:
        """Note that a call begins; give the ticket to :meth:`finish`. A ticket never finished teaches nothing."""
        self._sequence += 1
        return Ticket(call, fingerprint, self._sequence, frozenset(self._open))

    def incident(self, incident_id: str) -> Incident | None:
        """Return an open incident by its id."""
        note = self._open.get(incident_id)
        return note.incident if note else None

    def incident_of(self, fingerprint: str, tool: str) -> Incident | None:
        """Return the newest open incident that the same call (tool and arguments) belongs to."""
        for note in reversed(self._open.values()):
            if note.incident.tool == tool and fingerprint in note.fingerprints:
                return note.incident
        return None

    def finish(
        self,
        ticket: Ticket,
        outcome: Outcome,
        *,
        at: float,
        latency_s: float | None = None,
        result: Any = None,
    ) -> Observation:
        """Take in what came of a call that ended at ``at``; ``result`` is looked at only if it verifies a write."""
        ending = _Ending(ticket, outcome, at, latency_s, result)
        closed = list(self._expire(ticket.sequence, at))
        if outcome.ok and self._relations.escalates(ticket.call.tool):
            return self._escalated(ending, closed)
        answered = self._answered(ticket, outcome)
        attempts: list[Attempt] = []
        for note, action, target in answered:
            attempts.append(self._attempt(note, action, target, ending))
            closed += self._settle(note, action, ending)
        if not answered and outcome.ok:
            self._note_repair(ticket)
        if outcome.ok:
            if ticket.call.effect is Effect.WRITE:
                self._note_change()
            return Observation(tuple(attempts), closed=tuple(closed))
        own = next((note for note, _, _ in answered if note.incident.tool == ticket.call.tool), None)
        opened = own is None
        if own is None:
            parent = answered[0][0].incident.incident_id if answered else ""
            own = self._join_or_open(ticket, outcome, at, parent)
        return Observation(tuple(attempts), own.incident, opened, tuple(closed))

    def end(self, at: float) -> tuple[Incident, ...]:
        """Close what is still open as abandoned: the conversation is over."""
        closed: list[Incident] = []
        while self._open:
            closed += self._close(next(iter(self._open.values())), IncidentState.ABANDONED, at)
        return tuple(closed)

    # -- attribution --------------------------------------------------------------------------------------------

    def _answered(self, ticket: Ticket, outcome: Outcome) -> list[tuple[_Open, Action, str]]:
        """Return the incident this call answers, then those above it that it answers too."""
        best: tuple[int, _Open, Action, str] | None = None
        for incident_id, note in reversed(self._open.items()):
            relation = self._relation(note, ticket, outcome) if incident_id in ticket.eligible else None
            if relation is None:
                continue
            rank = _PRIORITY.index(relation[0])
            if best is None or rank < best[0]:
                best = (rank, note, *relation)
        if best is None:
            return []
        found = [best[1:]]
        parent = self._open.get(best[1].incident.parent_id)
        while parent is not None:
            relation = self._relation(parent, ticket, outcome)
            if relation is not None:
                found.append((parent, *relation))
            parent = self._open.get(parent.incident.parent_id)
        return found

    def _relation(self, note: _Open, ticket: Ticket, outcome: Outcome) -> tuple[Action, str] | None:
        incident, call = note.incident, ticket.call
        if call.tool == incident.tool:
            if ticket.fingerprint in note.fingerprints:
                return (Action.REPAIR, note.repaired_by) if note.repaired_by else (Action.RETRY, "")
            return (Action.REVISE, "") if incident.kind.arguments_at_fault else None
        if incident.outcome.ambiguous and self._relations.verifies(incident.call, call):
            return Action.VERIFY, call.tool
        stand_in = self._relations.stands_in(incident.call, call)
        if stand_in is not None:
            # The first of two calls in a row only counts when it fails: then the substitute has failed.
            return (Action.SWITCH, stand_in.target) if stand_in.complete or not outcome.ok else None
        if self._relations.repairs(incident.call, call):
            return None if outcome.ok else (Action.REPAIR, call.tool)
        if self._relations.knows(incident.tool) or call.effect is not incident.call.effect:
            return None
        is_next = ticket.sequence == note.last_sequence + 1
        return (Action.SWITCH, call.tool) if is_next else None

    def _attempt(self, note: _Open, action: Action, target: str, ending: _Ending) -> Attempt:
        incident, outcome = note.incident, ending.outcome
        key = EvidenceKey(incident.tool, incident.kind, action, target, incident.next_ordinal(action, target))
        attempt = Attempt(
            incident_id=incident.incident_id,
            call_id=ending.ticket.call.call_id,
            key=key,
            success=outcome.ok,
            at=ending.at,
            latency_s=ending.latency_s,
            failed_as=outcome.kind,
        )
        note.incident = replace(incident, attempts=(*incident.attempts, attempt))
        note.last_sequence = ending.ticket.sequence
        return attempt

    def _settle(self, note: _Open, action: Action, ending: _Ending) -> list[Incident]:
        """Apply an attempt's outcome to its incident; return what that closes."""
        outcome = ending.outcome
        if ending.ticket.call.tool == note.incident.tool and outcome.kind is not None:
            note.fingerprints.add(ending.ticket.fingerprint)
            note.repaired_by = ""
            note.incident = replace(
                note.incident,
                call=ending.ticket.call,
                kind=outcome.kind,
                outcome=outcome,
                happened=None,
                changed=False,
            )
        if action is Action.VERIFY and outcome.ok:
            happened = self._relations.done(note.incident.call, ending.result)
            note.incident = replace(note.incident, happened=happened)
        if outcome.ok and (action is not Action.VERIFY or note.incident.happened):
            return self._close(note, IncidentState.RESOLVED, ending.at)
        return []

    # -- opening and closing ------------------------------------------------------------------------------------

    def _join_or_open(self, ticket: Ticket, outcome: Outcome, at: float, parent: str) -> _Open:
        """Open an incident, unless the same call already failed in parallel: then it is the same one."""
        for note in self._open.values():
            if note.incident.tool == ticket.call.tool and ticket.fingerprint in note.fingerprints:
                return note
        assert outcome.kind is not None  # noqa: S101 - only failures open incidents
        incident = Incident(
            incident_id=f"{self.conversation}/{ticket.call.call_id}",
            conversation=self.conversation,
            call=ticket.call,
            kind=outcome.kind,
            outcome=outcome,
            opened_at=at,
            parent_id=parent,
        )
        note = _Open(incident, {ticket.fingerprint}, last_sequence=ticket.sequence)
        self._open[incident.incident_id] = note
        return note

    def suspect(self, call: ToolCall, fingerprint: str, outcome: Outcome, at: float) -> Incident:
        """Open an incident for a call that had seemed to succeed: a cross-check or a person found it wrong."""
        ticket = Ticket(call, fingerprint, self._sequence, frozenset())
        return self._join_or_open(ticket, outcome, at, "").incident

    def _note_repair(self, ticket: Ticket) -> None:
        for incident_id, note in self._open.items():
            if incident_id in ticket.eligible and self._relations.repairs(note.incident.call, ticket.call):
                note.repaired_by = ticket.call.tool
                note.last_sequence = ticket.sequence

    def _note_change(self) -> None:
        for note in self._open.values():
            note.incident = replace(note.incident, changed=True)

    def _escalated(self, ending: _Ending, closed: list[Incident]) -> Observation:
        """Close every open incident; the newest one is the attempt's, so that one call counts once."""
        attempts: tuple[Attempt, ...] = ()
        if self._open:
            newest = list(self._open.values())[-1]
            attempts = (self._attempt(newest, Action.ESCALATE, ending.ticket.call.tool, ending),)
        while self._open:
            closed += self._close(next(iter(self._open.values())), IncidentState.ESCALATED, ending.at)
        return Observation(attempts, closed=tuple(closed))

    def _close(self, note: _Open, state: IncidentState, at: float) -> list[Incident]:
        """Close an incident, and with it those of substitutes that had failed while standing in for it."""
        incident = note.incident = replace(note.incident, state=state, closed_at=at)
        del self._open[incident.incident_id]
        closed = [incident]
        below = [n for n in self._open.values() if n.incident.parent_id == incident.incident_id]
        for child in below:
            left = IncidentState.ABANDONED if state is IncidentState.RESOLVED else state
            closed += self._close(child, left, at)
        return closed

    def _expire(self, sequence: int, at: float) -> list[Incident]:
        closed: list[Incident] = []
        for note in list(self._open.values()):
            if sequence - note.last_sequence > PATIENCE and note.incident.incident_id in self._open:
                closed += self._close(note, IncidentState.ABANDONED, at)
        return closed
