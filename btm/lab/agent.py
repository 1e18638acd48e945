"""The scripted agent: no model, but a script that is walked honestly.

It stands in for a capable model on known tasks, so that an evaluation measures recovery and nothing else. It takes
the gold steps in their order, and is gated: it uses a value only if the user gave it or a result showed it to *this*
run, and it takes what a result shows for the truth, so that a wrong value leads it astray. Of recovery it knows
nothing of its own but to repeat a failed call (``patience``); beyond that it reads a recovery context's text as a
model would and does what its ``next:`` line says (what the ``then:`` lines say when it lacks an argument for the first),
or goes on without.

A task counts as solved when the database is as the gold calls leave it, every answer was seen, and the agent did
not hand over to a human on its own account. Where the gold solution itself ends with a hand-over, that call is a
step of the script, and no giving up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from btm.lab.environment import ScriptStep, Task, ToolSpec
from btm.lab.instruction import (
    Instruction,
    about,
    filled_in,
    goes_on_with,
    held_back,
    instructions,
    standing,
    way_out,
)
from btm.lab.jsonvalue import pairs, parsed
from btm.lab.knowledge import Knowledge
from btm.model import Action, Effect


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """What the agent gets back for a call: a value, or an error's text, and the recovery context where there is one.

    ``served_by`` names the tool that really answered when it is not the one that was called.
    """

    value: Any
    is_error: bool = False
    advice: str | None = None
    served_by: str = ""


Call = Callable[[str, Mapping[str, Any]], ToolResponse]
"""Runs one tool call for the agent. It never raises for a tool's failure."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How the agent behaves.

    ``patience`` is how many times it repeats a failed call on its own account; ``follows`` whether it does what a
    recovery context says; ``moves`` bounds what it does about one step, ``max_calls`` what it does in an episode.
    """

    patience: int = 0
    follows: bool = True
    moves: int = 20
    max_calls: int = 100


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One call the agent made while it worked on a step.

    ``why`` is ``script`` or ``repeat`` for its own calls, else the action of the context it followed.
    """

    step: int
    tool: str
    arguments: Mapping[str, Any]
    is_error: bool
    why: str


@dataclass(frozen=True, slots=True)
class AgentRun:
    """How an episode went.

    ``completed`` are the numbers of the steps that gave a result; ``stuck_at`` is the step whose values were never
    seen, which ended the episode; ``escalated`` is a hand-over that the script does not ask for; ``spent`` says
    that the budget of calls ended it; ``said`` is what an agent of one's own answered, ``tokens`` what its model read and
    wrote.
    """

    completed: tuple[int, ...]
    escalated: bool
    calls: tuple[AgentCall, ...]
    stuck_at: int | None
    answers: tuple[str, ...]
    spent: bool = False
    said: str = ""
    tokens: int = 0

    @property
    def answered(self) -> frozenset[str]:
        """The answers that rest on what was seen."""
        return frozenset(self.answers)


DEFAULT_SETTINGS = AgentSettings()


def run_agent(
    task: Task,
    call: Call,
    *,
    tools: Mapping[str, ToolSpec],
    settings: AgentSettings = DEFAULT_SETTINGS,
    wait: Callable[[float], None] | None = None,
    notices: Callable[[], str] | None = None,
) -> AgentRun:
    """Run the script of a task and return how it went.

    ``wait`` is told how many seconds a context asks to wait before a call; none is waited without it. ``notices`` gives
    what stands in the request before the agent's turn.
    """
    return _EpisodeRun(task, call, tools, settings, wait, notices).run()


def solved(task: Task, digest: str, run: AgentRun) -> bool:
    """Whether a run did what was asked, judged by the digest of the session's database."""
    return (
        digest == task.goal and not run.escalated and run.answered >= {answer.text for answer in task.answers}
    )


class _BudgetSpentError(Exception):
    """The episode's calls are used up."""


