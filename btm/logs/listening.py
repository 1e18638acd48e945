"""Retelling recorded conversations to the tracker that also follows live ones.

What the live path would have learned from a conversation is what listening to its log learns. A conversation in which
every call succeeded teaches nothing about recovery and costs only its classification; where one failed, the tracker
is told of the turns from the first failure on, for nothing that went before can be an attempt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from btm.classify.frameworks import ToolResult
from btm.fallback import FallbackMap
from btm.fallback.relations import MapRelations
from btm.learning.tracker import ConversationTracker, Learned
from btm.logs.conversation import NO_RESULT, Conversation, RecordedCall
from btm.logs.eventlog import NAME as EVENTS
from btm.logs.refusals import MARK, REFUSED, says_refused
from btm.model import SUCCESS, Attempt, Effect, ErrorKind, Incident, Outcome, ToolCall
from btm.runtime.outcomes import outcome_of
from btm.support.call_ids import name_beside
from btm.support.effects import guess, guess_effect
from btm.support.untrusted import canonical, fingerprint

_DATED = 86_400.0 * 365
"""Seconds since the epoch from which on a time is one: calls without a time are counted up from 0 by the readers."""

_SHORT = 2_000
_PLAIN = frozenset({str, int, float})
_MAX_KNOWN = 10_000
# What an answer comes to depends on the time only if it names one: a year, a time of day, seconds since the epoch.
_TELLS_TIME = re.compile(r"[0-9](?:[0-9][0-9][0-9]|[:/][0-9]|\.[0-9][0-9]?\.[0-9])")

Heard = tuple[ToolCall, Outcome, RecordedCall]
"""A call with its effect and time made out, what came of it, and as it was recorded."""


@dataclass(frozen=True)
class Told:
    """What one conversation taught: its turns with their calls' outcomes, and the tracker's attempts and incidents.

    ``turns`` holds the answered calls only; ``unanswered`` says how many were left out. An older copy of the
    conversation told the first ``known`` of them.
    """

    turns: tuple[tuple[Heard, ...], ...]
    attempts: tuple[Attempt, ...] = ()
    incidents: tuple[Incident, ...] = ()
    unanswered: int = 0
    known: int = 0

    @cached_property
    def heard(self) -> tuple[Heard, ...]:
        """Every answered call, in order."""
        return tuple(heard for turn in self.turns for heard in turn)

    @cached_property
    def before(self) -> frozenset[str]:
        """The ids of the calls that an older copy told: what began with them, or is about them, counts there."""
        known = self.heard[: self.known] if self.known else ()
        return frozenset(call.call_id for call, _, _ in known)

    @cached_property
    def fresh_attempts(self) -> tuple[Attempt, ...]:
        """The attempts that no older copy told."""
        before = self.before
        return tuple(a for a in self.attempts if a.call_id not in before)

    @property
    def outcomes(self) -> tuple[tuple[ToolCall, Outcome], ...]:
        """Every answered call with what came of it, in order."""
        return tuple((call, outcome) for call, outcome, _ in self.heard)


class Listener:
    """Retells recorded conversations to a tracker. ``now`` stands in for times that a log does not hold."""

    def __init__(self, fallback_map: FallbackMap, *, now: float) -> None:
        self._map = fallback_map
        self._relations = MapRelations(fallback_map)
        self._now = now
        # What a log dates after now (a clock ahead, a broken stamp) counts as of now: it must not outweigh everything.
        self._latest = now if now >= _DATED else math.inf
        self._effects: dict[str, Effect] = {}
        self._known: dict[tuple[str, bytes, str, bool], Outcome] = {}

    def listen(self, conversation: Conversation) -> Told:
        """Return what a conversation teaches."""
        started = conversation.started_at or 0.0
        if not _DATED <= started <= self._latest:
            started = self._now
        name = conversation.conversation_id
        turns: list[tuple[Heard, ...]] = []
        unanswered = known = 0
        left = conversation.known
        first_failure = -1
        stated = conversation.format == EVENTS  # what the live path took a tool's effect to be
        seen: dict[str, list[ToolCall]] = {}
        told = {tool: guess(tool, text).effect for tool, text in conversation.described}
        for batch in conversation.batches:
            turn: list[Heard] = []
            for recorded in batch:
                if not recorded.answered:
                    unanswered += 1
                    continue
                left -= 1
                call = self._call(recorded.call, name, started, told, stated=stated)
                if call.call_id:
                    if (earlier := seen.get(call.call_id)) is None:
                        seen[call.call_id] = [call]
                    elif _is_replay(call, earlier):
                        continue
                outcome = self._outcome(call, recorded)
                turn.append((call, outcome, recorded))
                known += left >= 0
                if first_failure < 0 and (outcome.kind is not None or self._is_kept(call)):
                    first_failure = len(turns)
            turns.append(tuple(turn))
        heard = tuple(turns)
        if first_failure < 0:
            return Told(heard, unanswered=unanswered, known=known)
        attempts, incidents = self._track(name, heard[first_failure:])
        return Told(heard, attempts, incidents, unanswered, known)

    def _is_kept(self, call: ToolCall) -> bool:
        """Whether a read can show later that a call which ended well did nothing."""
        return call.effect is Effect.WRITE and self._relations.shown_by(call) is not None

    def _call(
        self, call: ToolCall, conversation: str, started: float, told: Mapping[str, Effect], *, stated: bool
    ) -> ToolCall:
        effect = call.effect if stated else self._effects.get(call.tool)
        if effect is None:
            effect = self._effects[call.tool] = self._map.effect(call.tool) or guess_effect(call.tool)
        if not stated and call.tool in told and self._map.effect(call.tool) is None:
            effect = told[call.tool]  # as a live agent takes it: by how the model was told of the tool
        at = call.at
        if _DATED <= at <= self._latest and effect is call.effect and call.conversation == conversation:
            return call
        if at < _DATED:
            at += started
        elif at > self._latest:
            at = self._latest
        return ToolCall(call.tool, call.arguments, effect, conversation, call.call_id, at, call.intent)

    def _outcome(self, call: ToolCall, recorded: RecordedCall) -> Outcome:
        if recorded.outcome is not None:
            return recorded.outcome
        result: Any = recorded.result
        failed = bool(recorded.is_error)
        if recorded.error_type == MARK:
            return REFUSED
        if result is NO_RESULT:
            if not failed:  # the log says that it ended well, and not what it gave
                return SUCCESS
            result = None
        if failed and result is None:
            result = recorded.error_type
        if type(result) is str and len(result) <= _SHORT and not _TELLS_TIME.search(result):
            return self._known_outcome(call, result, failed)
        return self._classified(call, result, failed)

    def _known_outcome(self, call: ToolCall, text: str, failed: bool) -> Outcome:
        """Classify a short answer, unless it was classified before: the logs of agents are full of the same ones."""
        about = b"" if _stands_alone(text, call.arguments) else canonical(call.arguments)
        key = (call.tool, about, text, failed)
        outcome = self._known.get(key)
        if outcome is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            outcome = self._known[key] = self._classified(call, text, failed)
        return outcome

    def _classified(self, call: ToolCall, result: Any, failed: bool) -> Outcome:
        if says_refused(result):
            return REFUSED
        given = ToolResult(result, is_error=True) if failed else result
        return outcome_of(call, given, None, self._map, now=call.at)

    def _track(
        self, name: str, turns: Iterable[tuple[Heard, ...]]
    ) -> tuple[tuple[Attempt, ...], tuple[Incident, ...]]:
        tracker = ConversationTracker(name, self._relations)
        attempts: list[Attempt] = []
        closed: list[Incident] = []
        at = self._now
        for _, learned, at in retold(tracker, turns, self._latest):  # noqa: B007 - the last one's end ends the rest
            attempts += learned.attempts
            if learned.undone is not None:
                attempts = [_turned(a) if a in learned.undone.attempts else a for a in attempts]
            closed += learned.closed
        closed += tracker.end(at)
        return tuple(attempts), tuple(closed)


def retold(
    tracker: ConversationTracker, turns: Iterable[tuple[Heard, ...]], latest: float = math.inf
) -> Iterator[tuple[Heard, Learned, float]]:
    """Tell a tracker of recorded turns; yield each call with what it taught and when it ended.

    The calls of one turn were made in parallel: all begin before the first ends. No end is later than ``latest``.
    """
    for turn in turns:
        # Where nothing is open that these could be attempts on, and nothing opens, there is nothing to tell.
        quiet = tracker.idle and all(o.kind is None and not tracker.keeps(call) for call, o, _ in turn)
        begun = [
            None
            if quiet or outcome.rule == REFUSED.rule
            else tracker.begin(call, fingerprint(call.tool, call.arguments), call.at)
            for call, outcome, _ in turn
        ]
        for ticket, heard in zip(begun, turn, strict=True):
            call, outcome, recorded = heard
            if outcome.rule == REFUSED.rule:
                closed = tracker.withdraw(call, fingerprint(call.tool, call.arguments), call.at)
                yield heard, Learned(outcome, closed=closed), call.at
                continue
            # A call counts from when it ended.
            at = max(call.at, min(call.at + (recorded.latency_s or 0.0), latest))
            learned = Learned(outcome)
            if ticket is not None:
                result = None if recorded.result is NO_RESULT else recorded.result
                learned = tracker.finish(ticket, outcome, at=at, latency_s=recorded.latency_s, result=result)
            yield heard, learned, at


def _turned(attempt: Attempt) -> Attempt:
    """Return an attempt that had seemed to work and had not."""
    return replace(attempt, success=False, failed_as=ErrorKind.FACTUAL_ERROR)


def _is_replay(call: ToolCall, earlier: list[ToolCall]) -> bool:
    """Whether this call was told before; ``earlier`` are the other calls with its id, to which it is added."""
    own = fingerprint(call.tool, call.arguments)
    for other in earlier:
        if name_beside(call.call_id, own, fingerprint(other.tool, other.arguments)) == call.call_id:
            return True
    earlier.append(call)
    return False


def _stands_alone(text: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an answer says the same whatever was asked: it is no JSON, which may echo it, and mentions none of it."""
    if (
        text.startswith("{")
        or (text.startswith("[") and not text.startswith("[("))
        or "expression" in arguments
    ):
        return False
    for name, value in arguments.items():  # noqa: SIM110 - any() over a generator takes twice as long
        if name in text or type(value) not in _PLAIN or str(value) in text:
            return False
    return True
