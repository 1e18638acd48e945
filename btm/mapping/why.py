"""The ways round a tool: direct stand-ins, chains of them and compositions, with what is left of the coverage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from btm.fallback import FallbackMap
from btm.fallback.checking import steps_of
from btm.model import ErrorKind

MAX_LENGTH = 4
"""Stand-ins in a row: beyond this a chain is of no use to an agent."""
MAX_WAYS = 50


@dataclass(frozen=True, slots=True)
class WayRound:
    """One way round a tool. ``hops`` are the stand-ins in turn; a hop of several tools is a composition.

    ``coverage`` is the product along the way, ``lacks`` everything that is missing at its end.
    """

    hops: tuple[tuple[str, ...], ...]
    coverage: float
    gives: tuple[str, ...]
    lacks: tuple[str, ...]
    only_for: tuple[str, ...]
    cost: float

    def document(self) -> dict[str, Any]:
        """Return the way as JSON values."""
        return {
            "hops": [list(hop) for hop in self.hops],
            "coverage": round(self.coverage, 4),
            "gives": list(self.gives),
            "lacks": list(self.lacks),
            "only_for": list(self.only_for),
            "cost": self.cost,
        }


def ways_round(fallback_map: FallbackMap, tool: str, kind: ErrorKind | None = None) -> list[WayRound]:
    """Return the ways round a tool, best coverage first, then shortest; at most MAX_WAYS.

    ``kind`` leaves out first stand-ins that are not offered for that error; what will go wrong with a stand-in is
    not known, so later ones are all listed.
    """
    found = sorted(
        _from(fallback_map, tool, kind, frozenset((tool,)), 0),
        key=lambda w: (-w.coverage, len(w.hops), w.cost),
    )
    return found[:MAX_WAYS]


def _from(
    fallback_map: FallbackMap, tool: str, kind: ErrorKind | None, passed: frozenset[str], depth: int
) -> Iterator[WayRound]:
    for fallback in fallback_map.tools[tool].fallbacks:
        steps = tuple(step.tool for step in steps_of(fallback))
        if passed & set(steps) or (kind is not None and not fallback.offered_for(kind)):
            continue
        cost = fallback.cost if fallback.cost is not None else sum(fallback_map.cost(step) for step in steps)
        yield WayRound((steps,), fallback.coverage, fallback.gives, fallback.lacks, fallback.only_for, cost)
        if len(steps) > 1 or depth + 1 >= MAX_LENGTH:
            continue  # nothing stands in for a composition as a whole
        for rest in _from(fallback_map, steps[0], None, passed | set(steps), depth + 1):
            lacks = tuple(dict.fromkeys((*fallback.lacks, *rest.lacks)))
            yield WayRound(
                (steps, *rest.hops),
                fallback.coverage * rest.coverage,
                tuple(name for name in rest.gives if name not in lacks),
                lacks,
                fallback.only_for,
                rest.cost,
            )
