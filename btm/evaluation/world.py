"""The heterogeneous profile: tools that differ, so that it pays to know them.

In the uniform profile every failing call heals within the same number of repeats, so whoever repeats twice and
then switches is right, and nothing can be learned. Here each tool has a character of its own, drawn from the seed:

* ``heals``: each (tool, kind of fault) has one of three characters. ``quick`` heals at the first repeat with a
  chance of 0.75 to 0.95; ``slow`` at the first with 0.05 to 0.15 and at each later one with 0.7 to 0.9;
  ``stubborn`` at each with 0.01 to 0.05. Each is as likely as the others.
* ``reliability``: the chance that a tool works at all as a stand-in for one call: 0.1 to 0.3 for one third of the
  tools, 0.85 to 1 for the others.
* ``cost``: what a call costs, 0.5 to 3, evenly on a logarithmic scale.
* ``budget``: what a task may cost: its script's cost once over, and 4 to 8 more.

Every number is a pure function of (seed, names).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from btm.faults.draw import Draw
from btm.model import MAX_ORDINAL, ErrorKind

_FIRST_AND_LATER = {
    "quick": ((0.75, 0.95), (0.75, 0.95)),
    "slow": ((0.05, 0.15), (0.7, 0.9)),
    "stubborn": ((0.01, 0.05), (0.01, 0.05)),
}


@dataclass(frozen=True, slots=True)
class World:
    """The characters of all tools under one seed."""

    seed: int = 0

    @property
    def _draw(self) -> Draw:
        return Draw((self.seed, "world"))

    def heals(self, tool: str, kind: ErrorKind, repeat: int) -> float:
        """Return the chance that the nth repeat (from 1) of a failed call works; alike from the third on."""
        here = self._draw.at("heals", tool, kind)
        character = here.pick(tuple(_FIRST_AND_LATER), "character")
        bounds = _FIRST_AND_LATER[character][0 if repeat == 1 else 1]
        return here.between(*bounds, min(repeat, MAX_ORDINAL))

    def reliability(self, tool: str) -> float:
        """Return the chance that a tool can stand in for a given call."""
        here = self._draw.at("reliability", tool)
        flaky = here.unit("flaky") < 1 / 3
        return here.between(0.1, 0.3, "chance") if flaky else here.between(0.85, 1.0, "chance")

    def cost(self, tool: str) -> float:
        """Return what a call of a tool costs."""
        return float(0.5 * 6 ** self._draw.unit("cost", tool))

    def budget(self, task_id: str, tools: Iterable[str]) -> float:
        """Return what a task with these calls on its script may cost."""
        return sum(self.cost(tool) for tool in tools) + self._draw.between(4.0, 8.0, "budget", task_id)
