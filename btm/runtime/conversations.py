"""The conversations that are followed now, each with its tracker and what was seen in it; one lock guards them all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from btm.events import Hooks, IncidentClosed, IncidentOpened
from btm.fallback import FallbackMap
from btm.learning.tracker import ConversationTracker
from btm.model import Incident, Outcome, ToolCall
from btm.planning.options import MapRelations
from btm.runtime.known_values import Facts
from btm.runtime.unconfirmed_reads import Reads
from btm.store import Event, IncidentEvent
from btm.support.forks import go_on_in_children
from btm.support.untrusted import fingerprint

MAX_CONVERSATIONS = 2_000
"""LiveConversations that are followed at once; the one longest unused is ended to make room."""


@dataclass(slots=True)
class ConversationState:
    """What is known of one conversation."""

    tracker: ConversationTracker
    facts: Facts = field(default_factory=Facts)
    reads: Reads = field(default_factory=Reads)


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

    def find(self, name: str) -> ConversationState | None:
        """Return a conversation if it is known."""
        return self._known.get(name)

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
