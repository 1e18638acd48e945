"""From recorded conversations to evidence: sums a key, and the counts that a summary shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from btm.fallback import FallbackMap
from btm.learning.posterior import Decay
from btm.logs.conversation import Conversation, Passed, Read, Skipped
from btm.logs.eventlog import NAME as EVENTS
from btm.logs.identity import Beginnings, beginnings, told_before
from btm.logs.learned import LearnedFrom
from btm.logs.listening import Listener, Told
from btm.logs.refusals import REFUSED
from btm.model import Action, Attempt, ErrorKind, EvidenceKey
from btm.store import EvidenceRow
from btm.support.signatures import FailureSignature, signature

__all__ = ["Fit", "Listener", "Told", "fit"]

MOST_OF_ONE = 32
"""Attempts of one key that one conversation gives evidence with: no log floods what all others teach."""

_MAX_SKIPPED = 10_000
_MOST_WAYS = 50_000


@dataclass
class Fit:
    """What a fit has learned so far, as sums and counts; nothing of it is in a database yet.

    ``sums`` are a key's successes and failures as evidence weighs them; ``tried`` counts them, by key and success.
    ``grown`` counts conversations that went on since they were learned from, ``beyond`` attempts beyond the most of a kind
    from one conversation. ``fitted`` are the conversations, by which each counts once.
    ``lost`` counts the logs out of which nothing was read although something in them looks like calls, ``orphans`` answers
    to calls that the logs do not hold, ``passed`` records that hold nothing, by what they are.
    ``ways`` counts the ways in which tools failed, the first 50,000. ``made`` holds every attempt with the id of its
    conversation, if the fit was asked to keep them.
    """

    conversations: int = 0
    already_fitted: int = 0
    grown: int = 0
    known_calls: int = 0
    calls: int = 0
    unanswered: int = 0
    orphans: int = 0
    incidents: int = 0
    attempts: int = 0
    errors: Counter[ErrorKind] = field(default_factory=Counter)
    tool_errors: Counter[tuple[str, ErrorKind]] = field(default_factory=Counter)
    ways: Counter[FailureSignature] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    actions: Counter[Action] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    format_calls: Counter[str] = field(default_factory=Counter)
    format_errors: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_count: int = 0
    lost: int = 0
    beyond: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    fitted: LearnedFrom = field(default_factory=LearnedFrom)
    sums: dict[EvidenceKey, list[float]] = field(default_factory=dict)
    tried: Counter[tuple[EvidenceKey, bool]] = field(default_factory=Counter)
    made: list[tuple[str, Attempt]] = field(default_factory=list)

    def rows(self) -> Iterator[EvidenceRow]:
        """Iterate over the evidence as rows for a store."""
        for key, (successes, failures) in self.sums.items():
            yield key, successes, failures

    def add(
        self,
        conversation: Conversation,
        told: Told,
        decay: Decay,
        *,
        begun: Beginnings,
        keep: bool = False,
    ) -> None:
        """Take in what one conversation taught, without what an older copy of it told (see ``Told.known``).

        ``begun`` are its beginnings. ``keep`` its attempts as well as their sums.
        """
        name, known = conversation.format, bool(conversation.known)
        fresh, before = told.heard[told.known :], told.before
        for call, outcome, _ in fresh:
            self.tools[call.tool] += 1
            if outcome.kind is not None:
                self.errors[outcome.kind] += 1
                self.tool_errors[call.tool, outcome.kind] += 1
                self.format_errors[name] += 1
                self._count_way(signature(call.tool, outcome.kind, outcome.rule, outcome.detail))
        if known:
            self.grown += 1
        else:
            self.conversations += 1
            self.formats[name] += 1
            self.orphans += conversation.orphans
        self.calls += len(fresh) + told.unanswered
        self.format_calls[name] += len(fresh) + told.unanswered
        self.unanswered += told.unanswered
        if refusals := sum(outcome.rule == REFUSED.rule for _, outcome, _ in fresh):
            self.passed["a call that a person refused"] += refusals
        opened = (i.incident_id.removeprefix(f"{i.conversation}/") for i in told.incidents)
        self.incidents += sum(call_id not in before for call_id in opened)
        attempts = _some_of_each(told.fresh_attempts)
        self.beyond += len(told.fresh_attempts) - len(attempts)
        self.attempts += len(attempts)
        for attempt in attempts:
            self.actions[attempt.key.action] += 1
            self.tried[attempt.key, attempt.success] += 1
            sums = self.sums.setdefault(attempt.key, [0.0, 0.0])
            sums[0 if attempt.success else 1] += decay.weight(attempt.at)
        if keep:
            self.made += ((conversation.conversation_id, attempt) for attempt in attempts)
        self.fitted.note(conversation, begun, told)

    def _count_way(self, found: FailureSignature) -> None:
        if found in self.ways or len(self.ways) < _MOST_WAYS:
            self.ways[found] += 1

    def already(self, conversation: Conversation) -> None:
        """Note a conversation that was learned from before."""
        self.already_fitted += 1
        self.known_calls += sum(map(len, conversation.batches))

    def skip(self, skipped: Skipped) -> None:
        """Note a piece of a log that could not be read."""
        self.skipped_count += 1
        self.lost += skipped.lost
        if len(self.skipped) < _MAX_SKIPPED:
            self.skipped.append(skipped)

    def merge(self, other: Fit) -> None:
        """Add what another fit learned, from other conversations."""
        for name, own in vars(self).items():
            if isinstance(own, int | Counter):
                setattr(self, name, own + getattr(other, name))
        self.skipped += other.skipped[: _MAX_SKIPPED - len(self.skipped)]
        self.fitted.extend(other.fitted)
        self.made += other.made
        for key, (successes, failures) in other.sums.items():
            sums = self.sums.setdefault(key, [0.0, 0.0])
            sums[0] += successes
            sums[1] += failures


def _some_of_each(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the first attempts of each key: an agent in a loop has one experience, and no hundred."""
    if len(attempts) <= MOST_OF_ONE:
        return attempts
    of_key: Counter[EvidenceKey] = Counter()
    kept = []
    for attempt in attempts:
        of_key[attempt.key] += 1
        if of_key[attempt.key] <= MOST_OF_ONE:
            kept.append(attempt)
    return kept


