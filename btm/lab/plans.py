"""The two fault plans of the scenarios: faults that pass, and tools that are blocked for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from btm.lab.faults.corrupt import Place
from btm.lab.faults.draw import Draw
from btm.lab.faults.kinds import MAY_FOLLOW_THE_EFFECT, RETURNED
from btm.lab.faults.paths import parts_of
from btm.lab.faults.plan import Fault, RandomFaults, Site
from btm.lab.faults.settings import FaultSettings
from btm.lab.faults.shape import Shapes
from btm.lab.world import World
from btm.model import ErrorKind

SiteName = tuple[str, str]
"""A tool and the fingerprint of a call of it."""


def name_of(site: Site) -> SiteName:
    """Return the site without its ordinal."""
    return site.tool, site.fingerprint


@dataclass(frozen=True)
class HealingFaults:
    """Faults that a repeat heals.

    ``forced`` is a call that fails in any case, so that a scenario has a fault. ``checkable`` are writes of which
    a read can tell whether they happened; any other write meets only faults that strike before it happened
    and say so, since no agent could recover from a doubt that cannot be resolved. In a ``world`` a repeat heals with
    the tool's own chance, and a tool off the script may be no good as a stand-in.
    """

    settings: FaultSettings
    episode: str
    shapes: Shapes
    forced: SiteName | None = None
    checkable: frozenset[SiteName] = frozenset()
    script: frozenset[str] = frozenset()
    world: World | None = None

    def fault(self, site: Site) -> Fault | None:
        if self.world is not None and site.tool not in self.script:
            good = not unreliable(self.world, self.shapes, self.script, self.episode, site)
            return None if good else Fault(ErrorKind.SERVER_ERROR, self._draw_for(site))
        sure = not self.shapes.of(site.tool).writes or name_of(site) in self.checkable
        plans = self._plans
        found = plans[name_of(site) == self.forced, sure].fault(site)
        if found is None or self.world is None or found.kind is None:
            return found
        return found if self._still_fails(site, found.kind) else None

    def _draw_for(self, site: Site) -> Draw:
        return Draw((self.settings.seed, "stand-in", *name_of(site)))

    @cached_property
    def _plans(self) -> Mapping[tuple[bool, bool], RandomFaults]:
        """The plan for each (forced, sure)."""
        most = None if self.world is not None else self.settings.max_consecutive
        made: dict[tuple[bool, bool], RandomFaults] = {}
        for forced in (False, True):
            for sure in (False, True):
                weights = {
                    k: w for k, w in self.settings.weights.items() if sure or k not in MAY_FOLLOW_THE_EFFECT
                }
                rate = 1.0 if forced else self.settings.rate
                usable = {k: w for k, w in weights.items() if w > 0}
                if not usable:
                    usable, rate = dict(self.settings.weights), 0.0
                settings = replace(self.settings, rate=rate, weights=usable, max_consecutive=most)
                made[forced, sure] = RandomFaults(settings, self.episode, self.shapes)
        return made

    def _still_fails(self, site: Site, kind: ErrorKind) -> bool:
        assert self.world is not None  # noqa: S101 - only asked in a world
        here = Draw((self.settings.seed, self.episode, *name_of(site), "heals"))
        return all(
            here.unit(repeat) >= self.world.heals(site.tool, kind, repeat) for repeat in range(1, site.nth)
        )

    def lowest(self, names: Mapping[SiteName, Site]) -> SiteName | None:
        """Return the call that is nearest to failing by the draw: the one to force when none fails of its own."""
        seed = self.settings.seed
        able = [n for n, site in names.items() if replace(self, forced=n).fault(site) is not None]
        return min(able, key=lambda n: Draw((seed, self.episode, *n)).unit("faulty"), default=None)


@dataclass(frozen=True)
class BlockedTools:
    """Tools that fail with one kind of fault, always. A blocked write never happens.

    ``used`` are the places of a call's result that the task depends on, at which silent faults aim; ``fields`` are their
    names, at which they aim in the results of other tools. In a ``world`` tools off the script may be no good as stand-ins.
    """

    blocked: frozenset[str]
    kind: ErrorKind
    seed: int
    episode: str
    shapes: Shapes
    used: Mapping[SiteName, tuple[Place, ...]] = field(default_factory=dict)
    script: frozenset[str] = frozenset()
    world: World | None = None
    fields: frozenset[str] = frozenset()

    def fault(self, site: Site) -> Fault | None:
        if site.tool in self.blocked:
            draw = Draw((self.seed, self.episode, "blocked", *name_of(site)))
            # The same wrong answer each time; another wording of a raised error now and then.
            draw = draw if self.kind in RETURNED else draw.at(site.nth)
            return Fault(self.kind, draw, used=self.used.get(name_of(site)) or self._by_name(site.tool))
        if self.world is not None and unreliable(self.world, self.shapes, self.script, self.episode, site):
            return Fault(ErrorKind.SERVER_ERROR, Draw((self.seed, "stand-in", *name_of(site))))
        return None

    def _by_name(self, tool: str) -> tuple[Place, ...]:
        """Return where a tool off the script shows the fields that the task depends on, as far as that is declared."""
        shape = self.shapes.of(tool)
        places = (parts_of(path) for path in (*shape.required, *shape.compared))
        return tuple(place for place in places if place and place[-1] in self.fields)


def unreliable(world: World, shapes: Shapes, script: frozenset[str], episode: str, site: Site) -> bool:
    """Whether a tool off the script is no good for this call, this time for good."""
    if site.tool in script or site.tool in shapes.exempt or site.tool in shapes.repairs:
        return False
    return Draw((world.seed, "stands in", episode, *name_of(site))).unit() >= world.reliability(site.tool)