class _EpisodeRun:
    def __init__(
        self,
        task: Task,
        call: Call,
        tools: Mapping[str, ToolSpec],
        settings: AgentSettings,
        wait: Callable[[float], None] | None,
        notices: Callable[[], str] | None = None,
    ) -> None:
        self._task, self._tools, self._settings = task, tools, settings
        self._invoke, self._wait = call, wait
        self._notices = notices if settings.follows else None
        self._knows = Knowledge(task, tools)
        self._made: list[AgentCall] = []
        self._escalated = False
        self._answered: dict[int, _StepState] = {}
        self._way_out = ""  # the human whom a note named for when the agent cannot go on

    def run(self) -> AgentRun:
        stuck_at, spent = None, False
        try:
            for number, step in enumerate(self._task.steps):
                arguments = self._knows.arguments(step)
                if arguments is None:
                    stuck_at = number
                    self._hand_over(number, step)
                    break
                self._take(_CurrentStep(number, step, arguments))
                if self._escalated:
                    break
        except _BudgetSpentError:
            spent = True
        answers = tuple(a.text for a in self._task.answers if all(self._knows.confirms(s) for s in a.sources))
        return AgentRun(self._knows.steps, self._escalated, tuple(self._made), stuck_at, answers, spent)

    def _hand_over(self, number: int, step: ScriptStep) -> None:
        """Ask a human where a note named one, for an agent that cannot go on."""
        arguments = self._knows.fill(self._way_out, {}, {}) if self._way_out in self._tools else None
        if arguments is not None:
            made = self._call(_CurrentStep(number, step, {}), self._way_out, arguments, Action.ESCALATE.value)
            self._escalated = not made.observation.is_error

    def _call(self, work: _CurrentStep, tool: str, arguments: Mapping[str, Any], why: str) -> _StepState:
        if len(self._made) >= self._settings.max_calls:
            raise _BudgetSpentError
        observation = self._invoke(tool, arguments)
        self._made.append(AgentCall(work.number, tool, arguments, observation.is_error, why))
        if self._settings.follows and observation.advice:
            self._way_out = way_out(observation.advice) or self._way_out
        if not observation.is_error:
            self._knows.saw(observation.value)
            if tool == work.step.tool:
                state = _StepState(observation, tool, arguments)
                self._answered.setdefault(work.number, state)
        return _StepState(observation, tool, arguments)

    def _take(self, work: _CurrentStep) -> None:
        """Make a step's call and do about its failures what the settings and the contexts say."""
        work, move = self._first(work)
        repeats = 0
        for _ in range(self._settings.moves):
            text = move.observation.advice or ""
            advice = self._settings.follows and instructions(text)
            checked = (
                self._checked(work, standing(text, work.step.tool, writes=work.writes)) if advice else None
            )
            if checked is None and advice and held_back(text):
                checked = work, self._call(work, work.step.tool, work.arguments, "retry")
            if checked is not None:
                work, move = checked
                continue
            earlier = self._earlier(work, move)
            if advice and earlier is not None:
                mended = self._mend(work, earlier, move, advice)
                if mended is None:
                    break
                work, move = mended
            elif advice:
                following = self._follow(work, move, advice)
                move = following or move
                if following is None or following.final:
                    break
            elif move.observation.is_error and repeats < self._settings.patience:
                repeats += 1
                move = self._call(work, work.step.tool, work.arguments, "repeat")
            else:
                break
        move = self._gone_on_with(work, move)
        answer = move.observation
        if not answer.is_error and not self._escalated:
            own = move.tool == work.step.tool and answer.served_by in ("", work.step.tool)
            self._knows.take(work.number, answer.value, work.arguments, own=own)

    def _gone_on_with(self, work: _CurrentStep, move: _StepState) -> _StepState:
        """Go back to the step's own answer where a note says to go on with that."""
        mine = self._answered.get(work.number)
        own = goes_on_with(move.observation.advice or "") == work.step.tool
        return mine if own and mine is not None else move

    def _first(self, work: _CurrentStep) -> tuple[_CurrentStep, _StepState]:
        """Make a step's call, after the checks that notices want before it, or what they say to call instead."""
        said = (
            standing(self._notices(), work.step.tool, writes=work.writes) if self._notices is not None else ()
        )
        for one in said:
            if one.action is Action.SWITCH:
                nothing = _StepState(ToolResponse(None, is_error=True), work.step.tool, work.arguments)
                whole = filled_in(one, work.arguments)
                made = self._do(work, nothing, whole) if whole is not None else None
                if made is not None:
                    return work, made
        mended = self._checked(work, said)
        return mended or (work, self._call(work, work.step.tool, work.arguments, "script"))

    def _checked(
        self, work: _CurrentStep, said: Iterable[Instruction]
    ) -> tuple[_CurrentStep, _StepState] | None:
        """Make checks; return the step done from what the first one that contradicts shows, None if none does."""
        for one in said:
            arguments = self._knows.fill(one.tool, one.arguments, {})
            if one.action is not Action.VERIFY or arguments is None:
                continue
            made = self._call(work, one.tool, arguments, Action.VERIFY.value)
            earlier = self._earlier(work, made)
            advice = instructions(made.observation.advice or "")
            if earlier is not None and advice:
                mended = self._mend(work, earlier, made, advice)
                if mended is not None:
                    return mended
        return None

    def _earlier(self, work: _CurrentStep, move: _StepState) -> int | None:
        """Return the number of the earlier step that a context is about, when it is not about the call just made."""
        earlier = about(move.observation.advice or "")
        if earlier is None or earlier == (work.step.tool, work.arguments):
            return None
        done = [n for n in self._knows.steps if n < work.number and self._task.steps[n].tool == earlier[0]]
        same = [n for n in done if self._knows.arguments(self._task.steps[n]) == earlier[1]]
        return max(same or done, default=None)

    def _mend(
        self, work: _CurrentStep, number: int, move: _StepState, advice: Iterable[Instruction]
    ) -> tuple[_CurrentStep, _StepState] | None:
        """Do an earlier step again as its context says, then this one from what that shows; None when it cannot."""
        step = self._task.steps[number]
        arguments = self._knows.arguments(step)
        if arguments is None:
            return None
        mended = self._follow(_CurrentStep(number, step, arguments), move, advice)
        if mended is None or mended.observation.is_error:
            return None
        self._knows.take(number, mended.observation.value, arguments, own=mended.tool == step.tool)
        anew = self._knows.arguments(work.step)
        if anew is None:
            return None
        again = replace(work, arguments=anew)
        return again, self._call(again, work.step.tool, anew, "script")

    def _follow(
        self, work: _CurrentStep, move: _StepState, advice: Iterable[Instruction]
    ) -> _StepState | None:
        """Do the first thing of a context that the agent can do; None when it can do nothing, or is told to stop."""
        for said in advice:
            if said.action is Action.ABANDON:
                return None
            made = self._do(work, move, said)
            if made is not None:
                return made
        return None

    def _do(self, work: _CurrentStep, move: _StepState, said: Instruction) -> _StepState | None:
        """Do what one line says, or None: an unknown argument is not made up."""
        tool = said.tool or work.step.tool
        mine = work.arguments if tool == work.step.tool else {}
        if said.action is Action.RETRY and mine:
            arguments: Mapping[str, Any] | None = mine
        else:
            arguments = self._knows.fill(tool, said.arguments, mine)
        unchanged = said.action is Action.REVISE and arguments == work.arguments
        if arguments is None or tool not in self._tools or unchanged:
            return None
        if self._wait is not None and said.wait_s > 0:
            self._wait(said.wait_s)
        made = self._call(work, tool, arguments, said.action.value)
        failed = made.observation.is_error
        match said.action:
            case Action.REPAIR if not failed:
                return self._call(work, *self._meant(work, said.again, move), "retry")
            case Action.VERIFY if not failed:
                return self._verified(work, made)
            case Action.ESCALATE:
                self._escalated = not failed
                return replace(made, final=True)
        return made

    def _meant(self, work: _CurrentStep, tool: str, move: _StepState) -> tuple[str, Mapping[str, Any]]:
        """Return the call that is to be made again: the latest of that tool for this step, else the latest of any."""
        mine = (m for m in reversed(self._made) if m.step == work.number and m.tool == tool)
        found = next(mine, None)
        return (move.tool, move.arguments) if found is None else (found.tool, found.arguments)

    def _verified(self, work: _CurrentStep, check: _StepState) -> _StepState:
        """Read what a check of a write shows: it is done, or has to be done again. For a read it is a second look."""
        if check.observation.advice or work.step.effect is Effect.READ:
            return check
        if _happened(work.step, parsed(check.observation.value)):
            return replace(check, final=True)
        return self._call(work, work.step.tool, work.arguments, "retry")


@dataclass(frozen=True, slots=True)
class _CurrentStep:
    """The step that is being worked on, with the arguments that the agent has for it."""

    number: int
    step: ScriptStep
    arguments: Mapping[str, Any]

    @property
    def writes(self) -> bool:
        return self.step.effect is Effect.WRITE


@dataclass(frozen=True, slots=True)
class _StepState:
    """Where the agent stands with a step: the last answer, and whose it was. A final one is not gone on from."""

    observation: ToolResponse
    tool: str
    arguments: Mapping[str, Any]
    final: bool = False


def _happened(step: ScriptStep, result: Any) -> bool:
    """Whether a look at a record shows that the write was made: nothing it shows contradicts the evidence."""
    shown = pairs(result)
    names = {name for name, _ in shown}
    relevant = [pair for pair in step.evidence if pair[0] in names]
    return bool(relevant) and all(pair in shown for pair in relevant)
