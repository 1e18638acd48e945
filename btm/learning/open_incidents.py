"""The open incidents of one conversation: which there are, which belongs below which, and how they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from btm.learning.matching import OpenIncident, Ticket
from btm.model import Attempt, Incident, IncidentState

MAX_OPEN = 64
"""Incidents of one conversation that are open at once; beyond them the oldest is abandoned."""

MOST_ENDED = 16
"""Incidents that have ended and that calls which began before are still held against, at most."""


_MOST_BESIDE = 64


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
