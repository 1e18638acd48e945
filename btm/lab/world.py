"""The heterogeneous profile: tools that differ, so that it pays to know them.

In the uniform profile every failing call heals within the same number of repeats, so an agent that repeats twice and
then switches is right, and nothing can be learned. Here each tool has a character of its own, drawn from the seed:

* ``heals``: each (tool, kind of fault) has one of three characters. ``quick`` (four in ten) heals at each repeat with
  a chance of 0.75 to 0.95; ``slow`` (two in ten) at the first with 0.03 to 0.12 and at each later one as a quick one;
  ``stubborn`` (four in ten) at each with 0.01 to 0.05. A tool that nothing reliable can replace is quick instead of
  stubborn: what no agent could recover from would not tell good agents from bad ones.
* ``reliability``: the chance that a tool works at all as a stand-in for one call: 0.02 to 0.15 for nearly half of the
  tools, 0.92 to 1 for the others.
* ``cost``: what a call costs, 0.7 to 1.4, evenly on a logarithmic scale. The fallback map is told, as an operator
  who pays for calls would tell it.
* ``allowance``: what a task may cost beyond its cost when nothing fails, for each fault that waits on its path: 1.5
  to 2.5 unless asked otherwise. Recovering by what is likely best takes one or two calls, trying one thing after the
  other takes more.

``contrast`` says how much of those differences there is: every chance is drawn towards one that is the same for all
tools (0.5 to heal, 0.6 to stand in). At 1 they are as above, at 0 all tools are alike and there is nothing to learn.

Every number is a pure function of (seed, names).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from btm.fallback import FallbackMap, ToolEntry
from btm.lab.faults.draw import Draw
from btm.model import MAX_ORDINAL, ErrorKind

_QUICK, _SLOW = 0.4, 0.2  # shares; the rest is stubborn
_FIRST_AND_LATER = {
    "quick": ((0.75, 0.95), (0.75, 0.95)),
    "slow": ((0.03, 0.12), (0.75, 0.95)),
    "stubborn": ((0.01, 0.05), (0.01, 0.05)),
}
_FLAKY = 0.45
_RELIABLE = 0.5  # a chance above this is a reliable tool's
_ALIKE_HEALS, _ALIKE_STANDS_IN = 0.5, 0.6  # what chances are drawn to as the contrast goes to 0
ALLOWANCE = (1.5, 2.5)
"""What a task may cost more for each fault on its path, from and to, unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class World:
    """The characters of all tools under one seed. ``replaceable`` are the tools that can be stubborn."""

    seed: int = 0
    replaceable: frozenset[str] = frozenset()
    contrast: float = 1.0
    allowed: tuple[float, float] = ALLOWANCE

    @classmethod
    def of(
        cls,
        seed: int,
        fallback_map: FallbackMap,
        contrast: float = 1.0,
        allowed: tuple[float, float] = ALLOWANCE,
    ) -> World:
        """Return the world of a seed, where tools with a reliable substitute in the map are replaceable."""
        plain = cls(seed, contrast=contrast, allowed=allowed)
        return replace(
            plain,
            replaceable=frozenset(
                name for name, entry in fallback_map.tools.items() if plain._replaceable(entry)
            ),
        )

    def _replaceable(self, entry: ToolEntry) -> bool:
        ways = ((edge.via or (edge.tool,)) for edge in entry.fallbacks)
        names = (
            [step if isinstance(step, str) else getattr(step, "tool", "") for step in way] for way in ways
        )
        # By their characters: which tools are replaceable does not hang on the contrast.
        return any(all(self._stands_in(name) > _RELIABLE for name in way) for way in names)

    @property
    def _draw(self) -> Draw:
        return Draw((self.seed, "world"))

    def heals(self, tool: str, kind: ErrorKind, repeat: int) -> float:
        """Return the chance that the nth repeat (from 1) of a failed call works; alike from the third on."""
        here = self._draw.at("heals", tool, kind)
        bounds = _FIRST_AND_LATER[self._character(here, tool)][0 if repeat == 1 else 1]
        return _drawn_to(_ALIKE_HEALS, here.between(*bounds, min(repeat, MAX_ORDINAL)), self.contrast)

    def _character(self, here: Draw, tool: str) -> str:
        drawn = here.unit("character")
        if drawn < _QUICK:
            return "quick"
        if drawn < _QUICK + _SLOW:
            return "slow"
        return "stubborn" if tool in self.replaceable else "quick"

    def reliability(self, tool: str) -> float:
        """Return the chance that a tool can stand in for a given call."""
        return _drawn_to(_ALIKE_STANDS_IN, self._stands_in(tool), self.contrast)

    def _stands_in(self, tool: str) -> float:
        here = self._draw.at("reliability", tool)
        flaky = here.unit("flaky") < _FLAKY
        return here.between(0.02, 0.15, "chance") if flaky else here.between(0.92, 1.0, "chance")

    def cost(self, tool: str) -> float:
        """Return what a call of a tool costs."""
        return float(0.7 * 2 ** self._draw.unit("cost", tool))

    def allowance(self, task_id: str) -> float:
        """Return what a task may cost more for each fault that waits on its path."""
        return self._draw.between(*self.allowed, "allowance", task_id)

    def priced(self, fallback_map: FallbackMap) -> FallbackMap:
        """Return the map, told what each tool's calls cost here."""
        tools = {
            name: entry.model_copy(update={"cost": self.cost(name)})
            for name, entry in fallback_map.tools.items()
        }
        return FallbackMap(fallback_map.model.model_copy(update={"tools": tools}), fallback_map.file)


def _drawn_to(centre: float, chance: float, contrast: float) -> float:
    return centre + (chance - centre) * contrast
