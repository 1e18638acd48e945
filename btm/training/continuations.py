"""Episodes of a scripted policy, and the continuations that are made of those that went wrong.

A continuation starts from a recorded run: its calls are made again in a fresh session under the same faults (both are pure
functions of the calls, and every answer is compared), and from there on the agent goes on with help: btm's advice from one
card, and no map. The agent is simulated: a script that is walked honestly (:mod:`btm.lab.agent`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.agent import AgentRun, AgentSettings, ToolResponse, run_agent, solved
from btm.lab.desk import error_text
from btm.lab.faults.draw import Draw
from btm.lab.faults.kinds import MAY_FOLLOW_THE_EFFECT
from btm.memory import ToolMemory
from btm.model import Action, Effect, ToolCall
from btm.planning.closing import in_result
from btm.skills.book import SkillBook
from btm.skills.card import SkillCard
from btm.support.untrusted import cut
from btm.training.rollout import Rollout, Stages, shown
from btm.training.samples import SampleMessages

SYSTEM = (
    "You are the assistant of a small shop. Use the tools to do what the customer asks, one call at a time."
)
DONE, NOT_DONE = "Done: I have taken care of your request.", "I am sorry, I could not get further with this."

_SENTENCES = (
    "It did not go through. Please {what}.",
    "That failed. Could you {what}?",
    "You stopped too early: {what}, please.",
)
_NOW = 1_767_225_600.0


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of a run: what it came to as the model reads it, and as the agent does."""

    tool: str
    arguments: Mapping[str, Any]
    text: str
    response: ToolResponse


@dataclass
class PolicyRun:
    """What an agent did in one episode."""

    task_id: str
    scenario: str
    seed: int
    rollout: Rollout
    calls: list[MadeCall] = field(default_factory=list)
    outcome: AgentRun | None = None

    @property
    def name(self) -> str:
        """The run's name."""
        return f"{self.scenario}/{self.task_id}/{self.seed}"

    @property
    def succeeded(self) -> bool:
        """Whether the task is done, by the environment's own measure and the agent's knowledge."""
        rollout = self.rollout
        if self.outcome is None or not rollout.completed:
            return False
        return solved(rollout.task, rollout.session.digest(), self.outcome)

    def repeats_blindly(self, since: int = 0) -> bool:
        """Whether a write that may have happened was made again, from call number ``since`` on, without a look in between.

        It may end well here, and nothing should learn it.
        """
        made = self.rollout.injector.calls
        return any(
            first.fault in MAY_FOLLOW_THE_EFFECT
            and first.failed
            and (first.site.tool, first.site.fingerprint) == (again.site.tool, again.site.fingerprint)
            and self.writes(first.site.tool)
            for number, (first, again) in enumerate(pairwise(made), 1)
            if number >= since
        )

    def writes(self, tool: str) -> bool:
        """Whether a tool changes something."""
        return self.rollout.effects[tool] is Effect.WRITE

    @property
    def first_wrong(self) -> int | None:
        """The number of the failed call after which the agent took its first wrong step: it went on without the answer."""
        for one in self.calls:
            same = [n for n, c in enumerate(self.calls) if (c.tool, c.arguments) == (one.tool, one.arguments)]
            if all(self.calls[n].response.is_error for n in same):
                return same[-1]
        return None


