"""The conversations that are followed now, each with its tracker and what was seen in it, and which of their calls is which.

A run that is resumed or replayed makes its calls again, with the ids they had: the same call that comes again counts once.
Calls are remembered beyond the end of their conversation; the store knows every one, and this is what keeps a replay from
opening incidents and giving credit in the meantime. But many servers number the calls of every turn anew ("0", "call_0"),
so the id alone does not tell:

* the same id for another tool, or with other arguments, is another call;
* the same id asked for by another answer of the model (see :class:`~btm.support.call_ids.Turn`) is another call;
* where neither is known to differ, it is the same call.

The first call with an id keeps it as its name; the others get names that are the same in every run.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from btm.events import Hooks, IncidentClosed, IncidentOpened
from btm.fallback import FallbackMap
from btm.fallback.relations import MapRelations
from btm.learning.tracker import ConversationTracker, Ticket
from btm.model import ErrorKind, Incident, Outcome, ToolCall
from btm.runtime.known_values import Facts, Reads
from btm.store import Event, IncidentEvent
from btm.support.call_ids import NO_TURN, Turn, name_beside
from btm.support.forks import go_on_in_children
from btm.support.untrusted import fingerprint

MAX_CONVERSATIONS = 2_000
"""LiveConversations that are followed at once; the one longest unused is ended to make room."""

MAX_FINISHED = 65_536
"""Calls that are remembered; beyond them the oldest are forgotten."""


@dataclass(slots=True)
class ConversationState:
    """What is known of one conversation."""

    tracker: ConversationTracker
    facts: Facts = field(default_factory=Facts)
    reads: Reads = field(default_factory=Reads)
    suspected: tuple[str, ErrorKind] | None = (
        None  # tool and failure of the agent's latest answer, if in doubt
    )


class LiveConversations:
    """The conversations of a process. Hold ``lock`` while using what :meth:`get` and :meth:`find` return.

    ``left_open`` are incidents of earlier processes, with the fingerprints of their calls: they go on when their
    conversation does.
    """

    def __init__(
        self,
        fallback_map: FallbackMap,
        key: bytes,
        left_open: Iterable[tuple[Incident, str]],
        *,
        clock: Callable[[], float],
        emit: Callable[[Event], None],
        hooks: Hooks,
    ) -> None:
        self._key = key
        self._relations = MapRelations(fallback_map)
        self._clock, self._emit, self._hooks = clock, emit, hooks
        self._known: OrderedDict[str, ConversationState] = OrderedDict()
        self._left_open: dict[str, list[tuple[Incident, str]]] = {}
        for incident, print_ in left_open:
            self._left_open.setdefault(incident.conversation, []).append((incident, print_))
        self._left = 0
        self._finished = Finished()
        self.begun = 0
        """How many calls have begun, in all conversations."""
        self.lock = threading.RLock()
        go_on_in_children(self)

    def after_fork(self) -> None:
        """Give a forked child a lock of its own: the parent's may be held by a thread that the child does not have."""
        self.lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._known)

    def fingerprint(self, call: ToolCall) -> str:
        """Return the keyed hash of a call's tool and arguments."""
        return self.digest(call.tool, call.arguments)

    def digest(self, tool: str, values: Any) -> str:
        """Return the keyed hash of values that belong to a tool."""
        return fingerprint(tool, values, self._key)

    def get(self, name: str) -> ConversationState:
        """Return a conversation, which begins now if it was not known."""
        found = self._known.get(name)
        if found is not None:
            self._known.move_to_end(name)
            return found
        tracker = ConversationTracker(name, self._relations)
        found = self._known[name] = ConversationState(tracker)
        for incident, print_ in self._left_open.pop(name, ()):
            tracker.restore(incident, print_)
        if len(self._known) > MAX_CONVERSATIONS:
            self.end(next(iter(self._known)))
        return found

    def told_apart(self, call: ToolCall, turn: Turn = NO_TURN) -> tuple[ToolCall, str]:
        """Return a call under a name that no other call has, if its id is taken, and its fingerprint."""
        print_ = self.fingerprint(call)
        with self.lock:
            name = self._finished.name(call.conversation, call.call_id, print_, turn)
        return (call if name == call.call_id else replace(call, call_id=name)), print_

    def begin(self, call: ToolCall, print_: str, at: float) -> Ticket:
        """Note that a call begins; the ticket of a replay has no number."""
        with self.lock:
            conversation = self.get(call.conversation)
            turn = self._finished.asked_by(call.conversation, call.call_id)
            if turn is None:
                return Ticket(call, print_, at=at)
            self.begun += 1
            return conversation.tracker.begin(call, print_, at, turn, order=self.begun)

    def finish(self, ticket: Ticket) -> ConversationState | None:
        """Note that a call has ended, and return its conversation; None where that teaches nothing. Hold the lock.

        A replay teaches nothing; of two watchers of one call the first to finish teaches.
        """
        call = ticket.call
        new = ticket.sequence and self._finished.add(call.conversation, call.call_id)
        return self.get(call.conversation) if new else None

    def knows(self, conversation: str, call_id: str) -> bool:
        """Whether a call was taken in."""
        return (conversation, call_id) in self._finished

    def find(self, name: str) -> ConversationState | None:
        """Return a conversation if it is known."""
        return self._known.get(name)

    def answered(self, call: ToolCall, outcome: Outcome) -> None:
        """Keep whether the answer to a call of the agent's own may be an error text, until its next call has ended."""
        found = self.find(call.conversation)
        if found is not None:
            found.suspected = (call.tool, outcome.suspected) if outcome.suspected is not None else None

    def suspected(self, name: str) -> tuple[str, ErrorKind] | None:
        """Return the tool and failure of the answer that the agent had last, where it may be an error text."""
        found = self.find(name)
        return found.suspected if found is not None else None

    def open_incidents(self, name: str) -> tuple[Incident, ...]:
        """Return a conversation's open incidents, oldest first."""
        with self.lock:
            return self.get(name).tracker.open_incidents

    def end(self, name: str) -> None:
        """End a conversation: its open incidents are abandoned, and what was seen in it is forgotten."""
        with self.lock:
            conversation = self._known.pop(name, None)
            if conversation is not None:
                self._left += conversation.tracker.left_for_room
                self.closed(conversation.tracker.end(self._clock()))

    def end_all(self) -> None:
        """End every conversation."""
        with self.lock:
            names = list(self._known)
        for name in names:
            self.end(name)

    @property
    def incidents_left(self) -> int:
        """Incidents that were abandoned because too many of their conversation were open."""
        with self.lock:
            return self._left + sum(c.tracker.left_for_room for c in self._known.values())

    def closed(self, incidents: tuple[Incident, ...]) -> None:
        """Tell the writer and the hooks of incidents that no call closed."""
        if incidents:
            self._emit(IncidentEvent(incidents))
            for incident in incidents:
                self._hooks.post(IncidentClosed(incident))

    def suspect(self, call: ToolCall, outcome: Outcome) -> Incident:
        """Open an incident for a call that seemed to succeed or was not made."""
        with self.lock:
            tracker = self.get(call.conversation).tracker
            incident = tracker.suspect(call, self.fingerprint(call), outcome, self._clock())
            self._emit(IncidentEvent((incident,)))
            self._hooks.post(IncidentOpened(incident))
        return incident

    def found_undone(self, incident: Incident) -> None:
        """Tell the writer and the hooks of a write that had answered well and was not done."""
        call = incident.call
        self._emit(IncidentEvent((incident,), (call.conversation, call.call_id, incident.kind)))
        self._hooks.post(IncidentOpened(incident))


