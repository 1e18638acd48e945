"""What is learned from calls, as it happens: trackers, facts, evidence and health behind one lock.

The ledger holds what a process knows now and hands every finished call to the writer; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from btm.events import Hooks, IncidentClosed, IncidentOpened
from btm.fallback import FallbackMap
from btm.learning.judging import NOT_YET
from btm.learning.posterior import BetaPosterior, Share
from btm.learning.tracker import Learned, Ticket
from btm.model import Action, Attempt, Effect, ErrorKind, EvidenceKey, Incident, ToolCall
from btm.runtime.breaker import Breaker
from btm.runtime.conditions import ToolConditions
from btm.runtime.confirmable_reads import ConfirmableReads
from btm.runtime.conversations import LiveConversations
from btm.runtime.evidence import BeliefFunction, Credit
from btm.runtime.intents import Intents, UncertainWrites
from btm.runtime.naming import Namer
from btm.runtime.outcomes import ResultSchemas, outcome_of
from btm.runtime.taught import TaughtAnswers
from btm.store import CallEvent, Event, RecentCall, ShapeRow, Snapshot, WriteLog
from btm.support.untrusted import bounded_json, redact

_ARGUMENTS_LIMIT = 4_000


class Ledger:
    """The live state of a memory. Every public method is thread-safe and short."""

    def __init__(
        self,
        snapshot: Snapshot,
        fallback_map: FallbackMap,
        *,
        clock: Callable[[], float],
        emit: Callable[[Event], None],
        hooks: Hooks | None = None,
        believe: BeliefFunction,
        write_log: WriteLog | None = None,
        strict_writes: bool = False,
        store_arguments: bool = False,
        learn_shapes: bool = False,
        breaker: Breaker | None = None,
    ) -> None:
        self.taught = TaughtAnswers(snapshot.taught)
        self._map = fallback_map
        self.namer: Namer | None = None
        self._clock = clock
        self._emit = emit
        self._hooks = hooks or Hooks()
        self._store_arguments = store_arguments
        self._credit = Credit(snapshot, believe)
        self._shapes = ResultSchemas(snapshot.shapes) if learn_shapes else None
        self._intents = Intents(write_log, snapshot.hash_key, fallback_map, emit, strict=strict_writes)
        self.conversations = LiveConversations(
            fallback_map,
            snapshot.hash_key,
            snapshot.left_open,
            clock=clock,
            emit=emit,
            hooks=self._hooks,
        )
        self.writes = UncertainWrites(self.conversations, self._intents, fallback_map, clock)
        self.reads = ConfirmableReads(self.conversations, fallback_map)
        self.conditions = ToolConditions(
            self.conversations, fallback_map, breaker, snapshot.recent_calls, clock=clock, hooks=self._hooks
        )

    # -- a call ---------------------------------------------------------------------------------------------------

    def begin(self, call: ToolCall, print_: str = "") -> Ticket:
        """Note that a call begins. ``print_`` is its fingerprint, where that is known."""
        print_ = print_ or self.conversations.fingerprint(call)
        now = self._clock()
        if call.effect is Effect.WRITE:
            self._intents.begin(call, print_, now, None)  # unless ``writes.standing`` did
        return self.conversations.begin(call, print_, now)

    def finish(self, ticket: Ticket, result: Any = None, error: Exception | None = None) -> Learned:
        """Take in what came of a call: name it, give credit, note values, hand it to the writer."""
        call, now = ticket.call, self._clock()
        shape = self._shapes.profile(call.tool) if self._shapes is not None else None
        outcome = outcome_of(call, result, error, self._map, now=now, shape=shape)
        answer = result if error is None else error
        outcome = self.taught.applied(outcome, call, answer)
        if self.namer is not None:
            self.namer.consider(call, outcome, answer)
        if call.effect is Effect.WRITE:
            self._intents.end(call, outcome)
        with self.conversations.lock:
            conversation = self.conversations.finish(ticket)
            if conversation is None:
                tracker = self.conversations.get(call.conversation).tracker
                return Learned(outcome, incident=tracker.incident_of(ticket.fingerprint, call.tool))
            learned = conversation.tracker.finish(
                ticket, outcome, at=now, latency_s=now - ticket.at, result=result
            )
            outcome = learned.outcome
            ok = outcome.kind is None
            self._credit.give(learned.attempts, now)
            if outcome.kind is ErrorKind.FACTUAL_ERROR:
                conversation.reads.doubt(call.tool)
            if call.effect is Effect.WRITE and (ok or outcome.ambiguous):
                conversation.reads.forget()  # what was read before what may have changed things is not held against
            kind = None if outcome.rule == NOT_YET else outcome.kind
            self.conditions.note(call, kind, now, ticket.at, ticket.order, self.conversations.begun)
            shapes: tuple[ShapeRow, ...] = ()
            if ok:
                if self._map.tools:
                    conversation.facts.note(call.tool, call.arguments, result)
                    self.reads.note(conversation, call, result)
                if self._shapes is not None:
                    shapes = self._shapes.learn(call.tool, result)
            # Under the lock, so that events are written in the order in which they were learned.
            self._emit(self._event(ticket, learned, now, shapes))
            if learned.attempts or learned.closed:
                self.writes.settle(conversation.tracker, learned)
            if learned.undone is not None:
                self._credit.turn([attempt for attempt in learned.undone.attempts if attempt.success])
                self.conversations.found_undone(learned.undone.incident)
                learned = learned._replace(incident=learned.incident or learned.undone.incident)
            if learned.opened and learned.incident is not None:
                self._hooks.post(IncidentOpened(learned.incident))
            for incident in learned.closed:
                self._hooks.post(IncidentClosed(incident))
            return learned

    def _event(self, ticket: Ticket, learned: Learned, now: float, shapes: tuple[ShapeRow, ...]) -> CallEvent:
        failed = () if learned.incident is None or learned.outcome.kind is None else (learned.incident,)
        arguments = None
        if self._store_arguments:
            arguments = redact(bounded_json(ticket.call.arguments, _ARGUMENTS_LIMIT), _ARGUMENTS_LIMIT)
        return CallEvent(
            call=ticket.call,
            fingerprint=ticket.fingerprint,
            outcome=learned.outcome,
            ended_at=now,
            latency_s=now - ticket.at,
            arguments=arguments,
            attempts=learned.attempts,
            incidents=(*failed, *learned.closed),
            shapes=shapes,
        )

    def forget_shape(self, tool: str) -> None:
        """Forget what a tool's good results looked like."""
        if self._shapes is not None:
            with self.conversations.lock:
                self._shapes.forget(tool)

    def known(self, conversation: str) -> Mapping[str, Any]:
        """Return a copy of the values seen in a conversation, by field name."""
        with self.conversations.lock:
            return dict(self.conversations.get(conversation).facts.known)

    def now(self) -> float:
        """Return the time of the ledger's clock."""
        return self._clock()

    # -- incidents --------------------------------------------------------------------------------------------------

    def incident(self, conversation: str, incident_id: str) -> Incident | None:
        """Return an incident as it stands now, or None when it is closed."""
        with self.conversations.lock:
            return self.conversations.get(conversation).tracker.incident(incident_id)

    def would_answer(self, call: ToolCall) -> tuple[Incident, Action] | None:
        """Return the open incident on which a call that was not made yet would be an attempt, and as which action."""
        with self.conversations.lock:
            conversation = self.conversations.find(call.conversation)
            if conversation is None or not conversation.tracker.open_incidents:
                return None
            print_ = self.conversations.fingerprint(call)
            return conversation.tracker.would_answer(call, print_)

    def withdraw(self, call: ToolCall) -> None:
        """Give up what a call was to recover: a person refused it."""
        print_ = self.conversations.fingerprint(call)
        with self.conversations.lock:
            conversation = self.conversations.find(call.conversation)
            if conversation is not None:
                self.conversations.closed(conversation.tracker.withdraw(call, print_, self._clock()))

    # -- numbers ----------------------------------------------------------------------------------------------------

    def believed(self, keys: Iterable[EvidenceKey], now: float) -> dict[EvidenceKey, BetaPosterior]:
        """Return what is believed about keys."""
        with self.conversations.lock:
            return self._credit.about(keys, now)

    def shares(self, key: EvidenceKey) -> tuple[Share, ...]:
        """Return level by level how the belief about one key comes about."""
        with self.conversations.lock:
            return self._credit.shares(key, self._clock())

    def beliefs(self) -> list[tuple[EvidenceKey, BetaPosterior]]:
        """Return every key that has evidence, with its belief as of now."""
        with self.conversations.lock:
            return self._credit.beliefs(self._clock())

    def stood_in(self, tool: str, kind: ErrorKind, now: float) -> tuple[str, ...]:
        """Return the tools that answered after this failure before, the most proven first."""
        with self.conversations.lock:
            return self._credit.stood_in(tool, kind, now)

    def take_in_others(self, calls: Iterable[RecentCall]) -> None:
        """Take in how calls of other processes ended; those of this one are passed over."""
        with self.conversations.lock:
            others = (c for c in calls if not self.conversations.knows(c.conversation, c.call_id))
            self.conditions.take_in(others)

    def retract(self, events: Iterable[CallEvent]) -> None:
        """Take back what calls taught: the store had them already, from another process or an earlier run."""
        with self.conversations.lock:
            for item in events:
                self._credit.take_back(item.attempts)

    def moved(self, attempts: Iterable[Attempt]) -> None:
        """Turn attempts that had counted as successes into failures."""
        with self.conversations.lock:
            self._credit.turn(attempts)
