"""What a decision looks like as data: steps with the numbers they were ranked by, verdicts, the plan, its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from btm.fallback.candidate import Candidate
from btm.learning.posterior import BetaPosterior
from btm.model import Action, Attempt, Incident, Outcome, ToolCall


def target_of(offer: Candidate) -> str:
    """Return the name under which evidence about a substitute is kept: its tool, or its tools in a row."""
    return " > ".join(offer.via) if offer.via else offer.tool


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can be done next, with the numbers it was ranked by.

    ``arguments`` are what the map could fill; ``missing`` names those the agent must supply.
    ``chance`` is the belief's mean, or a draw from it when exploring; ``worth_trying`` says whether p·v·V exceeds
    the cost. ``offer`` is the map's candidate behind the step, where there is one; ``irreversible`` says that it does
    what cannot be undone. ``above`` is the incident that the step answers where that is not the plan's own: the one
    that a substitute, which failed in turn, was to answer.
    """

    action: Action
    tool: str
    arguments: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    belief: BetaPosterior | None = None
    chance: float = 1.0
    value: float = 1.0
    cost: float = 1.0
    wait_s: float = 0.0
    worth_trying: bool = True
    gives: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    offer: Candidate | None = None
    irreversible: bool = False
    above: Incident | None = None

    def weighed(
        self, belief: BetaPosterior, *, chance: float, wait_s: float, cost: float, worth_trying: bool
    ) -> Step:
        """Return this step with the numbers it is ranked by (dataclasses.replace takes three times as long)."""
        return Step(
            self.action, self.tool, self.arguments, self.missing, belief, chance, self.value, cost, wait_s,
            worth_trying, self.gives, self.lacks, self.offer, self.irreversible, self.above,
        )  # fmt: skip

    @property
    def target(self) -> str:
        """The name under which evidence about this step is kept; empty for a retry or revise of the tool itself."""
        if self.action in (Action.RETRY, Action.REVISE):
            return ""
        return target_of(self.offer) if self.offer is not None else self.tool

    @property
    def score(self) -> float:
        """What a unit of cost buys: the order in which independent steps are best tried."""
        return self.chance * self.value / self.cost


class Level(StrEnum):
    """How hard a policy is: advice is said, an enforced rule is also kept by guard and act mode."""

    ADVISE = "advise"
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy says about a situation."""

    policy: str
    say: str
    forbid: frozenset[Action] = frozenset()
    require: Action | None = None
    level: Level = Level.ADVISE


@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """What to do about an incident: ranked steps, forbidden actions, and the sentences of the policies.

    ``steps`` are in the order in which they should be tried; a required step (verify) comes first. Escalating (or
    giving up, where nobody can be asked) stands there last, and only when nothing is left that can be done without
    something the agent would have to find. ``rejected`` are the steps that were weighed and left out: forbidden, or not
    worth their cost.
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

    @property
    def first(self) -> Step | None:
        """The step to take next, or None when nothing is left."""
        return self.steps[0] if self.steps else None

    @property
    def forbidden(self) -> Mapping[Action, Verdict]:
        """Each forbidden action with the first policy that forbids it, an enforced one before one that advises."""
        found: dict[Action, Verdict] = {}
        for verdict in sorted(self.verdicts, key=lambda v: v.level is not Level.ENFORCE):
            for action in verdict.forbid:
                found.setdefault(action, verdict)
        return found

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to try: the only step is to escalate or to give up."""
        return all(step.action in (Action.ESCALATE, Action.ABANDON) for step in self.steps)


@dataclass(frozen=True, slots=True)
class RecoveryContext:
    """A plan as text for a model, and its size in (estimated) tokens."""

    text: str
    tokens: int
    plan: RecoveryPlan