def fit(
    conversations: Iterable[Read],
    fallback_map: FallbackMap,
    *,
    decay: Decay,
    now: float,
    fitted_before: Container[str] = frozenset(),
    keep: bool = False,
) -> Fit:
    """Learn from conversations; those whose digest is in ``fitted_before``, or stands twice here, count once."""
    return teach(Listener(fallback_map, now=now), conversations, decay, fitted_before, keep=keep)


def teach(
    listener: Listener,
    conversations: Iterable[Read],
    decay: Decay,
    *known_in: Container[str],
    lived: Container[str] = frozenset(),
    keep: bool = False,
) -> Fit:
    """Learn from conversations as :func:`fit` does, with a listener that is used for others too.

    What any of ``known_in`` holds the digests of is left out;
    ``lived`` are conversations that the database lived through itself, whose own event log teaches nothing new.
    """
    done = Fit()
    for item in conversations:
        if isinstance(item, Skipped):
            done.skip(item)
        elif isinstance(item, Passed):
            done.passed[item.reason] += item.records
        elif item.format == EVENTS and item.conversation_id in lived:
            done.already(item)
        else:
            begun = beginnings(item)
            known = told_before(item, begun, (*known_in, done.fitted))
            if known is None:
                done.already(item)
                continue
            item = item._replace(known=known) if known else item  # noqa: PLW2901 - the same, and how far it was told
            done.add(item, listener.listen(item), decay, begun=begun, keep=keep)
    return done
