"""What an arm finds at the start of each episode: the tools, with their faults, on a clock of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.fallback import FallbackMap
from btm.lab.agent import ToolResponse
from btm.lab.environment import Environment, Session
from btm.lab.faults.clock import VirtualClock
from btm.lab.faults.injector import Injector
from btm.lab.scenarios import Scenario, Setup, Stage
from btm.lab.world import World
from btm.support.untrusted import text_of


class OutOfBudgetError(BaseException):
    """An episode's step budget is spent. No failure of a tool, so nothing may catch it on the way to the runner."""


def error_text(error: Exception) -> str:
    """Return an exception as an agent's framework shows it."""
    return f"{type(error).__name__}: {text_of(error, 2_000)}"


@dataclass
class Desk:
    """One episode of one arm. ``call`` runs a tool: it counts the cost, lets faults strike, and reaches the session.

    ``reflections`` are what an arm with several trials noted of those before.
    """

    setup: Setup
    conversation: str
    environment: Environment
    fallback_map: FallbackMap
    clock: VirtualClock
    session: Session
    injector: Injector
    world: World | None = None
    fails_at_first: float = 0.0
    cost: float = 0.0
    budget: float = math.inf
    reflections: tuple[str, ...] = ()
    injected_chars: int = 0

    @classmethod
    def lay(cls, setup: Setup, stage: Stage, clock: VirtualClock, clean: float = math.inf) -> Desk:
        """Open a fresh session for an episode.

        ``clean`` is what the task costs this arm when nothing fails (infinite: nothing bounds the episode).
        """
        environment, task = stage.environment, setup.task
        session = environment.open(task, clock.time)
        budget = stage.settings.budget if setup.drawn is Scenario.RETRY_WORKS else None
        shapes = setup.shapes or stage.shapes
        injector = Injector(session.call, setup.plan, shapes=shapes, clock=clock, budget=budget, tell=False)
        names = (environment.domain, stage.name, setup.scenario, task.task_id)
        return cls(
            setup,
            "/".join(filter(None, names)),
            environment,
            stage.fallback_map,
            clock,
            session,
            injector,
            stage.world,
            fails_at_first=stage.settings.rate,
            budget=clean + setup.allowance,
        )

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool. Raises the tool's own error, an injected one, or OutOfBudgetError."""
        self.cost += 1.0 if self.world is None else self.world.cost(tool)
        if self.cost > self.budget:
            raise OutOfBudgetError
        return self.injector(tool, arguments)

    def tries(
        self, tool: str, arguments: Mapping[str, Any], most: int = 1, *, pause_s: float = 0.0
    ) -> ToolResponse:
        """Run a tool up to so many times, ``pause_s`` seconds apart, until nothing is raised; an error comes as its text."""
        said = ""
        for number in range(most):
            if number and pause_s:
                self.clock.sleep(pause_s)
            try:
                return ToolResponse(self.call(tool, arguments))
            except Exception as error:  # noqa: BLE001 - tools raise what they like; the agent sees the text
                said = error_text(error)
        return ToolResponse(said, is_error=True)
