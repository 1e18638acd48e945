"""From recorded conversations to evidence, by the tracker that also follows live ones.

What the live path would have learned from a conversation is what fitting its log learns. A conversation in which every
call succeeded teaches nothing about recovery and costs only its classification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from btm.classify.frameworks import ToolResult
from btm.effects import guess_effect
from btm.fallback import FallbackMap
from btm.incidents import ConversationTracker
from btm.model import SUCCESS, Action, Attempt, Effect, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall
from btm.offers import MapRelations
from btm.outcomes import outcome_of
from btm.posterior import Decay
from btm.safe import fingerprint
from btm.store import EvidenceRow, FittedConversation
from btm.traces.conversation import NO_RESULT, Conversation, RecordedCall, Skipped

_MAX_SKIPPED = 10_000


@dataclass(frozen=True, slots=True)
class Told:
    """What one conversation taught: its calls' outcomes in order, and the tracker's attempts and incidents."""

    outcomes: tuple[tuple[ToolCall, Outcome], ...]
    attempts: tuple[Attempt, ...] = ()
    incidents: tuple[Incident, ...] = ()
    unanswered: int = 0


class Listener:
    """Retells recorded conversations to a tracker. ``now`` stands in for times that a log does not hold."""

    def __init__(self, fallback_map: FallbackMap, *, now: float) -> None:
        self._map = fallback_map
        self._relations = MapRelations(fallback_map)
        self._now = now
        self._effects: dict[str, Effect] = {}

    def listen(self, conversation: Conversation) -> Told:
        """Return what a conversation teaches."""
        started = conversation.started_at or self._now
        heard: list[list[tuple[ToolCall, Outcome, RecordedCall]]] = []
        unanswered = 0
        seen: set[tuple[str, str]] = set()
        for batch in conversation.batches:
            turn = []
            for recorded in batch:
                if not recorded.answered:
                    unanswered += 1
                    continue
                call = self._call(recorded.call, conversation.conversation_id, started)
                if not self._is_new(call, seen):
                    continue
                turn.append((call, self._outcome(call, recorded), recorded))
            heard.append(turn)
        outcomes = tuple((call, outcome) for turn in heard for call, outcome, _ in turn)
        if all(outcome.ok for _, outcome in outcomes):
            return Told(outcomes, unanswered=unanswered)
        attempts, incidents = self._track(conversation.conversation_id, heard)
        return Told(outcomes, attempts, incidents, unanswered)

    def _call(self, call: ToolCall, conversation: str, started: float) -> ToolCall:
        effect = self._effects.get(call.tool)
        if effect is None:
            effect = self._effects[call.tool] = self._map.effect(call.tool) or guess_effect(call.tool)
        if effect is call.effect and call.at and call.conversation == conversation:
            return call
        return replace(call, effect=effect, at=call.at or started, conversation=conversation)

    @staticmethod
    def _is_new(call: ToolCall, seen: set[tuple[str, str]]) -> bool:
        """Whether this call was not told before: a resumed or replayed call with the same id counts once."""
        if not call.call_id:
            return True
        identity = (call.call_id, fingerprint(call.tool, call.arguments))
        if identity in seen:
            return False
        seen.add(identity)
        return True

    def _outcome(self, call: ToolCall, recorded: RecordedCall) -> Outcome:
        if recorded.outcome is not None:
            return recorded.outcome
        result: Any = None if recorded.result is NO_RESULT else recorded.result
        if recorded.is_error:
            result = ToolResult(recorded.error_type if result is None else result, is_error=True)
        elif recorded.result is NO_RESULT:  # the log says that it ended well, and not what it gave
            return SUCCESS
        return outcome_of(call, result, None, self._map, now=call.at)

    def _track(
        self, name: str, heard: Iterable[Iterable[tuple[ToolCall, Outcome, RecordedCall]]]
    ) -> tuple[tuple[Attempt, ...], tuple[Incident, ...]]:
        tracker = ConversationTracker(name, self._relations)
        attempts: list[Attempt] = []
        closed: list[Incident] = []
        at = self._now
        for turn in heard:
            begun = [
                (tracker.begin(call, fingerprint(call.tool, call.arguments)), outcome, recorded)
                for call, outcome, recorded in turn
            ]
            for ticket, outcome, recorded in begun:
                at = ticket.call.at
                observation = tracker.finish(
                    ticket, outcome, at=at, latency_s=recorded.latency_s, result=recorded.result
                )
                attempts += observation.attempts
                closed += observation.closed
        closed += tracker.end(at)
        return tuple(attempts), tuple(closed)


@dataclass
class Fit:
    """What a fit has learned so far, as sums and counts; nothing of it is in a database yet."""

    conversations: int = 0
    already_fitted: int = 0
    calls: int = 0
    unanswered: int = 0
    incidents: int = 0
    attempts: int = 0
    errors: Counter[ErrorKind] = field(default_factory=Counter)
    tool_errors: Counter[tuple[str, ErrorKind]] = field(default_factory=Counter)
    actions: Counter[Action] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    fitted: list[FittedConversation] = field(default_factory=list)
    sums: dict[EvidenceKey, list[float]] = field(default_factory=dict)

    def rows(self) -> Iterator[EvidenceRow]:
        """Iterate over the evidence as rows for a store."""
        for key, (successes, failures) in self.sums.items():
            yield key, successes, failures

    def add(self, conversation: Conversation, told: Told, decay: Decay) -> None:
        """Take in what one conversation taught."""
        self.conversations += 1
        self.formats[conversation.format] += 1
        self.calls += len(told.outcomes) + told.unanswered
        self.unanswered += told.unanswered
        self.incidents += len(told.incidents)
        self.attempts += len(told.attempts)
        for call, outcome in told.outcomes:
            if outcome.kind is not None:
                self.errors[outcome.kind] += 1
                self.tool_errors[call.tool, outcome.kind] += 1
        for attempt in told.attempts:
            self.actions[attempt.key.action] += 1
            sums = self.sums.setdefault(attempt.key, [0.0, 0.0])
            sums[0 if attempt.success else 1] += decay.weight(attempt.at)
        if conversation.digest:
            self.fitted.append(
                FittedConversation(conversation.digest, conversation.source, len(told.outcomes))
            )

    def skip(self, skipped: Skipped) -> None:
        """Note a piece of a log that could not be read."""
        self.skipped_count += 1
        if len(self.skipped) < _MAX_SKIPPED:
            self.skipped.append(skipped)


def fit(
    conversations: Iterable[Conversation | Skipped],
    fallback_map: FallbackMap,
    *,
    decay: Decay,
    now: float,
    fitted_before: frozenset[str] = frozenset(),
) -> Fit:
    """Learn from conversations; those whose digest is in ``fitted_before``, or stands twice here, count once."""
    listener = Listener(fallback_map, now=now)
    done = Fit()
    seen: set[str] = set()
    for item in conversations:
        if isinstance(item, Skipped):
            done.skip(item)
        elif item.digest and (item.digest in fitted_before or item.digest in seen):
            done.already_fitted += 1
        else:
            if item.digest:
                seen.add(item.digest)
            done.add(item, listener.listen(item), decay)
    return done
