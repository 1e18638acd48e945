"""Writes are noted before they run, so that no process, thread or restart repeats one that may have happened.

What this process began is known here; what others did, and what this one did before, is in the database. A write found
begun and not finished may have happened; while the process that began it runs, it is not even checked, for the check
could come before the write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import orjson

from btm.fallback import FallbackMap
from btm.fallback.wishes import same_marks, wish_marks
from btm.learning.tracker import ConversationTracker, Learned
from btm.model import Action, Effect, ErrorKind, Incident, IncidentState, Outcome, ToolCall
from btm.runtime.conversations import LiveConversations
from btm.store import Event, Intent, IntentEvent, IntentState, WriteLog
from btm.support.bounded import BoundedDict
from btm.support.effects import cannot_be_undone
from btm.support.failsafe import safely
from btm.support.forks import go_on_in_children
from btm.support.process_identity import is_running, own

MAX_KNOWN = 10_000
"""Writes in doubt, and settled ones, that a process knows of itself; the oldest are left to the database."""

LEASE_S = 900.0
"""How long a write of a process on another machine is taken to be running, in seconds."""

_Name = tuple[str, str]
_NOT_FINISHED = "begun and not finished, as far as anyone knows"


class Intents:
    """The writes of a memory. Thread-safe; nothing waits for it but a write that must be noted on the disk first."""

    def __init__(
        self,
        log: WriteLog | None,
        key: bytes,
        fallback_map: FallbackMap,
        emit: Callable[[Event], None],
        *,
        strict: bool = False,
    ) -> None:
        self._log, self._key, self._map, self._emit, self._strict = log, key, fallback_map, emit, strict
        self._running: dict[_Name, Intent] = {}
        self._doubts: BoundedDict[_Name, Intent] = BoundedDict(MAX_KNOWN)
        self._settled: BoundedDict[_Name, Intent | None] = BoundedDict(MAX_KNOWN)
        self._lock = threading.Lock()
        go_on_in_children(self)

    def after_fork(self) -> None:
        """Leave what runs to the parent."""
        self._lock = threading.Lock()
        self._running = {}

    def concerns(self, call: ToolCall) -> bool:
        """Whether a call is a write that must not be made twice."""
        return call.effect is Effect.WRITE and not self._map.idempotent(call.tool)

    def _is_final(self, tool: str) -> bool:
        """Whether a write cannot be undone: by the map, or by its name where the map does not know it."""
        return self._map.entry(tool).irreversible if tool in self._map.tools else cannot_be_undone(tool)

    # -- what stands in the way -------------------------------------------------------------------------------------

    def unsettled(self, conversation: str) -> list[Intent]:
        """Return a conversation's writes, of every process, of which it is not known whether they happened."""
        with self._lock:
            mine = [
                i for i in (*self._doubts.values(), *self._running.values()) if i.conversation == conversation
            ]
        known = {_name(i) for i in mine}
        others = safely(self._log.unsettled, conversation) if self._log is not None else None
        new = (i for i in others or () if _name(i) not in known and _name(i) not in self._settled)
        return [*new, *mine]

    def runs(self, intent: Intent, now: float) -> bool:
        """Whether a write may be running at this moment."""
        if intent.state is not IntentState.BEGUN:
            return False
        if intent.owner == own():
            return _name(intent) in self._running
        running = is_running(intent.owner)
        return now - intent.at < LEASE_S if running is None else running

    def same_wish(self, intent: Intent, call: ToolCall, fingerprint: str) -> bool:
        """Whether a call asks for what a noted write did."""
        if intent.tool != call.tool:
            return False
        if intent.fingerprint == fingerprint:
            return True
        identity = self._map.entry(call.tool).identity
        return same_marks(_marks(intent), wish_marks(call.arguments, self._key, identity), identity)

    # -- a write ----------------------------------------------------------------------------------------------------

    def begin(
        self, call: ToolCall, fingerprint: str, at: float, passed: Collection[str] | None
    ) -> Intent | None:
        """Note a write before it runs, if it must not be made twice; return the one that stands in its way.

        ``passed`` names the calls that were judged and do not; None: nothing does, this only notes.
        """
        if not self.concerns(call):
            return None
        name = call.conversation, call.call_id
        if passed is None and name in self._running:
            return None  # prepared and noted when it was asked what stands in its way
        identity = self._map.entry(call.tool).identity
        wish = orjson.dumps(wish_marks(call.arguments, self._key, identity)).decode()
        keep = self._strict or self._is_final(call.tool)
        intent = Intent(*name, call.tool, fingerprint, at, wish=wish, owner=own(), keep=keep)

        again = name in self._settled  # what the database says of this very call is older than that

        def blocks(other: Intent) -> bool:
            if passed is None:
                return False
            its = _name(other)
            if its == name and other.state is IntentState.DONE:
                return other.fingerprint == fingerprint
            settled = other.state.settled or its in self._settled or (again and its == name)
            if settled or not self.same_wish(other, call, fingerprint):
                return False
            return other.call_id not in passed or self.runs(other, at)

        with self._lock:
            if name in self._running:
                return self._running[name] if passed is not None else None
            done = self._settled.get(name)
            if done is not None and blocks(done):  # the database may not have heard of it yet
                return done
            standing = next(
                (i for i in self._running.values() if i.conversation == name[0] and blocks(i)), None
            )
            if standing is not None:
                return standing
            self._running[name] = intent
            self._settled.pop(name, None)
        if keep and self._log is not None:
            noted: list[Intent | None] = []
            safely(lambda: noted.append(self._log.claim(intent, blocks)))  # type: ignore[union-attr]
            if noted:
                if noted[0] is not None:
                    with self._lock:
                        self._running.pop(name, None)
                return noted[0]
        self._emit(IntentEvent(intent))
        return None

    def end(self, call: ToolCall, outcome: Outcome) -> None:
        """Note how a write ended; the database learns it from the call itself."""
        with self._lock:
            intent = self._running.pop((call.conversation, call.call_id), None)
            if intent is None:
                return
            if outcome.ambiguous and not outcome.ok:
                self._doubts[_name(intent)] = intent._replace(state=IntentState.DOUBT, kind=outcome.kind)
            else:  # the database may still say that it runs
                done = intent._replace(state=IntentState.DONE) if outcome.ok and intent.keep else None
                self._no_more(_name(intent), done)

    def interrupted(self, call: ToolCall, *, made: bool) -> None:
        """Note that a write was broken off. ``made``: it may have happened; else it comes again or never ran."""
        with self._lock:
            intent = self._running.pop((call.conversation, call.call_id), None)
            if intent is None:
                return
            intent = intent._replace(state=IntentState.DOUBT if made else IntentState.NOT_DONE)
            if made:
                self._doubts[_name(intent)] = intent
            else:
                self._no_more(_name(intent))
        self._emit(IntentEvent(intent))

    def settle(self, conversation: str, call_ids: Iterable[str], *, happened: bool) -> None:
        """Note that it turned out whether writes happened."""
        state = IntentState.DONE if happened else IntentState.NOT_DONE
        for call_id in call_ids:
            with self._lock:
                self._no_more((conversation, call_id))
            self._emit(IntentEvent(Intent(conversation, call_id, "", "", 0.0, state)))

    def _no_more(self, name: _Name, done: Intent | None = None) -> None:
        """Note that a write is settled, whatever the database says until it has heard of it.

        ``done`` is one that worked and must not be made twice.
        """
        self._doubts.pop(name, None)
        self._settled[name] = done


def incident_of(intent: Intent, call: ToolCall | None = None) -> Incident:
    """Return a write in doubt as the incident that it is. ``call`` asks for the same, and so has its arguments."""
    asked = call.arguments if call is not None else {}
    failed = ToolCall(intent.tool, asked, Effect.WRITE, intent.conversation, intent.call_id)
    kind = intent.kind or ErrorKind.UNKNOWN
    detail = "" if intent.kind else _NOT_FINISHED
    happened = True if intent.state is IntentState.DONE else None
    return Incident(
        f"{intent.conversation}/{intent.call_id}",
        intent.conversation,
        failed,
        kind,
        Outcome(kind, detail, ambiguous=True, rule="noted-before-it-ran"),
        intent.at,
        happened=happened,
    )


def _name(intent: Intent) -> _Name:
    return intent.conversation, intent.call_id


def _marks(intent: Intent) -> dict[str, str]:
    found: dict[str, str] = orjson.loads(intent.wish) if intent.wish else {}
    return found


class UncertainWrites:
    """Writes that may have happened: the intents of a memory against the incidents of its conversations. Thread-safe."""

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
