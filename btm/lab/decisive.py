"""What becomes of the agent alone, found by trying: which tools a task hangs on, and what a fault does to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from btm.lab.agent import AgentRun, AgentSettings, ToolResponse, run_agent, solved
from btm.lab.environment import Environment, Session, Task, Write
from btm.lab.faults.injector import Injector, Invoke
from btm.lab.faults.plan import FaultPlan, Site
from btm.lab.faults.shape import Shapes


def dry_run(environment: Environment, task: Task, blocked: Collection[str] = ()) -> tuple[AgentRun, Session]:
    """Run the bare agent on a task while the blocked tools fail every time; returns the run and its session."""
    session = environment.open(task)

    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        if tool in blocked:
            raise RuntimeError(f"{tool} is not available")
        return session.call(tool, arguments)

    return _run_alone(environment, task, invoke), session


def _run_alone(environment: Environment, task: Task, invoke: Invoke) -> AgentRun:
    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        try:
            return ToolResponse(invoke(tool, arguments))
        except Exception as error:  # noqa: BLE001 - a domain's tools raise what they like, and faults are injected
            return ToolResponse(str(error), is_error=True)

    return run_agent(task, call, tools=environment.tools, settings=AgentSettings(follows=False))


def done(task: Task, writes: Sequence[Write], run: AgentRun) -> bool:
    """Whether a run made exactly the changes asked for and saw every answer: ``solved`` without the digest."""
    changed = Counter(w.change for w in writes) == Counter(task.changes)
    return changed and not run.escalated and run.answered >= {answer.text for answer in task.answers}


def decisive_tools(environment: Environment, task: Task) -> tuple[str, ...]:
    """Return the tools of a task's script, in its order, without which the bare agent does not solve it."""
    tools = dict.fromkeys(step.tool for step in task.steps)
    found = []
    for tool in tools:
        run, session = dry_run(environment, task, (tool,))
        if not done(task, session.writes, run) and not _same_end(task, session, run):
            found.append(tool)
    return tuple(found)


def _same_end(task: Task, session: Session, run: AgentRun) -> bool:
    """Whether a run that left changes out ends as it should all the same: a change that is taken back leaves no trace.

    It takes two changes to cancel out, and looking at the database is slow.
    """
    left_out = Counter(task.changes) - Counter(w.change for w in session.writes)
    return left_out.total() > 1 and solved(task, task.goal, run) and session.digest() == task.goal


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

    run = _run_alone(environment, task, injector)
    script = {Site.of(step.tool, step.arguments) for step in task.steps}
    return Trial(
        unharmed=done(task, session.writes, run),
        acted=any(Site.of(made.site.tool, made.arguments) not in script for made in injector.calls),
    )
