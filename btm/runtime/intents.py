"""Writes are noted before they run, so that no process, thread or restart repeats one that may have happened.

What this process began is known here; what others did, and what this one did before, is in the database. A write found
begun and not finished may have happened; while the process that began it runs, it is not even checked, for the check
could come before the write.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable

import orjson

from btm.fallback import FallbackMap
from btm.fallback.wishes import same_marks, wish_marks
from btm.model import Effect, ErrorKind, Incident, Outcome, ToolCall
from btm.store import Event, Intent, IntentEvent, IntentState, WriteLog
from btm.support.failsafe import safely
from btm.support.forks import go_on_in_children
from btm.support.irreversible import cannot_be_undone
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
        self._doubts: OrderedDict[_Name, Intent] = OrderedDict()
        self._settled: OrderedDict[_Name, Intent | None] = OrderedDict()
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
        return self._map.irreversible(tool) if tool in self._map.tools else cannot_be_undone(tool)

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
        identity = self._map.identity(call.tool)
        return same_marks(_marks(intent), wish_marks(call.arguments, self._key, identity), identity)

    # -- a write ----------------------------------------------------------------------------------------------------

    def begin(
        self, call: ToolCall, fingerprint: str, at: float, passed: Collection[str] | None
    ) -> Intent | None:
        """Note a write before it runs; return the one that stands in its way, if there is one.

        ``passed`` names the calls that were judged and do not; None: nothing does, this only notes.
        """
        name = call.conversation, call.call_id
        identity = self._map.identity(call.tool)
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
                self._doubt(intent._replace(state=IntentState.DOUBT, kind=outcome.kind))
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
                self._doubt(intent)
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
        if len(self._settled) > MAX_KNOWN:
            self._settled.popitem(last=False)

    def _doubt(self, intent: Intent) -> None:
        self._doubts[_name(intent)] = intent
        if len(self._doubts) > MAX_KNOWN:
            self._doubts.popitem(last=False)


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
