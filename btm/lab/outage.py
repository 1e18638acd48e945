"""The outage profile: a service is down for everyone for a stretch of episodes, and back after it.

Episodes follow each other, ``EVERY_S`` seconds apart or as soon as the one before is over. In the middle half of a run
every call of one service fails, whatever it is asked; nothing else does. The service is the tool that most tasks hang on
among those that others can stand in for, with all tools of its group in the map. What a circuit breaker is worth shows
in the calls that still went to what was down, and in the time that went by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.arms import Arm
from btm.lab.environment import Environment, Task
from btm.lab.episodes import run_episode
from btm.lab.faults.clock import START
from btm.lab.faults.draw import Draw
from btm.lab.faults.plan import Fault, NoFaults, Site
from btm.lab.loading import map_of
from btm.lab.metrics import Episode
from btm.lab.own_agent import agent_of
from btm.lab.request import Evaluation, Progress, Request
from btm.lab.scenarios import Scenario, Setup, Stage
from btm.model import ErrorKind

EVERY_S = 20.0
"""Simulated seconds from the start of one episode to that of the next, unless it takes longer."""

ROUNDS = 2
"""How often a run goes through the tasks."""

KINDS = (ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR)
"""How calls of a service fail that is down."""


@dataclass(frozen=True, slots=True)
class ServiceDown:
    """A fault plan: every call of these tools fails in the same way."""

    tools: frozenset[str]
    kind: ErrorKind
    draw: Draw

    def fault(self, site: Site) -> Fault | None:
        return Fault(self.kind, self.draw.at(site.tool, site.nth)) if site.tool in self.tools else None


@dataclass(frozen=True, slots=True)
class OutageRow:
    """One arm during the outage: ``dead_calls`` reached what was down, ``waited_s`` (simulated) went by for nothing."""

    arm: str
    episodes: int
    solved: int
    calls: int
    dead_calls: int
    waited_s: float


def outage_of(episodes: Sequence[Episode]) -> tuple[OutageRow, ...]:
    """Sum up what each arm did while the service was down."""
    here = [e for e in episodes if e.scenario == Scenario.OUTAGE]
    by_arm = {arm: [e for e in here if e.arm == arm] for arm in dict.fromkeys(e.arm for e in here)}
    return tuple(
        OutageRow(
            arm,
            len(mine),
            sum(e.solved for e in mine),
            sum(e.calls for e in mine),
            sum(e.faults_met for e in mine),
            round(sum(e.waited_s for e in mine), 3),
        )
        for arm, mine in by_arm.items()
    )


def evaluate_outage(
    request: Request,
    environment: Environment,
    tasks: Sequence[Task],
    make: Callable[[str, FallbackMap], Arm],
    *,
    progress: Progress | None = None,
    look: Callable[[Arm], None] | None = None,
) -> Evaluation:
    """Run an evaluation in the outage profile; see :func:`btm.lab.runner.evaluate`.

    Raises EvaluationError where no tool that tasks hang on has a substitute.
    """
    fallback_map = map_of(environment)
    planned = _planned(environment, fallback_map, request, tasks)
    episodes: list[Episode] = []
    for name in request.arms:
        with closing(make(name, fallback_map)) as arm:
            start = START
            for number, stage, setup in planned:
                episode = run_episode(arm, setup, stage, start)
                episodes.append(
                    replace(episode, world=number)
                )  # the same task again is an episode of its own
                start += max(EVERY_S, episode.elapsed_s)
                if progress is not None:
                    progress(len(episodes), len(planned) * len(request.arms))
            if look is not None:
                look(arm)
    return Evaluation(request, tuple(episodes), {}, environment.left_out)


def _planned(
    environment: Environment, fallback_map: FallbackMap, request: Request, tasks: Sequence[Task]
) -> list[tuple[int, Stage, Setup]]:
    """Return the episodes in their order, each with its round: all is whole, then the service is down, then whole again."""
    agent = agent_of(request, environment)
    stages = [
        Stage(environment, fallback_map, request.faults, name=f"round {n + 1}", agent=agent)
        for n in range(ROUNDS)
    ]
    draw = Draw((request.faults.seed, "outage"))
    weights = request.faults.weights
    kind = draw.pick([kind for kind in KINDS if weights.get(kind, 0) > 0] or list(KINDS), "kind")
    plan = ServiceDown(_service(stages[0], tasks, kind), kind, draw)
    keyed = sorted((n, draw.unit(n, task.task_id), task.task_id) for n in range(ROUNDS) for task in tasks)
    by_id = {task.task_id: task for task in tasks}
    planned: list[tuple[int, Stage, Setup]] = []
    for place, (number, _, task_id) in enumerate(keyed):
        task = by_id[task_id]
        if len(keyed) // 4 <= place < len(keyed) - len(keyed) // 4:
            setup = Setup(Scenario.OUTAGE, Scenario.OUTAGE, task, plan, frozenset({kind}), plan.tools)
        else:
            setup = Setup(Scenario.CLEAN, Scenario.CLEAN, task, NoFaults())
        planned.append((number, stages[number], setup))
    return planned


def _service(stage: Stage, tasks: Sequence[Task], kind: ErrorKind) -> frozenset[str]:
    """Return the tools that go down together."""
    hang: dict[str, int] = {}
    for task in tasks:
        for tool in stage.decisive(task):
            if not stage.shapes.of(tool).writes and stage.can_switch(task, tool, kind):
                hang[tool] = hang.get(tool, 0) + 1
    if not hang:
        raise EvaluationError(
            "no tool that these tasks hang on has a substitute in the map: nothing can go down"
        )
    first = max(hang, key=lambda tool: hang[tool])
    groups = stage.fallback_map.groups
    group = groups.get(first)
    return frozenset(tool for tool in groups if groups[tool] == group) if group else frozenset({first})