@dataclass(frozen=True)
class Policy:
    """The scripted policy: it repeats a failed call ``patience`` times, and then goes on without it."""

    stages: Stages
    patience: int = 1

    def run(self, task_id: str, scenario: str, seed: int) -> PolicyRun:
        """Run an episode without help."""
        made = PolicyRun(task_id, scenario, seed, self.stages.begin(task_id, scenario, seed))
        settings = AgentSettings(patience=self.patience, follows=False)
        made.outcome = run_agent(
            made.rollout.task, _live(made), tools=self.stages.environment.tools, settings=settings
        )
        return made

    def fork(self, parent: PolicyRun, steps: int) -> PolicyRun:
        """Return an episode at the state that a run was in after so many calls.

        Raises EvaluationError where a call does not answer as it did: the environment is then no function of its calls.
        """
        made = PolicyRun(
            parent.task_id,
            parent.scenario,
            parent.seed,
            self.stages.begin(parent.task_id, parent.scenario, parent.seed),
        )
        live = _live(made)
        for one in parent.calls[:steps]:
            live(one.tool, one.arguments)
            if made.calls[-1].text != one.text:
                raise EvaluationError(
                    f"{parent.name}: {one.tool} does not answer as it did; the run cannot be forked"
                )
        return made

    def continued(self, parent: PolicyRun, steps: int, card: SkillCard) -> PolicyRun:
        """Go on after so many calls of a run, with a card. What the run has seen is known and not asked for again."""
        made = self.fork(parent, steps)
        memory = _with_card(card)
        known = _Answers(made.calls[:steps])
        live = _live(made)
        tools = self.stages.environment.tools

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            def invoke(name: str, given: Mapping[str, Any]) -> Any:
                found = known.take(name, given)
                response = found.response if found is not None else live(name, given)
                if response.is_error:
                    raise _AsItWasError(response.value)
                return response.value

            asked = ToolCall(tool, dict(arguments), tools[tool].effect, parent.name, at=_NOW)
            handled = memory.call(asked, invoke, available=tools.keys())
            advice = in_result(handled.context) or None
            if handled.error is not None:
                return ToolResponse(str(handled.error), is_error=True, advice=advice)
            return ToolResponse(handled.result, advice=advice)

        try:
            made.outcome = run_agent(made.rollout.task, call, tools=tools)
        finally:
            memory.close()
        return made

    def planned(self, parent: PolicyRun, card: SkillCard) -> PolicyRun:
        """Do a run's task from its beginning with a card: a tool that the card leads away from is not called at all."""
        made = self.fork(parent, 0)
        if card.first.action is not Action.SWITCH:
            return self.continued(parent, 0, card)
        tools = self.stages.environment.tools
        said = f"down: {card.trigger.tool} is down. Instead, switch to {card.target}"
        made.outcome = run_agent(made.rollout.task, _live(made), tools=tools, notices=lambda: said)
        return made


def transcript_of(run: PolicyRun, *, request: str, upto: int | None = None) -> SampleMessages:
    """Return a run's first calls as a conversation."""
    made = SampleMessages()
    made.add("system", SYSTEM)
    made.add("user", request)
    for one in run.calls[:upto]:
        made.call(one.tool, one.arguments, one.text)
    return made


def correction(card: SkillCard, draw: Draw) -> str:
    """Return a simulated user's sentence that says what a card does, in words of its own."""
    first, tool = card.first, card.trigger.tool.replace("_", " ")
    what = {
        Action.SWITCH: f"use {first.tool} to find it out",
        Action.REPAIR: f"call {first.tool} and try {tool} once more",
        Action.RETRY: f"try {tool} once more",
        Action.REVISE: f"check what you gave {tool}",
    }[first.action]
    return draw.pick(_SENTENCES, "sentence").format(what=what)


class _AsItWasError(Exception):
    """A tool's failure as the model reads it."""


class _Answers:
    """The answers of a run's calls, each given out once, in order."""

    def __init__(self, calls: Sequence[MadeCall]) -> None:
        self._left = list(calls)

    def take(self, tool: str, arguments: Mapping[str, Any]) -> MadeCall | None:
        for number, one in enumerate(self._left):
            if one.tool == tool and one.arguments == arguments:
                return self._left.pop(number)
        return None


def _live(run: PolicyRun) -> Callable[[str, Mapping[str, Any]], ToolResponse]:
    """Return the call function of an episode, which notes what went through it."""

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        try:
            response = ToolResponse(run.rollout.call(tool, arguments))
            text = shown(response.value)
        except Exception as error:  # noqa: BLE001 - tools raise what they like; the model reads the text
            said = error_text(error)
            response, text = ToolResponse(said, is_error=True), cut(f"Error: {said}", 1_500)
        run.calls.append(MadeCall(tool, dict(arguments), text, response))
        return response

    return call


def _with_card(card: SkillCard) -> ToolMemory:
    book = SkillBook([card])
    return ToolMemory.open(
        None,
        fallback_map=FallbackMap.empty(),
        skills=book,
        clock=lambda: _NOW,
        sleep=lambda _: None,
        hooks=(),
        breaker=None,
    )
