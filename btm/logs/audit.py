"""What agents did wrong, by rule: annotations of recorded conversations.

====================== ========================================================================================
label                  rule
====================== ========================================================================================
loop                   the same call (tool and arguments) more than three times
idempotency_risk       a write that must not happen twice, made again with the same arguments
cascade                another tool's write while a failed step stood open, that is no attempt on it and uses what the
                       failed one was to confirm (the same thing, about which nothing else answered) or to give (a
                       name that nobody had said before); once for each failure
premature_escalation   handed to a human while a substitute or repair of the map, or a first retry, was untried
====================== ========================================================================================

The first two are the rules of the failure-trajectory record. Which writes must not happen twice is the map's to say;
of a tool that it does not know the name tells, and a name that says nothing accuses nobody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from btm.fallback import FallbackMap
from btm.learning.tracker import PATIENCE
from btm.logs.conversation import Conversation
from btm.logs.listening import Told
from btm.model import Action, Attempt, Effect, Family, Incident, Outcome, ToolCall
from btm.support.effects import guess_effect, name_words
from btm.support.untrusted import canonical, fingerprint, redact

LOOP_AFTER = 3
"""A call that is made more often than this, with the same arguments, goes round in a loop."""

# Verbs whose effect adds up when they are repeated; "update" or "cancel" twice leaves what once would have left.
_ADDS_UP = frozenset(
    (
        "add", "append", "book", "buy", "charge", "create", "delete", "deploy", "donate", "exchange", "insert",
        "install", "issue", "order", "pay", "place", "post", "publish", "purchase", "push", "refuel", "refund",
        "remove", "reserve", "return", "sell", "send", "submit", "transfer", "upload", "withdraw",
    )
)  # fmt: skip
_CHANGES = _ADDS_UP | {
    "approve", "assign", "cancel", "change", "close", "commit", "confirm", "edit", "merge", "modify", "move", "set",
    "update", "write",
}  # fmt: skip
_HANDS_OVER = frozenset({"human", "humans", "escalate", "escalation", "handoff", "handover"})
_NAMING = frozenset(
    ["code", "email", "handle", "id", "ids", "key", "no", "number", "ref", "reference", "sku", "uuid"]
)
_NAME = re.compile(r"#?(?=[^\s]*[A-Za-z])(?=[^\s]*\d)[\w#.@:/-]{3,80}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d[/.:]\d\d")
_SHOWN = 60
_SHORTEST = 3  # characters of a value that says something when two calls share it


class Label(StrEnum):
    """What an annotation says."""

    LOOP = "loop"
    IDEMPOTENCY_RISK = "idempotency_risk"
    CASCADE = "cascade"
    PREMATURE_ESCALATION = "premature_escalation"


class Annotation(NamedTuple):
    """One thing an agent did: ``step`` is the call's place among the conversation's answered calls, from 0."""

    label: Label
    step: int
    call_id: str
    tool: str
    detail: str


class _Made(NamedTuple):
    """A call that was made, by its place."""

    step: int
    call: ToolCall
    outcome: Outcome


class _IncidentSpan(NamedTuple):
    """An incident, the call that opened it, and the steps between which it stood open."""

    incident: Incident
    call_id: str
    start: int
    end: int


def annotate(told: Told, fallback_map: FallbackMap) -> tuple[Annotation, ...]:
    """Return what the rules say about a conversation that a listener was told, in the order of its calls.

    What an older copy of it told was said there.
    """
    made = [_Made(step, call, outcome) for step, (call, outcome) in enumerate(told.outcomes)]
    found = [*_repetitions(made, fallback_map)]
    if told.incidents:
        spans = _spans(told, made)
        found += _cascades(told, made, spans, fallback_map)
        found += _escalations(told, made, spans, fallback_map)
    fresh = (annotation for annotation in found if annotation.step >= told.known)
    return tuple(sorted(fresh, key=lambda annotation: (annotation.step, annotation.label)))


def _repetitions(made: Iterable[_Made], fallback_map: FallbackMap) -> Iterator[Annotation]:
    """Annotate loops, each once, and every repetition of a write that must not happen twice."""
    before: dict[str, list[_Made]] = {}
    for one in made:
        step, call, _ = one
        earlier = before.setdefault(fingerprint(call.tool, call.arguments), [])
        if earlier and adds_up(call.tool, fallback_map) and not hands_over(call.tool, fallback_map):
            detail = f"made before at step {earlier[-1].step}, {_ended(earlier[-1].outcome)}"
            yield Annotation(Label.IDEMPOTENCY_RISK, step, call.call_id, call.tool, detail)
        earlier.append(one)
    for repeated in before.values():
        if len(repeated) > LOOP_AFTER:
            step, call, _ = repeated[LOOP_AFTER]
            detail = f"the same call {len(repeated)} times"
            yield Annotation(Label.LOOP, step, call.call_id, call.tool, detail)


def adds_up(tool: str, fallback_map: FallbackMap) -> bool:
    """Whether two calls of a tool do more than one: by the map, else by its name."""
    if tool in fallback_map.tools:
        return fallback_map.effect(tool) is Effect.WRITE and not fallback_map.idempotent(tool)
    return _named(tool, _ADDS_UP)


def hands_over(tool: str, fallback_map: FallbackMap) -> bool:
    """Whether a tool hands over to a human: by the map, else by its name."""
    if tool in fallback_map.tools:
        return tool in fallback_map.escalations()
    return not _HANDS_OVER.isdisjoint(name_words(tool))


def _named(tool: str, verbs: frozenset[str]) -> bool:
    # The first word may be a namespace; after a reading verb the second is a noun ("get_order").
    return guess_effect(tool) is Effect.WRITE and not verbs.isdisjoint(name_words(tool)[:2])


def _ended(outcome: Outcome) -> str:
    if outcome.kind is None:
        return "which succeeded"
    may_have = ", and may have gone through" if outcome.ambiguous else ""
    return f"which failed as {outcome.kind}{may_have}"


def _spans(told: Told, made: Iterable[_Made]) -> list[_IncidentSpan]:
    step_of = {one.call.call_id: one.step for one in made}
    attempts: dict[str, list[Attempt]] = {}
    for attempt in told.attempts:
        attempts.setdefault(attempt.incident_id, []).append(attempt)
    spans = []
    for incident in told.incidents:
        call_id = incident.incident_id.removeprefix(f"{incident.conversation}/")
        start = step_of.get(call_id, len(step_of))
        made_on = attempts.get(incident.incident_id, [])
        last = step_of[made_on[-1].call_id] if made_on else start
        settled = bool(made_on) and made_on[-1].success
        spans.append(_IncidentSpan(incident, call_id, start, last if settled else last + PATIENCE))
    return spans


def _cascades(
    told: Told, made: Sequence[_Made], spans: Iterable[_IncidentSpan], fallback_map: FallbackMap
) -> Iterator[Annotation]:
    attempts = {attempt.call_id for attempt in told.attempts}
    # Calls of one turn were made together: none builds on another.
    turns = {call.call_id: number for number, turn in enumerate(told.turns) for call, _, _ in turn}
    writes = [one for one in made if _acts(one.call, fallback_map) and one.call.call_id not in attempts]
    for span in spans:
        failed = span.incident
        for step, call, _ in writes:
            later = span.start < step < span.end and turns[call.call_id] != turns.get(span.call_id)
            if later and call.tool != failed.tool and (used := _used(failed, call, step, told)):
                what = f"{failed.tool} had failed at step {span.start} as {failed.kind}"
                detail = f"{what}; used {redact(used, _SHOWN)!r} all the same"
                yield Annotation(Label.CASCADE, step, call.call_id, call.tool, detail)
                break


def _used(failed: Incident, call: ToolCall, step: int, told: Told) -> str:
    """Return what a later call used of that which a failed one was to give or to confirm, "" for nothing.

    A failed lookup was to confirm what it was asked about: a write about the same thing builds on it, unless another call
    answered about that thing. And it was to give what a later call has from nowhere: a name that nobody said before.
    """
    heard = told.heard[:step]
    asked, given = _names(failed.call), _names(call)
    answers = [_text(recorded.result) for _, outcome, recorded in heard if outcome.ok]
    if failed.kind.family is not Family.SILENT and failed.call.effect is Effect.READ:
        for value in given.keys() & asked.keys():
            if not any(value in text for text in answers):
                return value
    about, keys = frozenset(name_words(failed.tool)), frozenset(asked.values())
    # What a call is asked with, it does not give.
    fresh = [v for v, key in given.items() if key not in keys and not about.isdisjoint(name_words(key))]
    if not fresh:
        return ""
    said = [*answers, call.intent or ""]
    for earlier, _, _ in heard:
        said += (_text(earlier.arguments), earlier.intent or "")
    return next((value for value in fresh if not any(value in text for text in said)), "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode("utf-8", "replace")


def _acts(call: ToolCall, fallback_map: FallbackMap) -> bool:
    """Whether a call changes something, for sure: that a tool is merely unknown says nothing."""
    sure = call.tool in fallback_map.tools or _named(call.tool, _CHANGES)
    return call.effect is Effect.WRITE and sure and not hands_over(call.tool, fallback_map)


def _names(call: ToolCall) -> dict[str, str]:
    """Return what a call is about: the values among its arguments that name a thing, with the key that each stands under.

    A name has a digit or stands under a key that ends in "id" or the like, and is one word: dates and places, free text
    and amounts name nothing that a failed call could have given.
    """
    found: dict[str, str] = {}
    left: list[tuple[str, Any]] = [("", call.arguments)]
    while left:
        key, value = left.pop()
        if isinstance(value, Mapping):
            left += value.items()
        elif isinstance(value, list | tuple):
            left += ((key, item) for item in value)
        elif isinstance(value, str | int) and not isinstance(value, bool):
            text, words = str(value), name_words(str(key))
            named = bool(words) and words[-1] in _NAMING
            one_word = len(text) >= _SHORTEST and " " not in text and not _DATE.match(text)
            if one_word and (named or _NAME.fullmatch(text)):
                found[text] = str(key)
    return found


def _escalations(
    told: Told, made: Iterable[_Made], spans: Iterable[_IncidentSpan], fallback_map: FallbackMap
) -> Iterator[Annotation]:
    spans = list(spans)
    for step, call, outcome in made:
        if outcome.kind is not None or not hands_over(call.tool, fallback_map):
            continue
        untried: dict[str, str] = {}
        for incident, _, start, end in spans:
            if start < step <= end:
                untried.update((what, incident.tool) for what in _untried(incident, told, fallback_map))
        if untried:
            left = ", ".join(f"{what} for {tool}" for what, tool in untried.items())
            about = f"still untried: {left}"
            yield Annotation(Label.PREMATURE_ESCALATION, step, call.call_id, call.tool, about)


def _untried(incident: Incident, told: Told, fallback_map: FallbackMap) -> Iterator[str]:
    """Give what could have been tried for an incident and was not, over all its attempts."""
    tried = {(a.key.action, a.key.target) for a in told.attempts if a.incident_id == incident.incident_id}
    nothing_known: Mapping[str, object] = {}
    for offer in fallback_map.candidates(incident.call, incident.kind, nothing_known):
        if (Action.SWITCH, offer.target) not in tried:
            yield offer.target
    for offer in fallback_map.repairs(incident.call, incident.kind, nothing_known):
        if (Action.REPAIR, offer.tool) not in tried:
            yield offer.tool
    transient = incident.kind.family is Family.TRANSIENT and not incident.outcome.ambiguous
    if transient and not any(action is Action.RETRY for action, _ in tried):
        yield "a retry"


@dataclass(frozen=True, slots=True)
class Audited:
    """A conversation with what was found in it."""

    conversation_id: str
    source: str
    reward: float | None
    annotations: tuple[Annotation, ...]

    @property
    def labels(self) -> Counter[Label]:
        """How often each label was given."""
        return Counter(annotation.label for annotation in self.annotations)


@dataclass
class Audit:
    """What an audit of logs has found so far."""

    conversations: int = 0
    calls: int = 0
    found: list[Audited] = field(default_factory=list)
    counts: Counter[Label] = field(default_factory=Counter)
    tools: Counter[tuple[Label, str]] = field(default_factory=Counter)

    def add(self, conversation: Conversation, told: Told, annotations: tuple[Annotation, ...]) -> None:
        """Take in one conversation."""
        self.conversations += not told.known
        self.calls += len(told.heard) - told.known
        if not annotations:
            return
        audited = Audited(conversation.conversation_id, conversation.source, conversation.reward, annotations)
        self.found.append(audited)
        self.counts += audited.labels
        self.tools.update((annotation.label, annotation.tool) for annotation in annotations)

    def conversations_with(self, label: Label) -> int:
        """How many conversations a label was given in."""
        return sum(1 for audited in self.found if any(a.label is label for a in audited.annotations))

    def worst_of(self, label: Label, count: int) -> list[Audited]:
        """Return the conversations in which a label was given most often; ties as in the logs."""
        found = [audited for audited in self.found if audited.labels[label]]
        return sorted(found, key=lambda audited: -audited.labels[label])[:count]

    def worst(self, count: int) -> list[Audited]:
        """Return the conversations with most annotations, most kinds of them first; ties as in the logs."""
        return sorted(self.found, key=lambda a: (-len(a.labels), -len(a.annotations)))[:count]
