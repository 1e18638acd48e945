"""Players that need no model: they show whether an environment's rewards tell good from bad before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.lab.agent import ToolResponse, run_agent
from btm.lab.faults.draw import Draw
from btm.lab.oracle import Oracle
from btm.training.curriculum import S1, S2, S3
from btm.training.reflect import zero_variance
from btm.training.rollout import Rollout, Stages

SCENARIOS = (S1, S2, S3)
GROUP = 8
"""Rollouts a task, as a trainer would sample them."""

_LOOPS = 16


def play_oracle(rollout: Rollout, stages: Stages) -> None:
    """Play with the help of one who knows the map and the faults."""
    tools = stages.environment.tools
    helped = Oracle(rollout.call, rollout.injector, stages.fallback_map, tools, rollout.task.facts)
    run_agent(rollout.task, helped, tools=tools)


def play_loop(rollout: Rollout) -> None:
    """Make the first gold call again and again."""
    first = rollout.task.steps[0]
    for _ in range(_LOOPS):
        rollout.said(first.tool, first.arguments)


def play_unsure(rollout: Rollout, stages: Stages, draw: Draw) -> None:
    """Play as a policy that is learning might: it leaves off at a step now and then, and repeats a failed call or not."""
    patience, stops = draw.integer(0, 3, "patience"), draw.unit("stops") * 0.4
    count = 0

    class _LeftOffError(BaseException):
        """The policy ends its turn."""

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        nonlocal count
        count += 1
        if draw.unit("stop", count) < stops:
            raise _LeftOffError
        for _ in range(patience + 1):
            text = rollout.said(tool, arguments)
            if not text.startswith("Error: "):
                return ToolResponse(rollout.seen[-1])
        return ToolResponse(text, is_error=True)

    try:
        run_agent(rollout.task, call, tools=stages.environment.tools)
    except _LeftOffError:
        return


@dataclass(frozen=True, slots=True)
class EnvironmentCheck:
    """What players come to in one scenario: mean rewards over its tasks, and shares of groups without a difference.

    The groups are of a simulated policy that is unsure of itself; see :func:`play_unsure`.
    """

    scenario: str
    tasks: int
    oracle: float
    idle: float
    loop: float
    oracle_lowest: float
    flat_groups: float
    flat_groups_without_partial: float

    @property
    def sound(self) -> bool:
        """Whether the rewards are as they must be: all for the oracle, none for nothing, hardly any for a loop.

        The oracle loses something only where a task takes it more than twelve calls.
        """
        return self.oracle >= 0.99 and self.oracle_lowest >= 0.75 and self.idle == 0.0 and self.loop <= 0.1


def check_environment(domain: str, seed: int = 0, rate: float = 0.4) -> list[EnvironmentCheck]:
    """Return what players come to in each scenario of a domain."""
    stages = Stages(domain, rate)
    found = []
    for scenario in SCENARIOS:
        tasks = [t for t in stages.tasks if stages.set_up(t, scenario, seed) is not None]
        rewards: dict[str, list[float]] = {"oracle": [], "idle": [], "loop": []}
        flat = bare = 0
        for task in tasks:
            oracle, idle, loop = (stages.begin(task, scenario, seed) for _ in range(3))
            play_oracle(oracle, stages)
            play_loop(loop)
            for name, rollout in (("oracle", oracle), ("idle", idle), ("loop", loop)):
                rewards[name].append(rollout.reward())
            group = [stages.begin(task, scenario, seed) for _ in range(GROUP)]
            for number, rollout in enumerate(group):
                play_unsure(rollout, stages, Draw((seed, "policy", scenario, task, number)))
            flat += zero_variance([one.reward() for one in group])
            bare += zero_variance([one.reward(partial=False) for one in group])
        n = max(len(tasks), 1)
        means = {name: sum(values) / n for name, values in rewards.items()}
        found.append(
            EnvironmentCheck(
                str(scenario),
                len(tasks),
                **means,
                oracle_lowest=min(rewards["oracle"], default=0.0),
                flat_groups=flat / n,
                flat_groups_without_partial=bare / n,
            )
        )
    return found
