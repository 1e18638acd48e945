"""What can be done about an incident, and what is decided, as data: options, ranked steps, verdicts, the plan, its text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from btm.fallback import FallbackMap, Step
from btm.learning.judging import CONTRADICTED, IN_A_ROW
from btm.learning.posterior import BetaPosterior
from btm.model import LAST_RESORTS, Action, Attempt, Effect, ErrorKind, Incident, Outcome, ToolCall

ITS_ARGUMENTS = "its arguments"
"""What the agent must supply for a substitute that no map describes."""

MOST_WEIGHT = 4.0
"""Tries that a card's evidence is worth at most: what is seen here outweighs a library that may have gone stale."""

UNCHECKED = "unchecked"
"""The rule of an outcome of a write that was held back because nobody has confirmed what it rests on."""


class SkillOffer(NamedTuple):
    """A card that fits an incident: the step it speaks for, the line it may take, and what its logs came to.

    ``worked`` of ``tried`` are decayed to now. ``only`` says that the map does not offer the step: btm advises it, and
    never takes it by itself.
    """

    action: Action
    target: str
    text: str
    worked: float
    tried: float
    only: bool = False

    def added_to(self, belief: BetaPosterior) -> BetaPosterior:
        """Return the step's belief with the card's evidence as at most ``MOST_WEIGHT`` tries more."""
        if self.tried <= 0.0:
            return belief
        weight = min(self.tried, MOST_WEIGHT) / self.tried
        worked, failed = self.worked * weight, (self.tried - self.worked) * weight
        return BetaPosterior(belief.alpha + worked, belief.beta + failed, belief.n, belief.worked)


@dataclass(frozen=True, slots=True)
class Options:
    """What the map offers for an incident, ready for weighing.

    ``irreversible`` and ``idempotent`` are of the tool that failed; ``cost`` is its cost per call. ``general`` says that
    every call of it is another command, ``mapped`` that the map knows it. ``hints`` are substitutes that no map names,
    known from what worked before; their arguments are the agent's to find. ``down`` says that the tool does not work for
    anyone now: calling it again, in whatever way, is no step; ``worked_before`` that it did lately. ``skills`` are cards
    that speak for steps among these. ``assumed`` says that the call is a write only because nothing is known of its tool.
    ``arbiter`` confirms the tool that said otherwise than the call in question.
    """

    switches: tuple[Step, ...] = ()
    repairs: tuple[Step, ...] = ()
    verify: Step | None = None
    escalation_tool: str = ""
    irreversible: bool = False
    idempotent: bool = False
    cost: float = 1.0
    health: str = ""
    general: bool = False
    mapped: bool = False
    hints: tuple[Step, ...] = ()
    down: bool = False
    worked_before: bool = False
    skills: tuple[SkillOffer, ...] = ()
    assumed: bool = False
    arbiter: str = ""

    def skill_for(self, step: Step) -> SkillOffer | None:
        """Return the best card that speaks for a step."""
        return next((s for s in self.skills if s.action is step.action and s.target == step.target), None)


@runtime_checkable
class Skills(Protocol):
    """Cards in use by one memory."""

    def extended(self, fallback_map: FallbackMap) -> FallbackMap:
        """Return the map with the steps that only cards offer; called once, before anything else."""

    def options(self, options: Options, incident: Incident, now: float, *, healed: bool) -> Options:
        """Return what there is to do about an incident, with the cards that fit and without steps of those that do not.

        ``healed`` says that the failed tool's calls before the latest one all worked.
        """


