"""The incident tracker: which call is an attempt on which incident, and who gets the credit.

One tracker follows one conversation. It is told when a call begins and what came of it, in order, and answers with
what that teaches. Live adapters and log readers feed the same tracker, so that what is learned from a conversation
does not depend on which way it came in. It keeps no clock, store or randomness.

The rules of attribution:

* A call can only be an attempt on an incident that was open when the call *began*: calls made in parallel with the
  failing one are not answers to it. It is one on the incident as it stood then: of two that run side by side each counts,
  and which of them ends first changes nothing.
* Same tool and same arguments: a retry (or, after a repair tool ran, a repair). Same tool, other arguments: a
  revise, where arguments can be at fault. A tool that the map names for the failed one: a switch, verify or repair.
  An escalation tool closes every open incident.
* Where the map does not know the failed tool (a log without a map), the very next call counts as a switch to it if it
  is another tool with the same effect that asks for the same: an agent that gives up goes on, too.
* A write that may have happened is repeated by any call that asks for the same, however it is spelled.
* One call answers one incident: the closest match, the newest of equals. If that incident belongs to a substitute
  that failed in turn, the incidents above it are answered with it.
* A write stays in doubt until someone looks: failing again in another way, or through a substitute that may have
  done it, does not settle whether it happened.
* A write that answered well counts as done until the read that shows it says otherwise; then it had failed after all.
* Calls that match nothing are the agent's own detours. An incident is abandoned when ``PATIENCE`` calls began after
  its latest attempt, or the conversation ends; nothing is learned about what was not tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from btm.learning.incidents import (
    Answer,
    Ending,
    Learned,
    Match,
    OpenIncident,
    OpenIncidents,
    Ticket,
    Undone,
    answered_by,
    as_it_stood,
    closest,
    in_doubt,
    too_early,
)
from btm.learning.judging import NOT_YET, DoneWrites, EmptyAnswers, as_an_answer, as_it_looks, undone_outcome
from btm.learning.relations import Relations
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

__all__ = ["PATIENCE", "ConversationTracker", "Learned", "Ticket"]

PATIENCE = 20
"""Calls after its latest attempt for which an incident stays open; those made in parallel with it do not count."""

_MAX_ATTEMPTS = 32  # kept of one incident: an agent in a loop must not fill the memory
_MAX_FINGERPRINTS = 64


class ConversationTracker:
    """Follows the calls of one conversation. Not thread-safe: its owner holds the lock."""

    def __init__(self, conversation: str, relations: Relations) -> None:
        self.conversation = conversation
        self._relations = relations
        self._incidents = OpenIncidents()
        self._open = self._incidents.by_id
        self._empties = EmptyAnswers()
        self._done = DoneWrites(relations)
        self._sequence = 0

    @property
    def idle(self) -> bool:
        """Whether a read's success would teach nothing: no incident is open, no tool came back empty, no write is kept."""
        return not (self._incidents or self._empties or self._done)

    def keeps(self, call: ToolCall) -> bool:
        """Whether a call is a write that is remembered where it succeeds."""
        return self._done.keeps(call)

    @property
    def left_for_room(self) -> int:
        """How many incidents were abandoned because too many were open."""
        return self._incidents.left_for_room

    @property
    def open_incidents(self) -> tuple[Incident, ...]:
        """The open incidents, oldest first."""
        return tuple(note.incident for note in self._open.values())

    def begin(
        self, call: ToolCall, fingerprint: str, at: float = 0.0, turn: str = "", order: int = 0
    ) -> Ticket:
        """Note that a call begins; give the ticket to :meth:`finish`. A ticket never finished teaches nothing."""
        self._sequence += 1
        if call.effect is Effect.WRITE:
            self._done.begin(call, self._sequence)
        seen, beside = self._incidents.begin(self._sequence, at, turn)
        return Ticket(call, fingerprint, self._sequence, seen, at, order, beside, turn)

    def incident(self, incident_id: str) -> Incident | None:
        """Return an open incident by its id."""
        note = self._open.get(incident_id)
        return note.incident if note else None

    def incident_of(self, fingerprint: str, tool: str) -> Incident | None:
        """Return the newest open incident that the same call (tool and arguments) belongs to."""
        note = self._incidents.of_call(fingerprint, tool)
        return note.incident if note else None

    def would_answer(self, call: ToolCall, fingerprint: str) -> tuple[Incident, Action] | None:
        """Return the open incident on which ``call`` would be an attempt for certain, and as which action.

        Other arguments (a revise) or the mere order of calls say too little about a call that was not made yet.
        """
        ticket = Ticket(call, fingerprint, self._sequence + 1, self._incidents.standing())
        found = closest(ticket, False, self._open, self._relations)
        if found is None or found[1].action is Action.REVISE or found[1].guessed:
            return None
        return found[0].incident, found[1].action

    def finish(
        self,
        ticket: Ticket,
        outcome: Outcome,
        *,
        at: float,
        latency_s: float | None = None,
        result: Any = None,
    ) -> Learned:
        """Take in what came of a call that ended at ``at``; ``result`` is what it gave, if that is known."""
        if outcome.kind is None and self.idle and not ticket.seen and not self.keeps(ticket.call):
            return Learned(outcome)
        closed, known = self._incidents.ended(ticket, at)
        outcome = as_it_looks(ticket, outcome, result, known.values(), self._relations, self._empties)
        ending = Ending(ticket, outcome, at, latency_s, result)
        ok = outcome.kind is None
        if ok and self._relations.escalates(ticket.call.tool):
            return self._escalated(ending, closed)
        answered = answered_by(ticket, ok, known, self._relations, result) if known else []
        attempts = self._counted(answered, ending, closed) if answered else []
        if ok:
            return self._succeeded(ending, tuple(attempts), closed, answered=bool(answered))
        if answered and not any(note.incident.incident_id in self._open for note, _ in answered):
            return Learned(
                outcome, tuple(attempts), closed=tuple(closed)
            )  # one beside it has answered by now
        own = next((note for note, _ in answered if note.incident.tool == ticket.call.tool), None)
        opened = own is None
        if own is None:
            parent = answered[0][0].incident.incident_id if answered else ""
            own = self._join_or_open(ticket, outcome, at, parent)
        return Learned(outcome, tuple(attempts), own.incident, opened, tuple(closed))

    def _counted(self, answered: Iterable[Answer], ending: Ending, closed: list[Incident]) -> list[Attempt]:
        """Return a call as the attempts that it was, and settle what that settles; ``closed`` grows."""
        attempts: list[Attempt] = []
        for note, match in answered:
            ticket, outcome = ending.ticket, ending.outcome
            counts = as_an_answer(note, match, ticket, outcome, ending.result, self._relations)
            here = ending if counts is outcome else ending._replace(outcome=counts)
            attempt = self._attempt(note, match, here)
            # A tool that asked to be left alone for a while says nothing about a retry in time.
            if not too_early(as_it_stood(note, ticket), match, here):
                attempts.append(attempt)
            # Another call can have settled it: one through the incident below it, or one that ran beside this.
            if note.incident.incident_id in self._open:
                closed += self._settle(note, match, here, attempt)
            if match.action is Action.SWITCH and here.outcome.ok:
                closed += self._verified_elsewhere(note.incident, match, here)
        return attempts

    def _succeeded(
        self, ending: Ending, attempts: tuple[Attempt, ...], closed: list[Incident], *, answered: bool
    ) -> Learned:
        ticket = ending.ticket
        if not answered:
            self._note_repair(ticket)
        learned = Learned(ending.outcome, attempts, self._unsettled(attempts), closed=tuple(closed))
        if ticket.call.effect is Effect.WRITE:
            self._note_change()
            self._done.keep(ticket, self._sequence, attempts)
            return learned
        write = self._done.undone(ticket.call, ticket.sequence, ending.result)
        if write is None:
            return learned
        wrong = undone_outcome(write, ticket.call)
        incident = self.suspect(write.call, write.fingerprint, wrong, ending.at, undone=write.check.settles)
        return learned._replace(undone=Undone(incident, write.attempts))

    def withdraw(self, call: ToolCall, fingerprint: str, at: float) -> tuple[Incident, ...]:
        """Give up what a call was to recover: a person refused it. Nothing was tried, and nothing is learned."""
        ticket = Ticket(call, fingerprint, self._sequence + 1, self._incidents.standing())
        found = closest(ticket, False, self._open, self._relations)
        if found is None:
            return ()
        return tuple(self._incidents.close(found[0], IncidentState.ABANDONED, at))

    def end(self, at: float) -> tuple[Incident, ...]:
        """Close what is still open as abandoned: the conversation is over."""
        return (*self._incidents.overdue(), *self._incidents.close_all(IncidentState.ABANDONED, at))

    # -- attempts -----------------------------------------------------------------------------------------------

    def _attempt(self, note: OpenIncident, match: Match, ending: Ending) -> Attempt:
        incident, outcome = as_it_stood(note, ending.ticket), ending.outcome
        action, target, *_ = match
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
        self._renew(note, ending.ticket)
        return attempt

    def _settle(self, note: OpenIncident, match: Match, ending: Ending, attempt: Attempt) -> list[Incident]:
        """Apply an attempt and its outcome to its incident; return what that closes."""
        outcome, call, incident = ending.outcome, ending.ticket.call, note.incident
        attempts = (*incident.attempts[1 - _MAX_ATTEMPTS :], attempt)
        if not outcome.ok:
            if call.tool == incident.tool:
                self._failed_again(note, ending.ticket, outcome, attempts)
                return []
            note.incident = replace(incident, attempts=attempts)
            if match.action is Action.SWITCH and not match.guessed:
                unsure = match.unsure or (outcome.ambiguous and call.effect is Effect.WRITE)
                if unsure:  # what was wanted may have been done by the substitute
                    note.incident = in_doubt(note.incident)
            return []
        if match.action is not Action.VERIFY:
            return self._incidents.close(note, IncidentState.RESOLVED, ending.at, attempts)
        happened = self._relations.done(incident.call, ending.result)
        if not happened and incident.outcome.rule == NOT_YET:
            happened = None
        note.incident = replace(incident, attempts=attempts, happened=happened)
        return self._fulfilled(note, ending.at) if happened else []

    def _verified_elsewhere(self, read: Incident, match: Match, ending: Ending) -> list[Incident]:
        """Settle a write whose verifying read was down when a substitute of that read shows what the write did."""
        above = self._open.get(read.parent_id)
        if above is None or not above.incident.uncertain_write:
            return []
        write = above.incident.call
        if not self._relations.verifies(write, read.call):
            return []
        shown = self._relations.shown(read.call, match.target, ending.result)
        happened = self._relations.done(write, shown) if shown is not None else None
        above.incident = replace(above.incident, happened=happened)
        return self._fulfilled(above, ending.at) if happened else []

    def _unsettled(self, attempts: Iterable[Attempt]) -> Incident | None:
        """Return the incident that a good answer left open.

        It shows no write, is a substitute's that did not answer, or stood in for a read and shows that a write was not done.
        """
        for attempt in attempts:
            name = attempt.incident_id
            if attempt.success and attempt.key.action is Action.SWITCH:
                read = self._incidents.known.get(name)
                write = self._open.get(read.incident.parent_id) if read is not None else None
                if write is not None and write.incident.happened is False:
                    return write.incident
            elif attempt.key.action is Action.VERIFY or not attempt.success:
                note = self._open.get(name)
                if note is not None:
                    return note.incident
        return None

    def _fulfilled(self, note: OpenIncident, at: float) -> list[Incident]:
        """Close an incident whose write turned out to have happened, and those that it was a substitute for."""
        closed: list[Incident] = []
        done: OpenIncident | None = note
        while done is not None:
            closed += self._incidents.close(done, IncidentState.RESOLVED, at)
            above = self._open.get(done.incident.parent_id)
            stands_in = above is not None and self._relations.stands_in(
                above.incident.call, done.incident.call
            )
            done = above if stands_in else None
        return closed

    # -- opening and closing ------------------------------------------------------------------------------------

    def _failed_again(
        self, note: OpenIncident, ticket: Ticket, outcome: Outcome, attempts: tuple[Attempt, ...]
    ) -> None:
        """Take in a further failure of the failed tool itself. The latest is that of the call that began last."""
        assert outcome.kind is not None  # noqa: S101 - only failures come here
        unsure = note.incident.uncertain_write
        note.fingerprints.setdefault(ticket.fingerprint, self._sequence)
        if len(note.fingerprints) > _MAX_FINGERPRINTS:
            del note.fingerprints[next(iter(note.fingerprints))]
        if ticket.sequence > note.repaired_at:
            note.repaired_by = ""
        if ticket.sequence < note.failed_by:
            earlier = replace(note.incident, attempts=attempts)
            note.incident = (
                in_doubt(earlier) if outcome.ambiguous and not earlier.uncertain_write else earlier
            )
            return
        note.failed_by = ticket.sequence
        latest = replace(
            note.incident,
            call=ticket.call,
            kind=outcome.kind,
            outcome=outcome,
            attempts=attempts,
            happened=None,
            changed=False,
        )
        note.incident = in_doubt(latest) if unsure else latest

    def _join_or_open(self, ticket: Ticket, outcome: Outcome, at: float, parent: str) -> OpenIncident:
        """Open an incident, unless the same call already failed in parallel: then it is the same one."""
        assert outcome.kind is not None  # noqa: S101 - only failures open incidents
        note = self._incidents.of_call(ticket.fingerprint, ticket.call.tool)
        if note is not None:
            self._failed_again(note, ticket, outcome, note.incident.attempts)
            return note
        incident = Incident(
            incident_id=f"{self.conversation}/{ticket.call.call_id}",
            conversation=self.conversation,
            call=ticket.call,
            kind=outcome.kind,
            outcome=outcome,
            opened_at=at,
            parent_id=parent,
        )
        since = {ticket.fingerprint: self._sequence}
        note = OpenIncident(incident, since, failed_by=ticket.sequence, turn=ticket.turn)
        self._renew(note, ticket)
        self._incidents.add(note)
        return note

    def _renew(self, note: OpenIncident, ticket: Ticket) -> None:
        """Give an incident its time from now on. What ran beside this call is answered in turn, and takes time too."""
        begun = self._sequence - ticket.sequence
        note.renew(self._sequence, self._sequence + PATIENCE + begun + ticket.beside)

    def suspect(
        self, call: ToolCall, fingerprint: str, outcome: Outcome, at: float, *, undone: bool = False
    ) -> Incident:
        """Open an incident for a call that had seemed to succeed: a check or a person found it wrong, or ``undone``."""
        note = self._join_or_open(Ticket(call, fingerprint, self._sequence), outcome, at, "")
        if undone:
            note.incident = replace(note.incident, happened=False)
        return note.incident

    def restore(self, incident: Incident, fingerprint: str) -> None:
        """Go on with an incident of an earlier process, or of another one."""
        if incident.incident_id not in self._open:
            until = self._sequence + PATIENCE
            self._incidents.add(OpenIncident(incident, {fingerprint: self._sequence}, until=until))

    def spell_out(self, incident_id: str, call: ToolCall, fingerprint: str) -> None:
        """Say of a restored incident what the failed call asked for, whose arguments were not kept: the same as this."""
        note = self._open.get(incident_id)
        if note is not None and not note.incident.call.arguments:
            known = replace(note.incident.call, arguments=call.arguments)
            note.incident = replace(note.incident, call=known)
            note.fingerprints[fingerprint] = self._sequence

    def _note_repair(self, ticket: Ticket) -> None:
        for incident_id, note in self._open.items():
            if incident_id in ticket.seen and self._relations.repairs(note.incident.call, ticket.call):
                note.repaired_by, note.repaired_at = ticket.call.tool, self._sequence
                self._renew(note, ticket)

    def _note_change(self) -> None:
        for note in self._open.values():
            note.incident = replace(note.incident, changed=True)

    def _escalated(self, ending: Ending, closed: list[Incident]) -> Learned:
        """Close every incident that was open before; the newest one is the attempt's, so that one call counts once."""
        attempts: tuple[Attempt, ...] = ()
        known = self._incidents.known_to(ending.ticket)
        notes = [*known.values()]
        if notes:
            attempts = (self._attempt(notes[-1], Match(Action.ESCALATE, ending.ticket.call.tool), ending),)
            newest = notes[-1]
            newest.incident = replace(newest.incident, attempts=(*newest.incident.attempts, *attempts))
        for note in notes:
            if note.incident.incident_id in self._open:
                closed += self._incidents.close(note, IncidentState.ESCALATED, ending.at)
        return Learned(ending.outcome, attempts, closed=tuple(closed))
