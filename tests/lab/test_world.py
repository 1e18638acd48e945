from btm.fallback import FallbackMap
from btm.lab.world import World
from btm.model import ErrorKind

TOOLS = [f"tool_{n}" for n in range(200)]
ALL = frozenset(TOOLS)


def test_a_world_is_a_function_of_its_seed() -> None:
    here, again, elsewhere = World(1), World(1), World(2)
    assert [here.cost(t) for t in TOOLS] == [again.cost(t) for t in TOOLS]
    assert [here.cost(t) for t in TOOLS] != [elsewhere.cost(t) for t in TOOLS]


def characters(world: World) -> tuple[int, int, int]:
    first = [world.heals(t, ErrorKind.TIMEOUT, 1) for t in TOOLS]
    second = [world.heals(t, ErrorKind.TIMEOUT, 2) for t in TOOLS]
    quick = sum(a > 0.7 for a in first)
    slow = sum(a < 0.2 and b > 0.6 for a, b in zip(first, second, strict=True))
    return quick, slow, sum(b < 0.1 for b in second)


def test_tools_have_three_characters() -> None:
    quick, slow, stubborn = characters(World(0, ALL))
    assert quick + slow + stubborn == len(TOOLS)
    assert 60 < quick < 100
    assert 25 < slow < 55
    assert 60 < stubborn < 100


def test_a_tool_that_nothing_can_replace_is_never_stubborn() -> None:
    assert characters(World(0))[2] == 0


def test_a_tool_is_replaceable_where_all_of_a_way_round_it_is_reliable() -> None:
    text = "version: 1\ndomain: d\ntools:\n"
    text += "".join(f"  {t}: {{effect: read}}\n" for t in TOOLS)
    text += "  single: {effect: read, fallbacks: [{tool: tool_%d, coverage: full}]}\n"
    text += "  row: {effect: read, fallbacks: [{via: [tool_%d, {tool: tool_%d, arguments: {}}], coverage: full}]}\n"
    good = [n for n, t in enumerate(TOOLS) if World(5).reliability(t) > 0.5]
    bad = [n for n, t in enumerate(TOOLS) if World(5).reliability(t) < 0.5]
    assert World.of(5, FallbackMap.from_text(text % (good[0], good[1], good[2]))).replaceable == {
        "single",
        "row",
    }
    assert World.of(5, FallbackMap.from_text(text % (bad[0], good[1], bad[2]))).replaceable == frozenset()


def test_kinds_of_one_tool_differ_and_late_repeats_are_alike() -> None:
    world = World(0, ALL)
    assert any(
        (world.heals(t, ErrorKind.TIMEOUT, 1) > 0.5) != (world.heals(t, ErrorKind.RATE_LIMIT, 1) > 0.5)
        for t in TOOLS
    )
    assert world.heals("tool_1", ErrorKind.TIMEOUT, 3) == world.heals("tool_1", ErrorKind.TIMEOUT, 9)


def test_costs_reliabilities_and_allowances_keep_their_bounds() -> None:
    world = World(3)
    assert all(0.7 <= world.cost(t) <= 1.4 for t in TOOLS)
    reliable = [world.reliability(t) for t in TOOLS]
    assert all(0.02 <= r <= 0.15 or 0.92 <= r <= 1 for r in reliable)
    assert 65 < sum(r < 0.5 for r in reliable) < 115
    assert all(1.5 <= world.allowance(t) <= 2.5 for t in TOOLS)


def test_the_map_is_told_what_calls_cost() -> None:
    plain = FallbackMap.from_text("version: 1\ndomain: d\ntools:\n  tool_1: {effect: read}\n")
    world = World(3)
    assert world.priced(plain).cost("tool_1") == world.cost("tool_1")
    assert plain.cost("tool_1") == 1.0
