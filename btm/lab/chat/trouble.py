"""The faults that wait for a chat task: whether a repeat, another tool or nothing helps is known beforehand.

* ``retry_works``: a tool's first call (of given arguments) fails, its repeat goes through.
* ``switch_needed``: the target fails for good; the tools that the map lists in its place are whole.
* ``impossible``: the target and every way round it that the map knows fail for good.

A fault on a write is one that leaves no doubt whether it happened, so that what helps is what the scenario says.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from btm.fallback import FallbackMap
from btm.lab.chat.tasks import HAND_OVER, ChatTask
from btm.lab.faults.draw import Draw
from btm.lab.faults.plan import Fault, Site
from btm.lab.scenarios import Scenario
from btm.model import Effect, ErrorKind

SCENARIOS = (Scenario.CLEAN, Scenario.RETRY_WORKS, Scenario.SWITCH_NEEDED, Scenario.IMPOSSIBLE)
"""The scenarios of a placement measurement, in their order."""

_PASSING = {
    Effect.READ: (ErrorKind.TIMEOUT, ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR),
    Effect.WRITE: (ErrorKind.RATE_LIMIT,),
}
# A refusal that says at once that repeating is no use, and a fault that looks as if it would pass and never does.
_LASTING = {
    Effect.READ: (ErrorKind.AUTH_ERROR, ErrorKind.SERVER_ERROR),
    Effect.WRITE: (ErrorKind.AUTH_ERROR, ErrorKind.RATE_LIMIT),
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault plan: calls of ``tools`` fail with ``kind``, the first ``times`` of equal calls (None: all)."""

    tools: frozenset[str] = frozenset()
    kind: ErrorKind | None = None
    times: int | None = None
    draw: Draw = field(default_factory=Draw)

    def fault(self, site: Site) -> Fault | None:
        if (
            self.kind is None
            or site.tool not in self.tools
            or (self.times is not None and site.nth > self.times)
        ):
            return None
        return Fault(self.kind, self.draw.at(site.tool, site.nth))


def trouble_for(scenario: Scenario, task: ChatTask, seed: int, fallback_map: FallbackMap) -> Trouble:
    """Return the faults of a task in a scenario. The same arguments give the same faults."""
    if scenario is Scenario.CLEAN:
        return Trouble()
    draw = Draw((seed, "trouble", scenario.value, task.task_id))
    if scenario is Scenario.RETRY_WORKS:
        passing = _PASSING[_effect(task.repeated, fallback_map)]
        return Trouble(frozenset({task.repeated}), draw.pick(passing, "kind"), 1, draw)
    kind = draw.pick(_LASTING[_effect(task.target, fallback_map)], "kind")
    tools = {task.target}
    if scenario is Scenario.IMPOSSIBLE:
        tools = _ways(task.target, task.tools, fallback_map)
    return Trouble(frozenset(tools), kind, None, draw)


def _effect(tool: str, fallback_map: FallbackMap) -> Effect:
    return fallback_map.effect(tool) or Effect.WRITE


def _ways(tool: str, offered: Collection[str], fallback_map: FallbackMap) -> set[str]:
    """Return a tool and all that stands in for it, or for one of those, among the tools that the agent has."""
    found, left = {tool}, [tool]
    while left:
        more = (fallback_map.substitutes(left.pop()) & set(offered)) - found - {HAND_OVER}
        found |= more
        left += more
    return found
