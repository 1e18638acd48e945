"""The heterogeneous profile: btm learns on one half of the tasks and is measured, frozen, on the other.

In each world btm goes through its half of the tasks several times, in act mode and with other faults each time. Then
every arm runs the other half on the same faults. All arms with btm start each of their episodes from the very same
evidence and differ only in what they make of it: pooled, shuffled, each number for itself, or none at all. What a
task may cost is bounded (:mod:`btm.lab.world`), from what it costs the very arm when nothing fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.arms import BTM_ARMS, Arm, plain_arm
from btm.lab.environment import Environment, Task
from btm.lab.episodes import APART_S, run_episode
from btm.lab.faults.clock import START
from btm.lab.faults.draw import Draw
from btm.lab.frozen_arms import frozen_arm
from btm.lab.loading import map_of
from btm.lab.memory_arms import memory_arm
from btm.lab.metrics import Episode
from btm.lab.own_agent import OwnAgent, agent_of
from btm.lab.request import Evaluation, Progress, Request
from btm.lab.scenarios import Scenario, Setup, Stage
from btm.lab.world import World
from btm.store import EvidenceRow

_SEEDS = 2**31


@dataclass
class EpisodeCounter:
    """Numbers episodes, so that each begins after the one before, and tells how many are done."""

    total: int
    progress: Progress | None
    done: int = field(default=0)

    def run(self, arm: Arm, setup: Setup, stage: Stage, clean: float) -> Episode:
        """Run one episode."""
        episode = run_episode(arm, setup, stage, START + self.done * APART_S, clean)
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)
        return episode


def evaluate_held_out(
    request: Request,
    environment: Environment,
    tasks: Sequence[Task],
    *,
    progress: Progress | None = None,
    look: Callable[[Arm], None] | None = None,
) -> Evaluation:
    """Run an evaluation in the heterogeneous profile; see :func:`btm.lab.runner.evaluate`.

    Raises EvaluationError when there are too few tasks for two halves, or a scenario cannot be made for any task.
    """
    if len(tasks) < 2:
        raise EvaluationError(
            "the heterogeneous profile needs two tasks at least: one to learn on, one to run"
        )
    if request.worlds < 1 or request.passes < 1:
        raise EvaluationError("there is at least one world, and one pass over the tasks to learn from")
    scenarios, half = len(request.scenarios), len(tasks) // 2
    learning = half * (1 + scenarios * request.passes) if _learns(request) else 0
    sorts = len({name in BTM_ARMS for name in request.arms})
    each = learning + (len(tasks) - half) * (sorts + scenarios * len(request.arms))
    counter = EpisodeCounter(request.worlds * each, progress)
    fallback_map = map_of(environment)
    agent = agent_of(request, environment)
    episodes: list[Episode] = []
    left_out = dict.fromkeys(request.scenarios, 0)
    for number in range(request.worlds):
        seed = request.faults.seed + number
        world = World.of(seed, fallback_map, request.contrast, request.allowance)
        run = HoldoutWorld(request, environment, world, world.priced(fallback_map), counter, agent=agent)
        learned, tested = run.halves(tasks)
        rows = run.learn(learned, request.database if number == 0 else None)
        setups = run.set_up(tested, "test")
        for scenario in request.scenarios:
            left_out[scenario] += len(tested) - sum(s.scenario is scenario for _, s in setups)
        for name in request.arms:
            episodes += run.test(name, tested, setups, rows, look)
    for scenario in request.scenarios:
        if not any(episode.scenario == scenario for episode in episodes):
            raise EvaluationError(
                f"{scenario} cannot be made for any of these tasks with these kinds of fault"
            )
    return Evaluation(request, tuple(episodes), left_out, environment.left_out)


def _learns(request: Request) -> bool:
    return any(name in BTM_ARMS for name in request.arms)


@dataclass
class HoldoutWorld:
    """One world of a run."""

    request: Request
    environment: Environment
    world: World
    fallback_map: FallbackMap
    counter: EpisodeCounter
    clean: dict[bool, dict[str, float]] = field(default_factory=dict)
    agent: OwnAgent | None = None

    def halves(self, tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
        """Deal the tasks out into those to learn on and those to run."""
        draw = Draw((self.world.seed, "halves"))
        dealt = sorted(tasks, key=lambda task: draw.unit(task.task_id))
        return dealt[: len(dealt) // 2], dealt[len(dealt) // 2 :]

    def measure_clean(self, arm: Arm, tasks: Iterable[Task]) -> dict[str, float]:
        """Return what each task costs an arm when nothing fails, its own checks included."""
        stage, clean = self._stage("clean"), {}
        for task in tasks:
            setup = stage.set_up(Scenario.CLEAN, task)
            assert setup is not None  # noqa: S101 - nothing is needed for nothing to fail
            clean[task.task_id] = self.counter.run(arm, setup, stage, math.inf).cost
        return clean

    def _stage(self, name: str) -> Stage:
        # The same world, other faults in it.
        seed = Draw((self.world.seed, "faults", name)).integer(0, _SEEDS)
        faults = replace(self.request.faults, seed=seed)
        return Stage(self.environment, self.fallback_map, faults, self.world, name, self.agent)

    def set_up(self, tasks: Iterable[Task], name: str) -> list[tuple[Stage, Setup]]:
        """Set up every episode that can be made."""
        stage = self._stage(name)
        made = (stage.set_up(scenario, task) for task in tasks for scenario in self.request.scenarios)
        return [(stage, setup) for setup in made if setup is not None]

    def learn(self, tasks: Sequence[Task], database: str | None) -> tuple[EvidenceRow, ...]:
        """Let btm go through these tasks, and return the evidence; none when no arm is to use it."""
        if not _learns(self.request):
            return ()
        with closing(memory_arm("btm", self.fallback_map, self.world.seed)) as fresh:
            clean = self.measure_clean(fresh, tasks)
        with closing(memory_arm("btm", self.fallback_map, self.world.seed, database)) as arm:
            for number in range(self.request.passes):
                for stage, setup in self.set_up(tasks, f"pass {number + 1}"):
                    self.counter.run(arm, setup, stage, clean[setup.task.task_id])
            return arm.evidence()

    def test(
        self,
        name: str,
        tasks: Iterable[Task],
        setups: Iterable[tuple[Stage, Setup]],
        rows: tuple[EvidenceRow, ...],
        look: Callable[[Arm], None] | None,
    ) -> list[Episode]:
        """Run one arm on what is set up, within a budget from what the tasks cost this arm when nothing fails."""
        with closing(self._arm(name, rows)) as arm:
            # Arms of a sort make the same calls when nothing fails; a test holds that.
            sort = name in BTM_ARMS
            if sort not in self.clean:
                self.clean[sort] = self.measure_clean(arm, tasks)
            clean = self.clean[sort]
            episodes = [
                self.counter.run(arm, setup, stage, clean[setup.task.task_id]) for stage, setup in setups
            ]
            if look is not None:
                look(arm)
            return episodes

    def _arm(self, name: str, rows: tuple[EvidenceRow, ...]) -> Arm:
        if name in BTM_ARMS:
            return frozen_arm(name, self.fallback_map, self.world.seed, rows)
        return plain_arm(name)
