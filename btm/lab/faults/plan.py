"""Which call meets which fault: a pure function of the call, never of the calls made before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from btm.lab.faults.corrupt import Place
from btm.lab.faults.draw import Draw
from btm.lab.faults.kinds import MAY_FOLLOW_THE_EFFECT
from btm.lab.faults.settings import FaultSettings, When
from btm.lab.faults.shape import Shapes, ToolShape
from btm.model import Effect, ErrorKind
from btm.support.untrusted import fingerprint


@dataclass(frozen=True, slots=True)
class Site:
    """One call as a plan sees it: ``nth`` counts identical calls of the episode from 1.

    ``repaired`` says whether a repair tool, such as one that renews a login, has run since such a call failed;
    ``number`` is the call's place in the episode, from 1 (0: not known).
    """

    tool: str
    fingerprint: str
    nth: int = 1
    repaired: bool = False
    number: int = 0

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Any], nth: int = 1) -> Site:
        """Return the site of a call."""
        return cls(tool, fingerprint(tool, arguments), nth)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault to inject. ``after`` lets the call happen first, so that only its answer is lost.

    ``used`` are the places of the result that a silent fault should hit; ``draw`` decides its details. ``delay_s`` is how
    much longer the call takes; without a ``kind`` it is late, and no more. ``error`` is raised instead of one of the kind's,
    ``instead`` is answered by a call that happens, unless it is ``undone``; ``change`` rewrites a good answer.
    """

    kind: ErrorKind | None
    draw: Draw
    after: bool = False
    used: tuple[Place, ...] = ()
    delay_s: float = 0.0
    error: Exception | None = None
    instead: Any = None
    undone: bool = False
    change: Callable[[Any], Any] | None = None


class FaultPlan(Protocol):
    """What an injector asks before each call."""

    def fault(self, site: Site) -> Fault | None:
        """Return the fault that this call meets, or None."""


def comes_after(kind: ErrorKind, shape: ToolShape, chance: float, draw: Draw) -> bool:
    """Whether a failing call has happened all the same. A read may always have, since that cannot be told."""
    if shape.effect is Effect.READ or kind not in MAY_FOLLOW_THE_EFFECT:
        return False
    return draw.unit("after") < chance


@dataclass(frozen=True, slots=True)
class NoFaults:
    """Nothing fails."""

    def fault(self, site: Site) -> Fault | None:  # noqa: ARG002 - the protocol's argument
        return None


@dataclass(frozen=True, slots=True)
class RandomFaults:
    """Faults drawn by settings alone, for any tools: no scenario, no promise that a task can be solved.

    ``episode`` names the episode (for example a task's id): another name, other faults. An ``auth_error`` passes
    once a repair tool has run.
    """

    settings: FaultSettings
    episode: str
    shapes: Shapes = field(default_factory=Shapes)

    def fault(self, site: Site) -> Fault | None:
        settings = self.settings
        if site.tool in self.shapes.exempt or site.tool in self.shapes.repairs:
            return None
        if not settings.strikes_at(site.tool) or 0 < site.number <= settings.after_calls:
            return None
        here = Draw((settings.seed, self.episode, site.tool, site.fingerprint))
        shape = self.shapes.of(site.tool)
        weights = {k: w for k, w in settings.weights.items() if k in shape.kinds}
        late = settings.delay_s if not settings.weights else 0.0
        if here.unit("faulty") >= settings.rate or not (sum(weights.values()) > 0 or late):
            return None
        if late:
            return Fault(None, here.at(site.nth), delay_s=late) if self._strikes(site, here) else None
        kind = here.weighted(weights, "kind")
        if kind is ErrorKind.AUTH_ERROR and site.repaired:
            return None
        if not self._strikes(site, here):
            return None
        draw = here.at(site.nth)
        after = comes_after(kind, shape, settings.lost_response, draw)
        return Fault(kind, draw, after, delay_s=settings.delay_s)

    def _strikes(self, site: Site, here: Draw) -> bool:
        trigger, most = self.settings.trigger, self.settings.max_consecutive
        if trigger.when is When.FIRST:
            return site.nth == 1
        if trigger.when is When.NTH:
            return site.nth == trigger.n
        if trigger.when is When.ALWAYS:
            return most is None or site.nth <= here.integer(1, most, "times")
        struck = [here.unit("strikes", n) < trigger.chance for n in range(1, site.nth + 1)]
        # The call that follows a full run of faults goes through.
        run = 0
        for hit in struck:
            run = run + 1 if hit and (most is None or run < most) else 0
        return run > 0
