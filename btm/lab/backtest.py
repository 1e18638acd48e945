"""What btm would have advised in recorded conversations, against what was done and what came of it.

Logs are cut into parts as for the calibration; the conversations of each part but the first are walked through with the
beliefs learned from the parts before it. At every failure the planner is asked what it would do first, and the next
attempt on that incident says what the agent did. The two are set side by side; that is no experiment: agents chose for
reasons of their own, and what they did not do has no outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from btm.fallback import FallbackMap
from btm.fallback.relations import MapRelations
from btm.lab.calibration import Parts
from btm.learning.posterior import Evidence, Priors, pooled
from btm.learning.priors import fit_priors
from btm.learning.tracker import ConversationTracker
from btm.logs.conversation import NO_RESULT, Conversation, Skipped
from btm.logs.learned import heard_once
from btm.logs.listening import Listener, Told, retold
from btm.model import Action, Attempt, ErrorKind, Incident
from btm.planning.plan import RecoveryPlan, options_for
from btm.planning.planner import Planner, each
from btm.planning.policy import Policies
from btm.runtime.known_values import Facts


class Choice(NamedTuple):
    """One failure: the first step that btm would have advised, and the attempt that followed, if any did.

    ``chance`` is what btm believed of its own advice. ``done`` is None when nothing more was tried; ``forbidden`` says
    that a policy speaks against what was done. ``tries`` counts the attempts before, ``conversation`` names where it is.
    """

    tool: str
    kind: ErrorKind
    advised: Action
    target: str
    chance: float
    done: Action | None = None
    done_target: str = ""
    worked: bool = False
    forbidden: bool = False
    tries: int = 0
    conversation: str = ""

    @property
    def followed(self) -> bool:
        """Whether the agent did, on its own account, what btm would have advised."""
        return self.done is self.advised and self.done_target == self.target


@dataclass(frozen=True)
class Adviser:
    """Walks through conversations with frozen beliefs and asks the planner at every failure."""

    fallback_map: FallbackMap
    evidence: Evidence
    priors: Priors
    planner: Planner

    @classmethod
    def learned(cls, fallback_map: FallbackMap, policies: Policies, evidence: Evidence) -> Adviser:
        """Return an adviser with priors fitted to its evidence."""
        return cls(fallback_map, evidence, fit_priors(evidence), Planner(policies))

    def choices(self, name: str, told: Told) -> list[Choice]:
        """Return every failure of a conversation with what was advised and done."""
        tracker = ConversationTracker(name, MapRelations(self.fallback_map))
        facts = Facts()
        open_plans: dict[str, tuple[RecoveryPlan, int]] = {}
        found: list[Choice] = []
        before = told.before  # what was done there counts with the copy that told it
        for (call, outcome, recorded), learned, _ in retold(tracker, told.turns):
            for attempt in learned.attempts:
                planned = open_plans.pop(attempt.incident_id, None)
                if planned is not None and attempt.call_id not in before:
                    found.append(_choice(*planned, attempt))
            if outcome.ok and recorded.result is not NO_RESULT:
                facts.note(call.tool, call.arguments, recorded.result)
            if learned.incident is not None and not outcome.ok:
                incident = learned.incident
                tries = len(incident.attempts)
                open_plans[incident.incident_id] = self._plan(incident, facts.known), tries
        return [*found, *(_choice(*planned, None) for planned in open_plans.values())]

    def _plan(self, incident: Incident, known: Mapping[str, object]) -> RecoveryPlan:
        options = options_for(incident, self.fallback_map, known)
        return self.planner.plan(incident, options, each(lambda key: pooled(self.evidence, key, self.priors)))


def _choice(plan: RecoveryPlan, tries: int, attempt: Attempt | None) -> Choice:
    first = plan.first
    kind = plan.outcome.kind
    assert first is not None  # noqa: S101 - a plan ends with a last resort
    assert kind is not None  # noqa: S101 - only failures are planned for
    chosen = Choice(plan.call.tool, kind, first.action, first.target, first.chance, tries=tries)
    if attempt is None:
        return chosen
    key = attempt.key
    return chosen._replace(
        done=key.action,
        done_target=key.target,
        worked=attempt.success,
        forbidden=key.action in plan.forbidden,
    )


@dataclass
class Tally:
    """How often something was done, and how often it worked."""

    times: int = 0
    worked: int = 0

    def add(self, worked: bool) -> None:
        """Count one."""
        self.times += 1
        self.worked += worked


@dataclass
class Backtest:
    """Choices, summed up: over all, and by what was advised.

    ``forbidden`` counts what was done against a policy; ``dropped`` failures after which nothing more was tried.
    ``foretold`` is the sum of the chances that btm gave its advice where it was followed.
    """

    followed: Tally = field(default_factory=Tally)
    otherwise: Tally = field(default_factory=Tally)
    forbidden: Tally = field(default_factory=Tally)
    dropped: int = 0
    foretold: float = 0.0
    by_advice: dict[Action, tuple[Tally, Tally]] = field(default_factory=dict)
    instead: dict[tuple[Action, Action], Tally] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)

    @property
    def failures(self) -> int:
        """Failures at which advice would have been given."""
        return self.followed.times + self.otherwise.times + self.dropped

    def add(self, choice: Choice) -> None:
        """Count a choice."""
        self.choices.append(choice)
        if choice.done is None:
            self.dropped += 1
            return
        followed, otherwise = self.by_advice.setdefault(choice.advised, (Tally(), Tally()))
        if choice.followed:
            self.foretold += choice.chance
            self.followed.add(choice.worked)
            followed.add(choice.worked)
        else:
            self.otherwise.add(choice.worked)
            otherwise.add(choice.worked)
            self.instead.setdefault((choice.advised, choice.done), Tally()).add(choice.worked)
        if choice.forbidden:
            self.forbidden.add(choice.worked)


def backtest(
    conversations: Iterable[Conversation | Skipped],
    cut_up: Parts,
    fallback_map: FallbackMap,
    policies: Policies,
    *,
    now: float = 0.0,
) -> Backtest:
    """Walk through the logs once more, part by part; ``cut_up`` are their lessons, cut into parts.

    Conversations in which nothing was tried after a failure are in no part, and left out.
    """
    advisers = dict(_advisers(cut_up, fallback_map, policies))
    place = {lesson.source: number for number, part in enumerate(cut_up.parts) for lesson in part}
    listener = Listener(fallback_map, now=now)
    done = Backtest()
    for found, told in heard_once(conversations, listener):
        adviser = advisers.get(place.get(found.source, 0))
        if adviser is not None:
            for choice in adviser.choices(found.conversation_id, told):
                done.add(choice._replace(conversation=found.source))
    return done


def _advisers(cut_up: Parts, fallback_map: FallbackMap, policies: Policies) -> Iterator[tuple[int, Adviser]]:
    """Yield, for each part but the first, an adviser that learned from the parts before it."""
    rows: list[tuple[Attempt, ...]] = []
    for number, part in enumerate(cut_up.parts):
        if number:
            evidence = Evidence(
                (attempt.key, float(attempt.success), float(not attempt.success))
                for attempts in rows
                for attempt in attempts
            )
            yield number, Adviser.learned(fallback_map, policies, evidence)
        rows += (lesson.attempts for lesson in part)
