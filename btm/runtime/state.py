"""What is learned from calls, as it happens: trackers, facts, evidence and health behind one lock.

The ledger holds what a process knows now and hands every finished call to the writer; it decides nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from btm.events import Hooks, IncidentClosed, IncidentOpened
from btm.fallback import FallbackMap
from btm.learning.posterior import BetaPosterior
from btm.learning.tracker import ConversationTracker, Learned, Ticket
from btm.model import (
    Action,
    Attempt,
    Effect,
    ErrorKind,
    EvidenceKey,
    Incident,
    IncidentState,
    Outcome,
    ToolCall,
)
from btm.planning.options import MapRelations
from btm.runtime.breaker import Began, Breaker, Circuits, Down
from btm.runtime.deduplication import Finished
from btm.runtime.done_writes import DoneWrites, undone_outcome
from btm.runtime.drivers import Reply
from btm.runtime.evidence import BeliefFunction, Credit
from btm.runtime.health import Health
from btm.runtime.intents import Intents, incident_of
from btm.runtime.known_values import Facts
from btm.runtime.outcomes import outcome_of
from btm.runtime.result_schemas import ResultSchemas
from btm.runtime.trust import Trust
from btm.runtime.unconfirmed_reads import Reads, SeenRead, behind
from btm.store import CallEvent, Event, IncidentEvent, RecentCall, ShapeRow, Snapshot, WriteLog
from btm.support.call_ids import NO_TURN, Turn
from btm.support.forks import go_on_in_children
from btm.support.untrusted import bounded_json, fingerprint, redact

MAX_CONVERSATIONS = 2_000
"""Conversations that are followed at once; the one longest unused is ended to make room."""

_ARGUMENTS_LIMIT = 4_000


@dataclass(slots=True)
class _ConversationState:
    tracker: ConversationTracker
    done: DoneWrites
    facts: Facts = field(default_factory=Facts)
    reads: Reads = field(default_factory=Reads)


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
        self._map = fallback_map
        self._relations = MapRelations(fallback_map)
        self._clock = clock
        self._emit = emit
        self._hooks = hooks or Hooks()
        self._store_arguments = store_arguments
        self._key = snapshot.hash_key
        self._credit = Credit(snapshot, believe)
        self._shapes = ResultSchemas(snapshot.shapes) if learn_shapes else None
        self._health = Health()
        reads = [name for name in fallback_map.tools if fallback_map.effect(name) is Effect.READ]
        self._circuits = Circuits(breaker, fallback_map.groups, reads) if breaker is not None else None
        self._note_health(snapshot.recent_calls)
        self._intents = Intents(write_log, snapshot.hash_key, fallback_map, emit, strict=strict_writes)
        self._left_open: dict[str, list[tuple[Incident, str]]] = {}
        for incident, print_ in snapshot.left_open:
            self._left_open.setdefault(incident.conversation, []).append((incident, print_))
        self._conversations: OrderedDict[str, _ConversationState] = OrderedDict()
        self._left = 0
        self._finished = Finished()
        self._trust = Trust()
        self._begun = 0
        self._lock = threading.RLock()
        go_on_in_children(self)

    # -- a call ---------------------------------------------------------------------------------------------------

    def told_apart(self, call: ToolCall, turn: Turn = NO_TURN) -> tuple[ToolCall, str]:
        """Return a call under a name that no other call has, if its id is taken, and its fingerprint.

        See :mod:`btm.runtime.deduplication`.
        """
        print_ = fingerprint(call.tool, call.arguments, self._key)
        with self._lock:
            name = self._finished.name(call.conversation, call.call_id, print_, turn)
        return (call if name == call.call_id else replace(call, call_id=name)), print_

    def begin(self, call: ToolCall, print_: str = "") -> Ticket:
        """Note that a call begins. ``print_`` is its fingerprint where :meth:`told_apart` gave it already."""
        print_ = print_ or fingerprint(call.tool, call.arguments, self._key)
        now = self._clock()
        if self._intents.concerns(call):
            self._intents.begin(call, print_, now, None)  # unless :meth:`standing` did
        with self._lock:
            conversation = self._conversation(call.conversation)
            if (call.conversation, call.call_id) in self._finished:
                return Ticket(call, print_, at=now)
            self._begun += 1
            return conversation.tracker.begin(call, print_, now)._replace(order=self._begun)

    # -- writes that may have happened ------------------------------------------------------------------------------

    def take_up(self, call: ToolCall, print_: str = "") -> None:
        """Before a write: go on with those of its conversation that may have happened, in whatever process."""
        if not self._intents.concerns(call):
            return
        print_ = print_ or fingerprint(call.tool, call.arguments, self._key)
        now = self._clock()
        found = self._intents.unsettled(call.conversation)
        with self._lock:
            tracker = self._conversation(call.conversation).tracker
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
        print_ = print_ or fingerprint(call.tool, call.arguments, self._key)
        with self._lock:
            open_ = self._conversation(call.conversation).tracker.open_incidents
            passed = {call_id for incident in open_ for call_id in _calls_of(incident)}
        found = self._intents.begin(call, print_, self._clock(), passed)
        return None if found is None else incident_of(found, call)

    def may_have_happened(self, call: ToolCall) -> bool:
        """Whether the same was begun before, and nobody has found out that it did not happen."""
        if not self._intents.concerns(call):
            return False
        print_ = fingerprint(call.tool, call.arguments, self._key)
        found = self._intents.unsettled(call.conversation)
        same = {i.call_id for i in found if self._intents.same_wish(i, call, print_)}
        if not same:
            return False
        with self._lock:
            open_ = self._conversation(call.conversation).tracker.open_incidents
        return bool(same - {i for one in open_ if one.happened is False for i in _calls_of(one)})

    def interrupted(self, call: ToolCall, made: bool) -> None:
        """Note that a call was broken off; ``made`` says whether it may have run to its end."""
        self._intents.interrupted(call, made=made)

    def finish(self, ticket: Ticket, reply: Reply) -> Learned:
        """Take in what came of a call: name it, give credit, note values, hand it to the writer."""
        call, now = ticket.call, self._clock()
        shape = self._shapes.profile(call.tool) if self._shapes is not None else None
        outcome = outcome_of(call, reply.result, reply.error, self._map, now=now, shape=shape)
        if self._intents.concerns(call):
            self._intents.end(call, outcome)
        with self._lock:
            conversation = self._conversation(call.conversation)
            # A replay teaches nothing; of two watchers of one call the first to finish teaches.
            if not ticket.sequence or (call.conversation, call.call_id) in self._finished:
                return Learned(
                    outcome, incident=conversation.tracker.incident_of(ticket.fingerprint, call.tool)
                )
            self._finished.add(call.conversation, call.call_id)
            learned = conversation.tracker.finish(
                ticket, outcome, at=now, latency_s=now - ticket.at, result=reply.result
            )
            outcome = learned.outcome
            self._credit.give(learned.attempts, now)
            if outcome.kind is ErrorKind.FACTUAL_ERROR:
                conversation.reads.doubt(call.tool)
            began = Began(ticket.at, ticket.order, self._begun)
            self._note_ended(call, outcome.kind, now, began)
            shapes: tuple[ShapeRow, ...] = ()
            if outcome.ok:
                if self._map.tools:
                    self._note_values(conversation, call, reply.result)
                if self._shapes is not None:
                    shapes = self._shapes.learn(call.tool, reply.result)
            # Under the lock, so that events are written in the order in which they were learned.
            self._emit(self._event(ticket, learned, now, shapes))
            self._settle(conversation.tracker, learned)
            if outcome.ok:
                learned = self._held_against_writes(conversation, ticket, learned, now, reply.result)
            if learned.opened and learned.incident is not None:
                self._hooks.post(IncidentOpened(learned.incident))
            self._post_closed(learned.closed)
            return learned

    def _held_against_writes(
        self, conversation: _ConversationState, ticket: Ticket, learned: Learned, now: float, result: Any
    ) -> Learned:
        """Keep a write that answered well; hold a read against those kept: one that was not done had failed after all."""
        call = ticket.call
        if call.effect is Effect.WRITE:
            conversation.done.keep(call, now, learned.attempts)
            return learned
        write = conversation.done.undone(call, ticket.at, result)
        if write is None:
            return learned
        self._credit.turn([attempt for attempt in write.attempts if attempt.success])
        print_ = fingerprint(write.call.tool, write.call.arguments, self._key)
        incident = conversation.tracker.suspect(write.call, print_, undone_outcome(write, call), now)
        wrong = (write.call.conversation, write.call.call_id, incident.kind)
        self._emit(IncidentEvent((incident,), wrong))
        self._hooks.post(IncidentOpened(incident))
        return learned if learned.incident is not None else learned._replace(incident=incident)

    def _settle(self, tracker: ConversationTracker, learned: Learned) -> None:
        """Note of writes that may have happened what the call showed about them."""
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

    def _note_values(self, conversation: _ConversationState, call: ToolCall, result: Any) -> None:
        """Note what a good result says: values for other calls, and what a second source could confirm."""
        conversation.facts.note(call.tool, call.arguments, result)
        if call.effect is Effect.WRITE:
            conversation.reads.forget()
        entry = self._map.tools.get(call.tool)
        if entry is not None and entry.cross_check is not None:
            conversation.reads.keep(call, result, self.digest)

    def _note_ended(self, call: ToolCall, kind: ErrorKind | None, at: float, began: Began) -> None:
        """Note how a call ended, for the health of its tool."""
        self._health.record(call.tool, kind is None, at)
        if self._circuits is None or self._map.general(call):
            return  # a command or a page that failed says nothing about the next one
        for change in self._circuits.record(call.tool, kind, at, call.effect, began):
            self._hooks.post(change.event())

    def _note_health(self, calls: Iterable[RecentCall]) -> None:
        for call in calls:
            made = ToolCall(call.tool, effect=call.effect)
            self._note_ended(made, call.kind, call.at, Began(call.began_at))

    def _event(self, ticket: Ticket, learned: Learned, now: float, shapes: tuple[ShapeRow, ...]) -> CallEvent:
        failed = (learned.incident,) if learned.incident is not None and not learned.outcome.ok else ()
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
            with self._lock:
                self._shapes.forget(tool)

    def with_key(self, call: ToolCall) -> ToolCall:
        """Return a call with its idempotency key, where the map names the argument that takes one.

        There is one a wish: a call that asks for what an open incident's did has that one's, whatever the agent wrote.
        """
        argument = self._map.idempotency_key(call.tool)
        if not argument:
            return call
        with self._lock:
            incidents = self._conversation(call.conversation).tracker.open_incidents
        key = next(
            (
                incident.call.arguments[argument]
                for incident in reversed(incidents)
                if argument in incident.call.arguments and self._map.same_wish(incident.call, call)
            ),
            call.arguments.get(argument),
        )
        key = key or fingerprint(call.tool, [call.conversation, call.call_id, call.arguments], self._key)
        return replace(call, arguments={**call.arguments, argument: key})

    # -- conversations ----------------------------------------------------------------------------------------------

    def _conversation(self, name: str) -> _ConversationState:
        found = self._conversations.get(name)
        if found is None:
            tracker = ConversationTracker(name, self._relations)
            found = self._conversations[name] = _ConversationState(tracker, DoneWrites(self._map))
            for incident, print_ in self._left_open.pop(name, ()):
                found.tracker.restore(incident, print_)
            if len(self._conversations) > MAX_CONVERSATIONS:
                oldest, _ = next(iter(self._conversations.items()))
                self.end(oldest)
        else:
            self._conversations.move_to_end(name)
        return found

    def end(self, name: str) -> None:
        """End a conversation: its open incidents are abandoned, and its facts forgotten."""
        with self._lock:
            conversation = self._conversations.pop(name, None)
            closed = conversation.tracker.end(self._clock()) if conversation else ()
            self._left += conversation.tracker.left_for_room if conversation else 0
            if closed:
                self._emit(IncidentEvent(closed))
                self._post_closed(closed)

    def _post_closed(self, incidents: Iterable[Incident]) -> None:
        for incident in incidents:
            self._hooks.post(IncidentClosed(incident))

    def end_all(self) -> None:
        """End every conversation."""
        with self._lock:
            names = list(self._conversations)
        for name in names:
            self.end(name)

    @property
    def incidents_left(self) -> int:
        """Incidents that were abandoned because too many of their conversation were open."""
        with self._lock:
            return self._left + sum(c.tracker.left_for_room for c in self._conversations.values())

    def known(self, conversation: str) -> Mapping[str, Any]:
        """Return a copy of the values seen in a conversation, by field name."""
        with self._lock:
            return dict(self._conversation(conversation).facts.known)

    def now(self) -> float:
        """Return the time of the ledger's clock."""
        return self._clock()

    # -- incidents --------------------------------------------------------------------------------------------------

    def incident(self, conversation: str, incident_id: str) -> Incident | None:
        """Return an incident as it stands now, or None when it is closed."""
        with self._lock:
            return self._conversation(conversation).tracker.incident(incident_id)

    def incident_for(self, call: ToolCall) -> Incident | None:
        """Return the open incident that the same call (tool and arguments) belongs to."""
        print_ = fingerprint(call.tool, call.arguments, self._key)
        with self._lock:
            return self._conversation(call.conversation).tracker.incident_of(print_, call.tool)

    def would_answer(self, call: ToolCall) -> tuple[Incident, Action] | None:
        """Return the open incident on which a call that was not made yet would be an attempt, and as which action."""
        with self._lock:
            conversation = self._conversations.get(call.conversation)
            if conversation is None or not conversation.tracker.open_incidents:
                return None
            print_ = fingerprint(call.tool, call.arguments, self._key)
            return conversation.tracker.would_answer(call, print_)

    def withdraw(self, call: ToolCall) -> None:
        """Give up what a call was to recover: a person refused it."""
        print_ = fingerprint(call.tool, call.arguments, self._key)
        with self._lock:
            conversation = self._conversations.get(call.conversation)
            closed = conversation.tracker.withdraw(call, print_, self._clock()) if conversation else ()
            if closed:
                self._emit(IncidentEvent(closed))
                self._post_closed(closed)

    # -- second sources ---------------------------------------------------------------------------------------------

    def unconfirmed_reads(self, call: ToolCall) -> tuple[SeenRead, ...]:
        """Return the reads whose values a call uses and that no second source has confirmed, newest first."""
        with self._lock:
            reads = self._conversation(call.conversation).reads.unconfirmed()
        return behind(call, reads)

    def doubtful_read(self, call: ToolCall) -> SeenRead | None:
        """Return what a read just gave, if its tool was found wrong before in this conversation."""
        with self._lock:
            return self._conversation(call.conversation).reads.doubtful(call)

    def confirm(self, conversation: str, *digests: str) -> None:
        """Note that these answers need no further second source."""
        with self._lock:
            self._conversation(conversation).reads.confirm(digests)

    def asked_to_confirm(self, conversation: str, digests: Iterable[str]) -> bool:
        """Note that the agent is asked to have these answers confirmed; return whether that is new of any."""
        with self._lock:
            return self._conversation(conversation).reads.ask(digests)

    def all_unconfirmed(self, conversation: str) -> tuple[SeenRead, ...]:
        """Return the reads of a conversation that no second source has confirmed, newest first."""
        with self._lock:
            known = self._conversations.get(conversation)
            return known.reads.unconfirmed() if known is not None else ()

    def agreed(self, tool: str) -> None:
        """Note that a second source said the same as ``tool``."""
        with self._lock:
            self._trust.agreed(tool)

    def contradicted(self, tool: str) -> None:
        """Note that a second source said otherwise than ``tool``."""
        with self._lock:
            self._trust.contradicted(tool)

    def chance_wrong(self, tool: str) -> float:
        """Return the expected chance that an answer of ``tool`` is wrong."""
        with self._lock:
            return self._trust.chance_wrong(tool)

    def suspected(self, tool: str) -> bool:
        """Whether answers of ``tool`` (or of tools at large) turned out wrong more often than is usual."""
        with self._lock:
            return self._trust.suspected(tool)

    def digest(self, call: ToolCall, result: Any) -> str:
        """Return a name for one answer to one call."""
        return fingerprint(call.tool, [call.arguments, result], self._key)

    def suspect(self, read: SeenRead, outcome: Outcome) -> Incident:
        """Open an incident for a read that had seemed to succeed."""
        with self._lock:
            conversation = self._conversation(read.call.conversation)
            conversation.reads.doubt(read.call.tool)
            tracker = conversation.tracker
            print_ = fingerprint(read.call.tool, read.call.arguments, self._key)
            incident = tracker.suspect(read.call, print_, outcome, self._clock())
            self._emit(IncidentEvent((incident,)))
            self._hooks.post(IncidentOpened(incident))
        return incident

    def after_fork(self) -> None:
        """Give a forked child a lock of its own: the parent's may be held by a thread that the child does not have."""
        self._lock = threading.RLock()
        self._intents.after_fork()

    # -- numbers ----------------------------------------------------------------------------------------------------

    def belief(self, key: EvidenceKey) -> BetaPosterior:
        """Return the belief about one key as of now."""
        with self._lock:
            return self._credit.belief(key, self._clock())

    def beliefs(self) -> list[tuple[EvidenceKey, BetaPosterior]]:
        """Return every key that has evidence, with its belief as of now."""
        with self._lock:
            return self._credit.beliefs(self._clock())

    def stood_in(self, tool: str, kind: ErrorKind) -> tuple[str, ...]:
        """Return the tools that answered after this failure before, the most proven first."""
        with self._lock:
            return self._credit.stood_in(tool, kind, self._clock())

    def health(self, tool: str) -> str:
        """Return a sentence on how a tool has been doing, or an empty one."""
        with self._lock:
            return self._health.sentence(tool, self._clock())

    def take_in_others(self, calls: Iterable[RecentCall]) -> None:
        """Take in how calls of other processes ended; those of this one are passed over."""
        with self._lock:
            self._note_health(c for c in calls if (c.conversation, c.call_id) not in self._finished)

    # -- what is down -----------------------------------------------------------------------------------------------

    def down(self, call: ToolCall) -> Down | None:
        """Return what is down if ``call`` is not to be made now; None lets it through, perhaps to try the tool."""
        if self._circuits is None or not self._circuits.any_open:
            return None
        with self._lock:
            return self._circuits.down(call.tool, call.effect, self._clock())

    @property
    def any_down(self) -> bool:
        """Whether anything is down: asked without a lock, on the way of every call."""
        return self._circuits is not None and self._circuits.any_open

    def closed_to(self, tool: str, effect: Effect) -> Down | None:
        """Return what is down if a call of ``tool`` would not be made now."""
        if self._circuits is None or not self._circuits.any_open:
            return None
        with self._lock:
            return self._circuits.closed_to(tool, self._clock(), effect)

    def not_made(self, call: ToolCall, outcome: Outcome) -> Incident:
        """Open an incident for a call that is not made at all."""
        with self._lock:
            tracker = self._conversation(call.conversation).tracker
            print_ = fingerprint(call.tool, call.arguments, self._key)
            incident = tracker.suspect(call, print_, outcome, self._clock())
            self._emit(IncidentEvent((incident,)))
            self._hooks.post(IncidentOpened(incident))
        return incident

    def worked_before(self, tool: str, *, healed: bool = False) -> bool:
        """Whether one of the latest calls of ``tool`` succeeded; ``healed``: those just before the latest all did."""
        with self._lock:
            return self._health.healed(tool) if healed else self._health.worked(tool)

    def retract(self, events: Iterable[CallEvent]) -> None:
        """Take back what calls taught: the store had them already, from another process or an earlier run."""
        with self._lock:
            for item in events:
                self._credit.take_back(item.attempts)

    def moved(self, attempts: Iterable[Attempt]) -> None:
        """Turn attempts that had counted as successes into failures."""
        with self._lock:
            self._credit.turn(attempts)


def _calls_of(incident: Incident) -> tuple[str, ...]:
    """Return the ids of the calls that made up an incident: the first one, and its repeats."""
    repeats = (a.call_id for a in incident.attempts if a.key.action in (Action.RETRY, Action.REPAIR))
    return incident.incident_id.removeprefix(f"{incident.conversation}/"), *repeats
