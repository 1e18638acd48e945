"""btm.fallback.graph: the map as a graph, and the ways round a tool."""

from __future__ import annotations

import itertools
import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from btm.fallback import FallbackMap
from btm.fallback.graph import MAX_LENGTH, MAX_WAYS, Way, ways_round
from btm.model import Effect, ErrorKind, ToolCall

CHAIN = FallbackMap.from_text("""
version: 1
domain: d
tools:
  a:
    effect: read
    fallbacks:
      - {tool: b, coverage: 0.9, lacks: [x], gives: [z]}
      - {tool: c, coverage: 0.5, only_for: [timeout]}
      - {via: [c, {tool: d, arguments: {}}], coverage: 0.8, cost: 3}
  b: {effect: read, fallbacks: [{tool: c, coverage: 0.8, lacks: [y, x]}]}
  c: {effect: read, fallbacks: [{tool: a, coverage: full}]}
  d: {effect: read}
""")


def best_ways(made: FallbackMap, tool: str, kind: ErrorKind | None = None) -> dict[str, Way]:
    """The first way to each single tool that ends one: a composition ends at none."""
    ways = reversed(ways_round(made, tool, kind))
    return {way.end: way for way in ways if way.end is not None}


def test_coverage_multiplies_and_what_is_lacking_adds_up() -> None:
    ways = best_ways(CHAIN, "a")
    assert set(ways) == {"b", "c"}
    assert ways["c"].hops == (("b",), ("c",))
    assert math.isclose(ways["c"].coverage, 0.72)
    assert (ways["c"].gives, ways["c"].lacks) == ((), ("x", "y"))
    assert ways["b"].gives == ("z",)


def test_a_condition_shuts_the_first_step_only() -> None:
    assert best_ways(CHAIN, "a", ErrorKind.SERVER_ERROR)["c"].hops == (("b",), ("c",))
    assert best_ways(CHAIN, "d") == {}
    assert best_ways(CHAIN, "nowhere") == {}


def test_the_ways_after_an_error_are_those_that_an_agent_is_offered_after_it() -> None:
    call = ToolCall("a", {}, Effect.READ)
    for kind in ErrorKind:
        offered = {step.via or (step.tool,) for step in CHAIN.candidates(call, kind, {})}
        assert {way.hops[0] for way in ways_round(CHAIN, "a", kind)} == offered, kind


def test_people_see_all_ways_best_first_with_compositions_and_costs() -> None:
    ways = ways_round(CHAIN, "a")
    assert [w.hops for w in ways] == [(("b",),), (("c", "d"),), (("b",), ("c",)), (("c",),)]
    assert [w.cost for w in ways] == [1, 3, 2, 1]
    assert [w.only_for for w in ways] == [(), (), (), ("timeout",)]


def test_the_first_step_is_offered_for_the_error_and_later_ones_are_all_listed() -> None:
    hops = [w.hops for w in ways_round(CHAIN, "a", ErrorKind.SERVER_ERROR)]
    assert (("c",),) not in hops
    assert (("b",), ("c",)) in hops
    assert ways_round(CHAIN, "d") == []
    assert ways_round(CHAIN, "nowhere") == []


def test_a_detour_to_where_a_better_way_leads_is_left_out() -> None:
    made = FallbackMap.from_text("""
version: 1
domain: d
tools:
  a: {effect: read, fallbacks: [{tool: b, coverage: full}, {tool: c, coverage: full}]}
  b: {effect: read, fallbacks: [{tool: c, coverage: full}]}
  c: {effect: read}
""")
    assert [w.hops for w in ways_round(made, "a")] == [(("b",),), (("c",),)]


def test_a_map_in_which_everything_stands_in_for_everything_is_searched_in_no_time() -> None:
    names = [f"t{n}" for n in range(40)]
    text = "version: 1\ndomain: d\ntools:\n"
    for n, name in enumerate(names):
        offers = ", ".join(
            f"{{tool: {t}, coverage: 0.{5 + (n + k) % 5}}}" for k, t in enumerate(names) if t != name
        )
        text += f"  {name}: {{effect: read, fallbacks: [{offers}]}}\n"
    ways = ways_round(FallbackMap.from_text(text), "t0")
    assert len(ways) == MAX_WAYS
    assert all(len(way.hops) <= MAX_LENGTH for way in ways)
    assert [w.coverage for w in ways] == sorted((w.coverage for w in ways), reverse=True)


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
    for length in range(min(len(others) + 1, MAX_LENGTH)):
        for middle in itertools.permutations(others, length):
            path = (start, *middle, end)
            product = math.prod(edges.get(pair, 0.0) for pair in itertools.pairwise(path))
            best = max(best, product)
    return best


@settings(max_examples=40)
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
    assume(len(ways_round(FallbackMap.from_text(text), "t0")) < MAX_WAYS)
    for end in range(1, nodes):
        expected = brute_force(edges, 0, end, nodes)
        found = ways.get(f"t{end}")
        assert math.isclose(found.coverage if found else 0.0, expected, rel_tol=1e-12)
        if found:
            steps = [0, *(int(name[1:]) for (name,) in found.hops)]
            assert math.isclose(math.prod(edges[pair] for pair in itertools.pairwise(steps)), found.coverage)
