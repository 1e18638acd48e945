"""What a fault does to the agent alone: it is let loose on it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.lab.agent import AgentSettings, ToolResponse, run_agent
from btm.lab.decisive import done
from btm.lab.environment import Environment, Task
from btm.lab.faults.injector import Injector
from btm.lab.faults.plan import FaultPlan, Site
from btm.lab.faults.shape import Shapes

_BARE = AgentSettings(follows=False)


@dataclass(frozen=True, slots=True)
class Trial:
    """How the agent alone fared under a fault.

    ``unharmed``: it did the task all the same, since what was wrong was not used. ``acted``: it made a call that is
    not on its script, so it carried a wrong value into one.
    """

    unharmed: bool
    acted: bool


def try_alone(environment: Environment, shapes: Shapes, task: Task, plan: FaultPlan) -> Trial:
    """Run the agent alone on a task under a fault plan."""
    session = environment.open(task)
    injector = Injector(session.call, plan, shapes=shapes)

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        try:
            return ToolResponse(injector(tool, arguments))
        except Exception as error:  # noqa: BLE001 - an injected error, or a tool's own
            return ToolResponse(str(error), is_error=True)

    run = run_agent(task, call, tools=environment.tools, settings=_BARE)
    script = {Site.of(step.tool, step.arguments) for step in task.steps}
    return Trial(
        unharmed=done(task, session.writes, run),
        acted=any(Site.of(made.site.tool, made.arguments) not in script for made in injector.calls),
    )
