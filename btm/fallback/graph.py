"""The map as a graph, and the ways round a tool: chains of stand-ins, whose coverage multiplies along the way."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING

from btm.fallback.checking import steps_of
from btm.fallback.schema import Fallback
from btm.model import ErrorKind

if TYPE_CHECKING:
    import networkx as nx

    from btm.fallback.map import FallbackMap

MAX_LENGTH = 4
"""Stand-ins in a row: beyond this a chain is of no use to an agent."""
MAX_WAYS = 50


@dataclass(frozen=True, slots=True)
class Way:
    """One way round a tool. ``hops`` are the stand-ins in turn; a hop of several tools is a composition.

    ``coverage`` is the product along the way, ``lacks`` everything that is missing at its end, ``only_for`` the errors
    that its first hop is offered for (empty: all), ``cost`` that of all its calls.
    """

    hops: tuple[tuple[str, ...], ...]
    coverage: float
    gives: tuple[str, ...]
    lacks: tuple[str, ...]
    only_for: tuple[str, ...]
    cost: float

    @property
    def end(self) -> str | None:
        """The single tool that the way ends with; None where it ends with a composition."""
        return self.hops[-1][0] if self.hops and len(self.hops[-1]) == 1 else None

    def then(self, fallback: Fallback, cost: float) -> Way:
        """Return this way with one more hop."""
        lacks = tuple(dict.fromkeys((*self.lacks, *fallback.lacks)))
        return Way(
            (*self.hops, _tools_of(fallback)),
            self.coverage * fallback.coverage,
            tuple(name for name in fallback.gives if name not in lacks),
            lacks,
            self.only_for if self.hops else fallback.only_for,
            self.cost + cost,
        )

    def makes_needless(self, other: Way) -> bool:
        """Whether this way makes the other one, which goes to the same end, needless."""
        return (
            self.hops[-1] == other.hops[-1]
            and self.coverage >= other.coverage
            and len(self.hops) <= len(other.hops)
            and self.cost <= other.cost
            and set(self.lacks) <= set(other.lacks)
            and (not self.only_for or self.only_for == other.only_for)
        )


def build_graph(fallback_map: FallbackMap) -> nx.DiGraph:
    """Return a DiGraph: nodes carry effect and role, edges coverage, gives, lacks, via and only_for.

    A composition is an edge to each of its tools with the attribute ``via``; parallel offers keep the best one.
    """
    import networkx as nx  # noqa: PLC0415 - slow to import, and the ways round a tool do without it

    graph = nx.DiGraph(domain=fallback_map.domain)
    for name, entry in fallback_map.tools.items():
        graph.add_node(name, effect=entry.effective, role=entry.role, irreversible=entry.irreversible)
    for name, entry in fallback_map.tools.items():
        # The best is written last, and stays.
        for fallback in sorted(entry.fallbacks, key=lambda f: f.coverage):
            targets = _tools_of(fallback)
            for target in targets:
                graph.add_edge(
                    name,
                    target,
                    coverage=fallback.coverage,
                    gives=fallback.gives,
                    lacks=fallback.lacks,
                    only_for=fallback.only_for,
                    via=targets if fallback.via else (),
                )
    return graph


def ways_round(fallback_map: FallbackMap, tool: str, kind: ErrorKind | None = None) -> list[Way]:
    """Return the ways round a tool, best coverage first, then shortest, then cheapest; at most MAX_WAYS.

    ``kind`` leaves out first stand-ins that are not offered for that error; what will go wrong with a stand-in is
    not known, so later ones are all listed. A chain to where a better way leads with fewer calls is left out.
    """
    return list(islice(_worthwhile(_ways(fallback_map, tool, kind)), MAX_WAYS))


def _worthwhile(ways: Iterator[Way]) -> Iterator[Way]:
    better: dict[tuple[str, ...], list[Way]] = {}
    for way in ways:
        known = better.setdefault(way.hops[-1], [])
        if not any(one.makes_needless(way) for one in known):
            known.append(way)
            yield way


def _ways(fallback_map: FallbackMap, tool: str, kind: ErrorKind | None) -> Iterator[Way]:
    """Yield ways round a tool in order, best first.

    Dijkstra's search over products: coverage never grows along a way, so the best unfinished way is final. A
    composition ends a way, since nothing stands in for it as a whole.
    """
    number = count()  # ways that are alike come in the order of the file
    heap = [(-1.0, 0, 0.0, next(number), Way((), 1.0, (), (), (), 0.0))]
    while heap:
        way = heapq.heappop(heap)[-1]
        if way.hops:
            yield way
            if way.end is None or len(way.hops) == MAX_LENGTH:
                continue
        entry = fallback_map.tools.get(way.end or tool)
        passed = {tool, *(name for hop in way.hops for name in hop)}
        for fallback in entry.fallbacks if entry else ():
            unfit = not way.hops and kind is not None and not fallback.offered_for(kind)
            if not unfit and passed.isdisjoint(_tools_of(fallback)):
                more = way.then(fallback, _cost_of(fallback_map, fallback))
                heapq.heappush(heap, (-more.coverage, len(more.hops), more.cost, next(number), more))


def _tools_of(fallback: Fallback) -> tuple[str, ...]:
    return tuple(step.tool for step in steps_of(fallback))


def _cost_of(fallback_map: FallbackMap, fallback: Fallback) -> float:
    """Return what a fallback costs: as it says, or else what its tools cost."""
    if fallback.cost is not None:
        return fallback.cost
    return sum(fallback_map.cost(name) for name in _tools_of(fallback))
