"""Retelling recorded conversations to the tracker that also follows live ones.

What the live path would have learned from a conversation is what listening to its log learns. A conversation in which
every call succeeded teaches nothing about recovery and costs only its classification; where one failed, the tracker
is told of the turns from the first failure on, for nothing that went before can be an attempt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from btm.classify.frameworks import ToolResult
from btm.effects import guess_effect
from btm.fallback import FallbackMap
from btm.incidents import ConversationTracker
from btm.model import SUCCESS, Attempt, Effect, Incident, Outcome, ToolCall
from btm.offers import MapRelations
from btm.outcomes import outcome_of
from btm.safe import fingerprint
from btm.traces.conversation import NO_RESULT, Conversation, RecordedCall

_DATED = 86_400.0 * 365
"""Seconds since the epoch from which on a time is one: calls without a time are counted up from 0 by the readers."""

Heard = tuple[ToolCall, Outcome, RecordedCall]
"""A call with its effect and time made out, what came of it, and as it was recorded."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one conversation taught: its turns with their calls' outcomes, and the tracker's attempts and incidents.

    ``turns`` holds the answered calls only; ``unanswered`` says how many were left out.
    """

    turns: tuple[tuple[Heard, ...], ...]
    attempts: tuple[Attempt, ...] = ()
    incidents: tuple[Incident, ...] = ()
    unanswered: int = 0

    @property
    def outcomes(self) -> tuple[tuple[ToolCall, Outcome], ...]:
        """Every answered call with what came of it, in order."""
        return tuple((call, outcome) for turn in self.turns for call, outcome, _ in turn)


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
        name = conversation.conversation_id
        turns: list[tuple[Heard, ...]] = []
        unanswered = 0
        first_failure = -1
        seen: dict[str, ToolCall] = {}
        for batch in conversation.batches:
            turn: list[Heard] = []
            for recorded in batch:
                if not recorded.answered:
                    unanswered += 1
                    continue
                call = self._call(recorded.call, name, started)
                if call.call_id and _is_replay(call, seen.setdefault(call.call_id, call)):
                    continue
                outcome = self._outcome(call, recorded)
                turn.append((call, outcome, recorded))
                if first_failure < 0 and outcome.kind is not None:
                    first_failure = len(turns)
            turns.append(tuple(turn))
        heard = tuple(turns)
        if first_failure < 0:
            return Told(heard, unanswered=unanswered)
        attempts, incidents = self._track(name, heard[first_failure:])
        return Told(heard, attempts, incidents, unanswered)

    def _call(self, call: ToolCall, conversation: str, started: float) -> ToolCall:
        effect = self._effects.get(call.tool)
        if effect is None:
            effect = self._effects[call.tool] = self._map.effect(call.tool) or guess_effect(call.tool)
        at = call.at
        if at >= _DATED and effect is call.effect and call.conversation == conversation:
            return call
        if at < _DATED:
            at = started if at == started else started + at
        # Made directly: dataclasses.replace takes four times as long, and this is done for every call of a log.
        return ToolCall(call.tool, call.arguments, effect, conversation, call.call_id, at, call.intent)

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
        self, name: str, turns: Iterable[tuple[Heard, ...]]
    ) -> tuple[tuple[Attempt, ...], tuple[Incident, ...]]:
        tracker = ConversationTracker(name, self._relations)
        attempts: list[Attempt] = []
        closed: list[Incident] = []
        at = self._now
        for turn in turns:
            if not tracker.open_incidents and all(outcome.kind is None for _, outcome, _ in turn):
                continue  # nothing is open that these could be attempts on, and nothing opens
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


def _is_replay(call: ToolCall, earlier: ToolCall) -> bool:
    """Whether this call was told before: a resumed or replayed call with the same id counts once.

    Some logs number the calls of every turn from 0, so the same id with other arguments is another call.
    """
    return earlier is not call and earlier.tool == call.tool and earlier.arguments == call.arguments
