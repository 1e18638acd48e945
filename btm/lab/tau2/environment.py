"""tau2 retail as an evaluation environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from btm.lab.environment import Clock, Task, ToolSpec, simulated_clock
from btm.lab.script import UnboundError
from btm.lab.tau2.scripts import script
from btm.lab.tau2.session import RetailSession, all_specs
from btm.lab.tau2.source import source_tasks


@cache
def _scripted() -> tuple[tuple[Task, ...], Mapping[str, str]]:
    tasks, left_out = [], {}
    for source in source_tasks():
        try:
            tasks.append(script(source))
        except UnboundError as problem:
            left_out[source.task_id] = str(problem)
    return tuple(tasks), MappingProxyType(left_out)


class RetailEnvironment:
    """tau2-bench retail with twin tools. Tasks that cannot be scripted are left out, each with its reason."""

    domain = "tau2:retail"
    fallback_map = "retail"

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        return all_specs()

    @property
    def tasks(self) -> Sequence[Task]:
        """The scripted tasks in tau2's order; the first use builds them all (some seconds)."""
        return _scripted()[0]

    @property
    def left_out(self) -> Mapping[str, str]:
        return _scripted()[1]

    def open(self, task: Task, clock: Clock = simulated_clock) -> RetailSession:  # noqa: ARG002 - nothing is dated
        return RetailSession()
