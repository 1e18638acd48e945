"""Which tools a task hangs on, found by trying: each is blocked in turn, and the bare agent is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from btm.lab.agent import AgentRun, AgentSettings, ToolResponse, run_agent, solved
from btm.lab.environment import Environment, Session, Task, Write

_BARE = AgentSettings(follows=False)


def dry_run(environment: Environment, task: Task, blocked: Collection[str] = ()) -> tuple[AgentRun, Session]:
    """Run the bare agent on a task while the blocked tools fail every time; returns the run and its session."""
    session = environment.open(task)

    def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        if tool in blocked:
            return ToolResponse(f"{tool} is not available", is_error=True)
        try:
            return ToolResponse(session.call(tool, arguments))
        except Exception as error:  # noqa: BLE001 - a domain's tools raise what they like
            return ToolResponse(str(error), is_error=True)

    return run_agent(task, call, tools=environment.tools, settings=_BARE), session


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
