"""Writes that may have happened: what is noted of them, and which stand in the way of the next call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from btm.fallback import FallbackMap
from btm.learning.tracker import ConversationTracker, Learned
from btm.model import Action, Effect, Incident, IncidentState, ToolCall
from btm.runtime.conversations import LiveConversations
from btm.runtime.intents import Intents, incident_of


class UncertainWrites:
    """Holds the intents of a memory against the incidents of its conversations. Thread-safe."""

    def __init__(
        self,
        conversations: LiveConversations,
        intents: Intents,
        fallback_map: FallbackMap,
        clock: Callable[[], float],
    ) -> None:
        self._conversations, self._intents = conversations, intents
        self._map, self._clock = fallback_map, clock

    def take_up(self, call: ToolCall, print_: str = "") -> None:
        """Before a write: go on with those of its conversation that may have happened, in whatever process."""
        if not self._intents.concerns(call):
            return
        print_ = print_ or self._conversations.fingerprint(call)
        now = self._clock()
        found = self._intents.unsettled(call.conversation)
        with self._conversations.lock:
            tracker = self._conversations.get(call.conversation).tracker
            for intent in found:
                if self._intents.runs(intent, now):
                    continue
                restored = incident_of(intent)
                tracker.restore(restored, intent.fingerprint)
                if self._intents.same_wish(intent, call, print_):
                    tracker.spell_out(restored.incident_id, call, print_)

    def standing(self, call: ToolCall, print_: str = "") -> Incident | None:
        """Note a write that is about to run; return the one that stands in its way: it runs, or has been done.

        What may have happened and does not run is an open incident by now (:meth:`take_up`), and has been judged.
        """
        if not self._intents.concerns(call):
            return None
        print_ = print_ or self._conversations.fingerprint(call)
        open_ = self._conversations.open_incidents(call.conversation)
        passed = {call_id for incident in open_ for call_id in _calls_of(incident)}
        found = self._intents.begin(call, print_, self._clock(), passed)
        return None if found is None else incident_of(found, call)

    def may_have_happened(self, call: ToolCall) -> bool:
        """Whether the same was begun before, and nobody has found out that it did not happen."""
        if not self._intents.concerns(call):
            return False
        print_ = self._conversations.fingerprint(call)
        found = self._intents.unsettled(call.conversation)
        same = {i.call_id for i in found if self._intents.same_wish(i, call, print_)}
        if not same:
            return False
        open_ = self._conversations.open_incidents(call.conversation)
        return bool(same - {i for one in open_ if one.happened is False for i in _calls_of(one)})

    def interrupted(self, call: ToolCall, made: bool) -> None:
        """Note that a call was broken off; ``made`` says whether it may have run to its end."""
        self._intents.interrupted(call, made=made)

    def with_key(self, call: ToolCall) -> ToolCall:
        """Return a call with its idempotency key, where the map names the argument that takes one.

        There is one a wish: a call that asks for what an open incident's did has that one's, whatever the agent wrote.
        """
        argument = self._map.idempotency_keys.get(call.tool)
        if argument is None:
            return call
        key = next(
            (
                incident.call.arguments[argument]
                for incident in reversed(self._conversations.open_incidents(call.conversation))
                if argument in incident.call.arguments and self._map.same_wish(incident.call, call)
            ),
            call.arguments.get(argument),
        )
        wish = [call.conversation, call.call_id, call.arguments]
        key = key or self._conversations.digest(call.tool, wish)
        return replace(call, arguments={**call.arguments, argument: key})

    def settle(self, tracker: ConversationTracker, learned: Learned) -> None:
        """Note of writes that may have happened what a call showed about them."""
        done: set[str] = set()
        for incident in learned.closed:  # a wish that was fulfilled is, whichever of its substitutes did it
            if incident.state is IncidentState.RESOLVED or incident.parent_id in done:
                done.add(incident.incident_id)
                if incident.call.effect is Effect.WRITE:
                    self._intents.settle(incident.conversation, _calls_of(incident), happened=True)
        for attempt in learned.attempts:
            checked = tracker.incident(attempt.incident_id) if attempt.key.action is Action.VERIFY else None
            if checked is not None and checked.happened is False:
                self._intents.settle(checked.conversation, _calls_of(checked), happened=False)


def _calls_of(incident: Incident) -> tuple[str, ...]:
    """Return the ids of the calls that made up an incident: the first one, and its repeats."""
    repeats = (a.call_id for a in incident.attempts if a.key.action in (Action.RETRY, Action.REPAIR))
    return incident.incident_id.removeprefix(f"{incident.conversation}/"), *repeats
