"""What a decision looks like as data: steps with the numbers they were ranked by, verdicts, the plan, its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from btm.fallback import Step
from btm.model import Action, Attempt, Outcome, ToolCall

UNCHECKED = "unchecked"
"""The rule of an outcome of a write that was held back because nobody has confirmed what it rests on."""


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
        return all(step.action in (Action.ESCALATE, Action.ABANDON) for step in self.steps)


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
