"""Puts noise on an evaluation's episodes: which tasks and calls it meets is decided by the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from btm.lab.decisive import done, dry_run
from btm.lab.environment import Environment, Task
from btm.lab.faults.draw import Draw
from btm.lab.faults.noise import NoisyTools
from btm.lab.faults.shape import Shapes
from btm.lab.intervals import wilson
from btm.lab.metrics import Episode
from btm.lab.noise import NoiseSettings
from btm.lab.scenarios import Setup
from btm.lab.user_noise import OPERATORS
from btm.model import Effect


@dataclass
class Noise:
    """The noise of one run. ``dropped`` counts, by sort, the tasks that it was drawn for and has no place in."""

    settings: NoiseSettings
    environment: Environment
    shapes: Shapes
    seed: int
    rate: float
    dropped: Counter[str] = field(default_factory=Counter)

    def on_task(self, number: int, tasks: Sequence[Task]) -> tuple[Task, str]:
        """Return task ``number`` as its user puts it, and what the user does. What is no longer solvable is dropped."""
        task, draw = tasks[number], self._draw(tasks[number])
        sorts = self.settings.of_users
        if not sorts or draw.unit("user") >= self._rate(number, len(tasks)):
            return task, ""
        sort = draw.pick(sorts, "sort")
        made = OPERATORS[sort](task, draw.at(sort), tasks)
        if made is None or not self._solvable(made):
            self.dropped[f"user:{sort}"] += 1
            return task, ""
        return made, f"user:{sort}"

    def on_tools(self, setup: Setup, said: str, number: int, tasks: int) -> Setup:
        """Return an episode with noise on the calls that its faults leave alone."""
        sorts = self.settings.of_tools
        if not sorts:
            return replace(setup, noise=said)
        wrong = tuple(name for name, spec in self.environment.tools.items() if spec.effect is Effect.WRITE)
        plan = NoisyTools(
            setup.plan,
            sorts,
            self._rate(number, tasks),
            self._draw(setup.task),
            self.shapes,
            wrong or tuple(self.environment.tools),
        )
        return replace(setup, plan=plan, noise=" ".join(filter(None, (said, "tool"))))

    def _rate(self, number: int, tasks: int) -> float:
        return self.settings.rate(number, tasks, self.rate)

    def _draw(self, task: Task) -> Draw:
        return Draw((self.seed, task.task_id, "noise"))

    def _solvable(self, task: Task) -> bool:
        run, session = dry_run(self.environment, task)
        return done(task, session.writes, run)


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """One arm under one sort of noise (``none``: the episodes that met no noise of a user), solvable scenarios.

    ``solved`` is a rate with Wilson's interval; ``trajectory`` is the share solved without a wrong or doubled change on the
    way; ``drop`` is how much less is solved than where there is none. Which tasks meet it is drawn, not chosen.
    """

    arm: str
    noise: str
    episodes: int
    solved: float
    low: float
    high: float
    trajectory: float
    drop: float | None


def noise_rows(episodes: Sequence[Episode]) -> tuple[NoiseRow, ...]:
    """Return a row for each arm and sort of noise; ``impossible`` episodes are left out."""
    solvable = [e for e in episodes if e.scenario != "impossible"]
    sorts = sorted({_of_user(e) for e in solvable}, key=lambda sort: (sort != "none", sort))
    found: list[NoiseRow] = []
    for arm in dict.fromkeys(e.arm for e in solvable):
        plain: float | None = None
        for sort in sorts:
            here = [e for e in solvable if e.arm == arm and _of_user(e) == sort]
            solved = sum(e.solved for e in here)
            rate, interval = solved / len(here), wilson(solved, len(here))
            clean = sum(e.cleanly for e in here) / len(here)
            drop = None if plain is None else plain - rate
            plain = rate if sort == "none" else plain
            found.append(NoiseRow(arm, sort, len(here), rate, interval.low, interval.high, clean, drop))
    return tuple(found)


def _of_user(episode: Episode) -> str:
    return next((name for name in episode.noise.split() if name.startswith("user:")), "none")
