"""The map as a graph, and the best way round a tool: coverage multiplies along the path."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

from btm.fallback.checking import steps_of
from btm.model import ErrorKind

if TYPE_CHECKING:
    from btm.fallback.map import FallbackMap


@dataclass(frozen=True, slots=True)
class Way:
    """A chain of stand-ins from one tool to another, with what is left of the coverage at its end."""

    path: tuple[str, ...]
    coverage: float
    lacks: tuple[str, ...] = ()


def build_graph(fallback_map: FallbackMap) -> nx.DiGraph:
    """Return a DiGraph: nodes carry effect and role, edges coverage, gives, lacks, via and only_for.

    A composition is an edge to each of its tools with the attribute ``via``; parallel offers keep the best one.
    """
    graph = nx.DiGraph(domain=fallback_map.domain)
    for name, entry in fallback_map.tools.items():
        graph.add_node(name, effect=entry.effective, role=entry.role, irreversible=entry.irreversible)
    for name, entry in fallback_map.tools.items():
        # The best is written last, and stays.
        for fallback in sorted(entry.fallbacks, key=lambda f: f.coverage):
            targets = tuple(step.tool for step in steps_of(fallback))
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


def best_ways(fallback_map: FallbackMap, tool: str, kind: ErrorKind | None = None) -> Mapping[str, Way]:
    """Return, for every tool that can be reached from ``tool``, the way that keeps the most coverage.

    Dijkstra over products: coverage never grows along a way, so the best unfinished way is final. Compositions end
    a way (their last tool stands for the whole). ``kind`` applies to the first step only: what will go wrong with a
    substitute is not known yet.
    """
    offers: dict[str, dict[str, tuple[float, tuple[str, ...]]]] = {}
    for name, entry in fallback_map.tools.items():
        for fallback in entry.fallbacks:
            if fallback.tool is None:
                continue
            known = offers.setdefault(name, {}).get(fallback.tool)
            if name == tool and kind is not None and not fallback.offered_for(kind):
                continue
            if known is None or fallback.coverage > known[0]:
                offers[name][fallback.tool] = (fallback.coverage, fallback.lacks)
    return _search(offers, tool)


def _search(offers: Mapping[str, Mapping[str, tuple[float, tuple[str, ...]]]], tool: str) -> dict[str, Way]:
    found: dict[str, Way] = {}
    heap: list[tuple[float, int, tuple[str, ...], tuple[str, ...]]] = [(-1.0, 0, (tool,), ())]
    while heap:
        negative, length, path, lacks = heapq.heappop(heap)
        here = path[-1]
        if here in found:
            continue
        found[here] = Way(path, -negative, lacks)
        for target, (coverage, missing) in offers.get(here, {}).items():
            if target not in found:
                more = tuple(dict.fromkeys((*lacks, *missing)))
                heapq.heappush(heap, (negative * coverage, length + 1, (*path, target), more))
    del found[tool]
    return found