_Known = tuple[str, str, bool]
"""Of the call that has a name: its fingerprint, the turn that asked, whether it is finished."""

_UNKNOWN: _Known = ("", "", False)


class Finished:
    """The names of calls, and which of them are finished. Not thread-safe: its owner holds the lock."""

    def __init__(self, limit: int = MAX_FINISHED) -> None:
        self._limit = limit
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def name(self, conversation: str, call_id: str, fingerprint: str, turn: Turn = NO_TURN) -> str:
        """Return the name of a call that comes with an id. ``fingerprint`` is that of its tool and arguments."""
        name, asked_by = call_id, turn.name
        if asked_by:
            known = self._known.get((conversation, call_id))
            if turn.repeats or (known is not None and known[1] not in ("", asked_by)):
                name = f"{call_id}@{asked_by}"
        place = conversation, name
        known = self._known.get(place)
        if known is None:
            self._keep(place, (fingerprint, asked_by, False))
            return name
        if asked_by and not known[1] and known[0] == fingerprint:
            self._known[place] = (fingerprint, asked_by, known[2])
        return name_beside(name, fingerprint, known[0])

    def asked_by(self, conversation: str, name: str) -> str | None:
        """Return which answer of the model asked for a call, ``""`` where that is not known, None if it was taken in."""
        _, asked_by, finished = self._known.get((conversation, name), _UNKNOWN)
        return None if finished else asked_by

    def add(self, conversation: str, call_id: str) -> bool:
        """Note that a call was taken in; return whether it had not been before."""
        place = (conversation, call_id)
        fingerprint, asked_by, finished = self._known.get(place, _UNKNOWN)
        if not finished:
            self._keep(place, (fingerprint, asked_by, True))
        return not finished

    def _keep(self, place: tuple[str, str], known: _Known) -> None:
        self._known[place] = known
        if len(self._known) > self._limit:
            self._known.popitem(last=False)

    def __contains__(self, call: tuple[str, str]) -> bool:
        """Whether a call, given as (conversation, name), was taken in."""
        known = self._known.get(call)
        return known is not None and known[2]

    def __len__(self) -> int:
        return len(self._known)