def options_for(
    incident: Incident,
    fallback_map: FallbackMap,
    known: Mapping[str, Any],
    *,
    available: Collection[str] | None = None,
    health: str = "",
    worked: Iterable[str] = (),
    down: Callable[[str, Effect], object] | None = None,
    worked_before: bool = False,
    assumed: bool = False,
) -> Options:
    """Return what the map offers for an incident.

    ``known`` are values seen in the conversation, by field name. ``available`` names the tools that the agent has;
    None means that every tool of the map is there. ``worked`` names the tools that stood in for the failed one before:
    where the map has no substitute for it, they are hints. ``down`` gives, of a tool with an effect, what is down if it
    works for nobody now: it is no substitute then. ``worked_before`` says whether the failed tool did lately, ``assumed``
    whether it is a write only because nothing is known of it.
    """
    call = incident.call
    # A search that finds nothing, whatever it is asked, is taken to be down.
    kind = ErrorKind.UNAVAILABLE if incident.outcome.rule == IN_A_ROW else incident.kind
    present = None if available is None else frozenset(available)

    def is_down(tool: str) -> bool:
        return down is not None and bool(down(tool, fallback_map.effect(tool) or Effect.WRITE))

    def usable(offers: Iterable[Step]) -> tuple[Step, ...]:
        there = (o for o in offers if present is None or present.issuperset(o.via or (o.tool,)))
        return tuple(o for o in there if not any(map(is_down, o.via or (o.tool,))))

    verifier = fallback_map.verifier(call, known) if call.effect is Effect.WRITE else None
    checks = usable((verifier,) if verifier is not None else ())
    escalations = (
        t for t in fallback_map.escalations() if t != call.tool and (present is None or t in present)
    )
    entry = fallback_map.entry(call.tool)
    hints = () if entry.fallbacks else tuple(map(_hint, worked))
    return Options(
        switches=usable(fallback_map.candidates(call, kind, known)),
        repairs=usable(fallback_map.repairs(call, incident.kind, known)),
        verify=checks[0] if checks else None,
        escalation_tool=next(escalations, ""),
        irreversible=entry.irreversible,
        idempotent=fallback_map.idempotent(call.tool),
        cost=entry.cost,
        health=health,
        general=fallback_map.general(call),
        mapped=call.tool in fallback_map.tools,
        hints=usable(hints),
        down=down is not None and bool(down(call.tool, call.effect)),
        worked_before=worked_before,
        assumed=assumed,
        arbiter=_arbiter(call.tool, fallback_map) if incident.outcome.rule == CONTRADICTED else "",
    )


def _arbiter(tool: str, fallback_map: FallbackMap) -> str:
    """Return the tool that confirms answers of the one that contradicts this one, "" where the map names none."""
    check = fallback_map.entry(tool).cross_check
    other = fallback_map.entry(check.tool).cross_check if check is not None else None
    return other.tool if other is not None else ""


def _hint(tool: str) -> Step:
    """Return a substitute that no map names: what it takes is not known."""
    return Step(Action.SWITCH, tool, None, missing=(ITS_ARGUMENTS,))


class Level(StrEnum):
    """How hard a policy is: advice is said, an enforced rule is also kept by guard and act mode."""

    ADVISE = "advise"
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy says about a situation. ``own`` marks a rule of the user's, which is said however short a note is."""

    policy: str
    say: str
    forbid: frozenset[Action] = frozenset()
    require: Action | None = None
    level: Level = Level.ADVISE
    own: bool = False


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """What to do about an incident: ranked steps, forbidden actions, and the sentences of the policies.

    ``steps`` are in the order in which they should be tried; a required step (verify) comes first. Escalating (or
    giving up, where the map names no way to a human) stands there last, and only when nothing is left that can be done
    without something the agent would have to find. ``rejected`` are the steps that were weighed and left out:
    forbidden, or not worth their cost. ``general`` says that every call of the tool is another command, ``mapped`` that
    the map knows it, ``assumed`` that it is a write only because nothing is known of it, ``acting`` that btm itself made
    the attempts so far, ``happened`` what is known of a write that may have gone through. ``skill`` is what a card says
    about the first step; targets in ``only_skills`` are known from cards alone, and only advised.
    """

    incident_id: str
    call: ToolCall
    outcome: Outcome
    steps: tuple[Step, ...]
    rejected: tuple[Step, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    escalation_tool: str = ""
    health: str = ""
    tried: tuple[Attempt, ...] = ()
    general: bool = False
    mapped: bool = False
    assumed: bool = False
    acting: bool = False
    happened: bool | None = None
    skill: str = ""
    only_skills: frozenset[str] = frozenset()

    @property
    def first(self) -> Step | None:
        """The step to take next, or None when nothing is left."""
        return self.steps[0] if self.steps else None

    @property
    def forbidden(self) -> Mapping[Action, Verdict]:
        """Each forbidden action with the first policy that forbids it, an enforced one before one that advises."""
        found: dict[Action, Verdict] = {}
        for verdict in sorted(self.verdicts, key=lambda v: v.level is not Level.ENFORCE):
            for action in sorted(verdict.forbid):  # in the same order in every process
                found.setdefault(action, verdict)
        return found

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to try: the only step is to escalate or to give up."""
        return all(step.action in LAST_RESORTS for step in self.steps)


@dataclass(frozen=True, slots=True)
class RecoveryContext:
    """A plan as text for a model, and its size in (estimated) tokens.

    ``form``, ``detail``, ``remarks`` and ``mark`` are what it was written with:
    :func:`btm.planning.context.within` writes it again, shorter.
    """

    text: str
    tokens: int
    plan: RecoveryPlan
    form: str = "tagged"
    detail: str = "full"
    remarks: tuple[tuple[str, str], ...] = ()
    mark: str = ""
