"""Whether a fault matters at all: the bare agent is let loose on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.evaluation.agent import AgentSettings, Observation, run_agent
from btm.evaluation.decisive import done
from btm.evaluation.environment import Environment, Task
from btm.faults.injector import Injector
from btm.faults.plan import FaultPlan
from btm.faults.shape import Shapes

_BARE = AgentSettings(follows=False)


def unharmed(environment: Environment, shapes: Shapes, task: Task, plan: FaultPlan) -> bool:
    """Whether the agent alone does the task in spite of these faults: a wrong value that nobody uses is no trouble."""
    session = environment.open(task)
    injector = Injector(session.call, plan, shapes=shapes)

    def call(tool: str, arguments: Mapping[str, Any]) -> Observation:
        try:
            return Observation(injector(tool, arguments))
        except Exception as error:  # noqa: BLE001 - an injected error, or a tool's own
            return Observation(str(error), is_error=True)

    return done(task, session.writes, run_agent(task, call, tools=environment.tools, settings=_BARE))
