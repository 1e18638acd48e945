"""One rollout of a task under faults: what was called and seen, and what it is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.fallback import FallbackMap
from btm.lab.desk import error_text
from btm.lab.environment import DOMAINS, Environment, Task, double_writes, load_environment
from btm.lab.faults.injector import Injector
from btm.lab.faults.settings import FaultSettings
from btm.lab.jsonvalue import parsed
from btm.lab.loading import map_of
from btm.lab.looking import anywhere
from btm.lab.scenarios import Scenario, Setup, Stage
from btm.model import Effect
from btm.support.untrusted import canonical, cut
from btm.training.rewards import reward

__all__ = ["DOMAINS", "Rollout", "Stages"]

_SHOWN = 1_500  # characters of a result that a model reads


def shown(result: Any) -> str:
    """Return a result as a model reads it: text, or JSON, cut."""
    return cut(result if isinstance(result, str) else canonical(result).decode(), _SHOWN)


@dataclass
class Stages:
    """A domain with its faults, ready for episodes: one stage a seed, kept."""

    domain: str
    rate: float = 0.4
    environment: Environment = field(init=False)
    fallback_map: FallbackMap = field(init=False)

    def __post_init__(self) -> None:
        self.environment = load_environment(self.domain)
        self.fallback_map = map_of(self.environment)
        self.tasks = {task.task_id: task for task in self.environment.tasks}
        self._stages: dict[int, Stage] = {}

    def stage(self, seed: int) -> Stage:
        """Return the stage of a seed."""
        if seed not in self._stages:
            settings = FaultSettings(seed=seed, rate=self.rate)
            self._stages[seed] = Stage(self.environment, self.fallback_map, settings)
        return self._stages[seed]

    def set_up(self, task_id: str, scenario: str, seed: int) -> Setup | None:
        """Return an episode, None where the scenario cannot be made of the task. Raises KeyError for an unknown task."""
        return self.stage(seed).set_up(Scenario(scenario), self.tasks[task_id])

    def begin(self, task_id: str, scenario: str = Scenario.CLEAN, seed: int = 0) -> Rollout:
        """Begin a rollout. Raises KeyError for an unknown task, ValueError where the scenario cannot be made of it."""
        setup = self.set_up(task_id, scenario, seed)
        if setup is None:
            raise ValueError(f"{scenario} cannot be made of task {task_id!r}")
        return Rollout(setup, self.environment, self.stage(seed), frozenset(self.fallback_map.escalations()))


class Rollout:
    """The tools of one task under faults, with a record of what was called."""

    def __init__(self, setup: Setup, environment: Environment, stage: Stage, human: frozenset[str]) -> None:
        self.setup = setup
        self.task: Task = setup.task
        self.effects = {name: spec.effect for name, spec in environment.tools.items()}
        self.session = environment.open(setup.task)
        bounded = setup.drawn is Scenario.RETRY_WORKS
        self.injector = Injector(
            self.session.call,
            setup.plan,
            shapes=setup.shapes or stage.shapes,
            budget=stage.settings.budget if bounded else None,
            tell=False,
        )
        self._human = human
        self.made: list[tuple[str, bytes]] = []
        self.seen: list[Any] = []
        self.handed_over = False

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool. Raises its own error, or an injected one."""
        self.made.append((tool, canonical(dict(arguments))))
        result = self.injector(tool, arguments)
        if tool in self._human:
            self.handed_over = True
        self.seen.append(parsed(result))
        return result

    def said(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Run a tool and return what a model reads: the result as JSON, or the error; never raises for a tool."""
        try:
            result = self.call(tool, arguments)
        except Exception as error:  # noqa: BLE001 - tools raise what they like; the model reads the text
            return cut(f"Error: {error_text(error)}", _SHOWN)
        return shown(result)

    @property
    def completed(self) -> bool:
        """Whether the task's end is reached: its goal, or where nothing can help, a hand-over and no write of its own."""
        own = any(step.tool in self._human for step in self.task.steps)
        if self.setup.drawn is Scenario.IMPOSSIBLE:
            asked = Counter(self.task.changes)
            wrong = Counter(write.change for write in self.session.writes) - asked
            return self.handed_over and not wrong and not double_writes(self.task, self.session.writes)
        if self.handed_over and not own:
            return False
        answered = all(
            anywhere(self.seen, place.value) for answer in self.task.answers for place in answer.sources
        )
        looked = bool(self.made) or not self.task.steps
        return looked and answered and self.session.digest() == self.task.goal

    @property
    def matched(self) -> int:
        """How many gold calls were made, each once; another tool's call counts where it had the same effect.

        A write's effect is its change, a read's that what later steps need of it was seen.
        """
        made, changes = Counter(self.made), Counter(write.change for write in self.session.writes)
        wanted = iter(self.task.changes)
        count = 0
        for number, step in enumerate(self.task.steps):
            change = next(wanted, None) if step.effect is Effect.WRITE else None
            key = (step.tool, canonical(dict(step.arguments)))
            if made[key]:
                made[key] -= 1
                count += 1
            elif change is not None and changes[change]:
                changes[change] -= 1
                count += 1
            elif step.effect is Effect.READ:
                places = self.task.used(number)
                count += bool(places) and all(anywhere(self.seen, place.value) for place in places)
        return count

    def reward(self, *, partial: bool = True, completed: bool | None = None) -> float:
        """Return R(tau); see :mod:`btm.training.rewards`. ``completed`` is :attr:`completed`, for who has it already."""
        return reward(
            self.made,
            completed=self.completed if completed is None else completed,
            matched=self.matched,
            required=len(self.task.steps),
            partial=partial,
        )
