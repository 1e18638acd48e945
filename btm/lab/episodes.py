"""Runs one episode: one task, tried once by one arm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from btm.lab.agent import AgentRun, Call, ToolResponse, run_agent, solved
from btm.lab.arms import Arm
from btm.lab.desk import Desk, OutOfBudgetError, error_text
from btm.lab.environment import double_writes, wrong_writes
from btm.lab.faults.clock import VirtualClock
from btm.lab.metrics import Episode
from btm.lab.scenarios import Setup, Stage

APART_S = 86_400.0
"""Simulated time from the start of one episode to the start of the next: a tool's bad hour is over by then."""


def run_episode(arm: Arm, setup: Setup, stage: Stage, start: float, clean: float = math.inf) -> Episode:
    """Run an episode that begins at ``start`` (seconds since the epoch, simulated).

    ``clean`` is what the task costs the arm when nothing fails: with it, the setup's allowance bounds the episode.
    """
    clock, desks = VirtualClock(start), list[Desk]()
    reflections: tuple[str, ...] = ()
    while True:
        desk = Desk.lay(setup, stage, clock, clean)
        desk.reflections = reflections
        desks.append(desk)
        run = _tried(stage, desk, arm)
        good = run is not None and _solved(desk, run)
        if good or len(desks) == arm.trials:
            return _episode(arm, stage, desks, run, good=good)
        reflections = (*reflections, *arm.reflect(desk))


def _tried(stage: Stage, desk: Desk, arm: Arm) -> AgentRun | None:
    """Run the agent once; None where its budget ended it, undone."""
    try:
        return _run(stage, desk, arm)
    except OutOfBudgetError:
        return None
    finally:
        arm.done(desk)


def _episode(arm: Arm, stage: Stage, desks: list[Desk], run: AgentRun | None, *, good: bool) -> Episode:
    """Sum up an episode over its trials; it ended as its last one did."""
    setup, clock = desks[-1].setup, desks[-1].clock
    calls = [made for desk in desks for made in desk.injector.calls]
    good_s = sum(made.took_s for made in calls if made.fault is None)
    return Episode(
        arm=arm.name,
        scenario=setup.scenario,
        task_id=setup.task.task_id,
        kinds=setup.kinds,
        solved=good,
        escalated=run is not None and run.escalated,
        calls=len(calls),
        identical_repeats=sum(desk.injector.identical_repeats for desk in desks),
        double_writes=sum(double_writes(setup.task, desk.session.writes) for desk in desks),
        elapsed_s=round(clock.elapsed, 6),
        cost=sum(desk.cost for desk in desks),
        exhausted=run is None,
        world=stage.world.seed if stage.world is not None else 0,
        waited_s=round(clock.elapsed - good_s, 6),
        faults_met=sum(made.fault is not None for made in calls),
        trials=len(desks),
        longest_loop=max(desk.injector.longest_loop for desk in desks),
        wrong_writes=wrong_writes(setup.task, desks[-1].session.writes),
        claimed=run is not None and _claimed(desks[-1], run),
        model_tokens=run.tokens if run is not None else 0,
        noise=setup.noise,
        injected_chars=sum(desk.injected_chars for desk in desks),
    )


def _run(stage: Stage, desk: Desk, arm: Arm) -> AgentRun:
    task, tools, notices = desk.setup.task, desk.environment.tools, partial(arm.notices, desk)
    call = _past_the_user(desk, _measured(desk, arm.calls(desk)))
    if stage.agent is None:
        return run_agent(task, call, tools=tools, wait=desk.clock.sleep, notices=notices)
    humans = desk.fallback_map.escalations()
    return stage.agent.run(task, call, tools=tools, humans=humans, notices=notices)


def _claimed(desk: Desk, run: AgentRun) -> bool:
    """Whether a run ended as if all was done: every step has a result, or an agent of one's own has answered."""
    if run.escalated or run.spent or run.stuck_at is not None:
        return False
    own = bool(run.calls) and run.calls[0].step < 0
    return bool(run.said) if own else len(run.completed) == len(desk.setup.task.steps)


def _measured(desk: Desk, through: Call) -> Call:
    """Count what an arm says to the agent."""

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        answer = through(tool, arguments)
        desk.injected_chars += len(answer.advice or "")
        return answer

    return call


def _past_the_user(desk: Desk, through: Call) -> Call:
    """Let the user's own tools go past the arm: nobody's middleware stands before the user's device."""
    tools = desk.environment.tools
    if not any(spec.by_user for spec in tools.values()):
        return through

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        if tool not in tools or not tools[tool].by_user:
            return through(tool, arguments)
        try:
            return ToolResponse(desk.session.call(tool, arguments))
        except Exception as error:  # noqa: BLE001 - the user's device may raise anything; the agent sees the text
            return ToolResponse(error_text(error), is_error=True)

    return call


def _solved(desk: Desk, run: AgentRun) -> bool:
    """Judge a run; the database is only hashed (slow for large ones) where the answer hangs on it."""
    task = desk.setup.task
    return solved(task, task.goal, run) and solved(task, desk.session.digest(), run)
