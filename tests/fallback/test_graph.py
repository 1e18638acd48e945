"""btm.fallback.graph: the map as a graph, and the best way round a tool."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from btm.fallback import FallbackMap
from btm.fallback.graph import best_ways
from btm.model import ErrorKind

CHAIN = FallbackMap.from_text("""
version: 1
domain: d
tools:
  a:
    effect: read
    fallbacks:
      - {tool: b, coverage: 0.9, lacks: [x], gives: [z]}
      - {tool: c, coverage: 0.5, only_for: [timeout]}
      - {via: [c, {tool: d, arguments: {}}], coverage: 0.8}
  b: {effect: read, fallbacks: [{tool: c, coverage: 0.8, lacks: [y, x]}]}
  c: {effect: read, fallbacks: [{tool: a, coverage: full}]}
  d: {effect: read}
""")


def test_coverage_multiplies_and_what_is_lacking_adds_up() -> None:
    ways = best_ways(CHAIN, "a")
    assert set(ways) == {"b", "c"}
    assert ways["c"].path == ("a", "b", "c")
    assert math.isclose(ways["c"].coverage, 0.72)
    assert ways["c"].lacks == ("x", "y")


def test_a_condition_shuts_the_first_step_only() -> None:
    assert best_ways(CHAIN, "a", ErrorKind.NOT_FOUND)["c"].path == ("a", "b", "c")
    assert best_ways(CHAIN, "d") == {}
    assert best_ways(CHAIN, "nowhere") == {}


def test_the_graph_knows_effects_coverage_and_compositions() -> None:
    graph = CHAIN.graph
    assert set(graph) == {"a", "b", "c", "d"}
    assert graph.nodes["a"]["effect"] == "read"
    assert graph.edges["a", "b"]["coverage"] == 0.9
    assert graph.edges["a", "b"]["gives"] == ("z",)
    assert graph.edges["a", "d"]["via"] == ("c", "d")
    assert CHAIN.graph is graph


def brute_force(edges: dict[tuple[int, int], float], start: int, end: int, nodes: int) -> float:
    best = 0.0
    others = [n for n in range(nodes) if n not in (start, end)]
    for length in range(len(others) + 1):
        for middle in itertools.permutations(others, length):
            path = (start, *middle, end)
            product = math.prod(edges.get(pair, 0.0) for pair in itertools.pairwise(path))
            best = max(best, product)
    return best


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8).flatmap(lambda n: st.tuples(
    st.just(n),
    st.dictionaries(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1]),
        st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0]),
        max_size=24,
    ),
)))  # fmt: skip
def test_the_best_way_is_the_one_that_brute_force_finds(
    drawn: tuple[int, dict[tuple[int, int], float]],
) -> None:
    nodes, edges = drawn
    text = "version: 1\ndomain: d\ntools:\n"
    for node in range(nodes):
        offers = ", ".join(f"{{tool: t{b}, coverage: {c}}}" for (a, b), c in edges.items() if a == node)
        text += f"  t{node}: {{effect: read, fallbacks: [{offers}]}}\n"
    ways = best_ways(FallbackMap.from_text(text), "t0")
    for end in range(1, nodes):
        expected = brute_force(edges, 0, end, nodes)
        found = ways.get(f"t{end}")
        assert math.isclose(found.coverage if found else 0.0, expected, rel_tol=1e-12)
        if found:
            steps = [int(name[1:]) for name in found.path]
            assert math.isclose(math.prod(edges[pair] for pair in itertools.pairwise(steps)), found.coverage)
