"""Where boxes and lines go: layers from left to right, each box to the right of what it stands in for.

The usual steps of layered drawing (Sugiyama, Tagawa and Toda 1981): circles are broken, boxes get layers by the
longest path, long lines get joints, layers are ordered by barycentres, and boxes are moved towards their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import networkx as nx

from btm.maps.picture import Box, PictureEdge

Point = tuple[float, float]
Size = tuple[float, float]

_ROW_GAP = 16.0
_LABEL_ROW = 17.0
_WIDEST_ROW_GAP = 120.0
_COLUMN_GAP = 120.0
LABEL_CHARACTER = 5.8
"""The width of one character of a line's label, at 10 px."""
_SWEEPS = 8
_MAX_LAYERS = 6
_MAX_ROOTS = 200


@dataclass
class Placed:
    """Positions of one group of boxes: the top left corner of each, and the joints of each line."""

    corners: dict[str, Point] = field(default_factory=dict)
    joints: dict[tuple[str, str], list[Point]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def components(boxes: Sequence[Box], lines: Iterable[PictureEdge]) -> list[list[Box]]:
    """Return groups of boxes that lines connect, the largest first, boxes in their given order."""
    graph: Any = nx.Graph()
    graph.add_nodes_from(box.key for box in boxes)
    graph.add_edges_from((line.source, line.target) for line in lines)
    found = [[box for box in boxes if box.key in keys] for keys in nx.connected_components(graph)]
    return sorted(found, key=lambda members: -len(members))


def layered(boxes: Sequence[Box], lines: Sequence[PictureEdge], sizes: Mapping[str, Size]) -> Placed:
    """Place one connected group of boxes."""
    keys = [box.key for box in boxes]
    every = [(line.source, line.target) for line in lines]
    edges = _without_circles(keys, every)
    rank = _ranks(keys, edges)
    if max(rank.values(), default=0) >= _MAX_LAYERS:  # a long chain would make the picture too wide to read
        rank = _ranks_by_distance(keys, every)
        edges = [(a, b) for a, b in dict.fromkeys(every) if rank[a] < rank[b]]
    chains = _chains(edges, rank)
    layers: list[list[str]] = [[] for _ in range(max(rank.values(), default=0) + 1)]
    for node, layer in _in_layers(keys, chains, rank):
        layers[layer].append(node)
    neighbours = _neighbours(chains)
    _order(layers, neighbours)
    heights = {node: sizes[node][1] if node in sizes else 8.0 for layer in layers for node in layer}
    # Rows stand so far apart that the labels of all lines find room one under another.
    most = max(len(layer) for layer in layers)
    row_gap = max(_ROW_GAP, min(_LABEL_ROW * len(lines) / most, _WIDEST_ROW_GAP) - 30.0)
    centres = _centres(layers, neighbours, heights, row_gap)
    # A label stands between two layers, with some room on each side.
    widest = max((len(line.label) for line in lines), default=0)
    gap = max(_COLUMN_GAP, widest * LABEL_CHARACTER + 40.0)
    return _placed(layers, centres, sizes, heights, chains, gap)


def _without_circles(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out, in the order of a depth-first search, the lines that close a circle."""
    follow: dict[str, list[str]] = {key: [] for key in keys}
    entered = dict.fromkeys(keys, 0)
    for source, target in edges:
        follow[source].append(target)
        entered[target] += 1
    state: dict[str, int] = {}
    kept: list[tuple[str, str]] = []
    for start in sorted(keys, key=lambda key: (entered[key], keys.index(key))):
        stack = [(start, iter(follow[start]))] if start not in state else []
        state.setdefault(start, 1)
        while stack:
            node, rest = stack[-1]
            target = next(rest, "")
            if not target:
                state[node] = 2
                stack.pop()
            elif state.get(target) != 1:
                kept.append((node, target))
                if target not in state:
                    state[target] = 1
                    stack.append((target, iter(follow[target])))
    return kept


def _ranks(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    graph: Any = nx.DiGraph(edges)
    graph.add_nodes_from(keys)
    return {key: rank for rank, layer in enumerate(nx.topological_generations(graph)) for key in layer}


def _ranks_by_distance(keys: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Give each box its distance from the middle box: few layers, and no line crosses more than one gap."""
    graph: Any = nx.Graph(edges)
    graph.add_nodes_from(keys)
    found = (dict(nx.single_source_shortest_path_length(graph, key)) for key in keys[:_MAX_ROOTS])
    return min(found, key=lambda distances: max(distances.values()))


def _chains(edges: Iterable[tuple[str, str]], rank: Mapping[str, int]) -> dict[tuple[str, str], list[str]]:
    """Give each line a joint in every layer that it crosses."""
    made: dict[tuple[str, str], list[str]] = {}
    for source, target in edges:
        joints = [f"{source}\0{target}\0{layer}" for layer in range(rank[source] + 1, rank[target])]
        made[source, target] = [source, *joints, target]
    return made


def _in_layers(
    keys: Sequence[str], chains: Mapping[tuple[str, str], list[str]], rank: Mapping[str, int]
) -> Iterable[tuple[str, int]]:
    yield from ((key, rank[key]) for key in keys)
    for chain in chains.values():
        yield from ((joint, rank[chain[0]] + 1 + index) for index, joint in enumerate(chain[1:-1]))


def _neighbours(chains: Mapping[tuple[str, str], list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for chain in chains.values():
        for a, b in pairwise(chain):
            found.setdefault(a, []).append(b)
            found.setdefault(b, []).append(a)
    return found


def _order(layers: list[list[str]], neighbours: Mapping[str, list[str]]) -> None:
    """Sort each layer by the mean place of its neighbours, sweeping right and left."""
    for sweep in range(_SWEEPS):
        sequence = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for index in sequence:
            beside = layers[index - 1] if sweep % 2 == 0 else layers[index + 1]
            place = {node: position for position, node in enumerate(beside)}
            own = {node: position for position, node in enumerate(layers[index])}

            def mean(node: str, place: Mapping[str, int] = place, own: Mapping[str, int] = own) -> float:
                there = [place[other] for other in neighbours.get(node, []) if other in place]
                return sum(there) / len(there) if there else own[node]

            layers[index].sort(key=mean)


def _centres(
    layers: list[list[str]], neighbours: Mapping[str, list[str]], heights: Mapping[str, float], row_gap: float
) -> dict[str, float]:
    """Stack each layer, then pull boxes towards their neighbours without changing the order."""
    centre: dict[str, float] = {}
    for layer in layers:
        y = 0.0
        for node in layer:
            centre[node] = y + heights[node] / 2
            y += heights[node] + row_gap
    for _ in range(_SWEEPS):
        for layer in layers:
            wanted = [
                sum(centre[o] for o in neighbours[n]) / len(neighbours[n]) if neighbours.get(n) else centre[n]
                for n in layer
            ]
            placed: list[float] = []
            for index, node in enumerate(layer):
                least = (
                    placed[-1] + (heights[layer[index - 1]] + heights[node]) / 2 + row_gap
                    if placed
                    else float("-inf")
                )
                placed.append(max(wanted[index], least))
            shift = sum(w - p for w, p in zip(wanted, placed, strict=True)) / len(layer)
            centre.update({node: y + shift for node, y in zip(layer, placed, strict=True)})
    top = min(centre[node] - heights[node] / 2 for node in centre)
    return {node: max(y - top, heights[node] / 2) for node, y in centre.items()}  # not -1e-15


def _placed(
    layers: list[list[str]],
    centres: Mapping[str, float],
    sizes: Mapping[str, Size],
    heights: Mapping[str, float],
    chains: Mapping[tuple[str, str], list[str]],
    gap: float,
) -> Placed:
    made = Placed()
    x, middles = 0.0, {}
    for layer in layers:
        width = max((sizes[node][0] for node in layer if node in sizes), default=20.0)
        for node in layer:
            middles[node] = (x + width / 2, centres[node])
            if node in sizes:
                made.corners[node] = (x, centres[node] - heights[node] / 2)
        x += width + gap
    made.width = x - gap
    made.height = max((y + sizes[node][1] for node, (_, y) in made.corners.items()), default=0.0)
    made.joints = {ends: [middles[joint] for joint in chain[1:-1]] for ends, chain in chains.items()}
    return made
