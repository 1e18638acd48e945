from btm.evaluation.world import World
from btm.model import ErrorKind

TOOLS = [f"tool_{n}" for n in range(60)]


def test_a_world_is_a_function_of_its_seed() -> None:
    here, again, elsewhere = World(1), World(1), World(2)
    assert [here.cost(t) for t in TOOLS] == [again.cost(t) for t in TOOLS]
    assert [here.cost(t) for t in TOOLS] != [elsewhere.cost(t) for t in TOOLS]


def test_tools_have_three_characters() -> None:
    first = [World(0).heals(t, ErrorKind.TIMEOUT, 1) for t in TOOLS]
    second = [World(0).heals(t, ErrorKind.TIMEOUT, 2) for t in TOOLS]
    quick = sum(a > 0.7 for a in first)
    slow = sum(a < 0.2 and b > 0.6 for a, b in zip(first, second, strict=True))
    stubborn = sum(b < 0.1 for b in second)
    assert quick + slow + stubborn == len(TOOLS)
    assert min(quick, slow, stubborn) > 8


def test_kinds_of_one_tool_differ_and_late_repeats_are_alike() -> None:
    world = World(0)
    assert any(
        (world.heals(t, ErrorKind.TIMEOUT, 1) > 0.5) != (world.heals(t, ErrorKind.RATE_LIMIT, 1) > 0.5)
        for t in TOOLS
    )
    assert world.heals("tool_1", ErrorKind.TIMEOUT, 3) == world.heals("tool_1", ErrorKind.TIMEOUT, 9)


def test_costs_reliabilities_and_budgets_keep_their_bounds() -> None:
    world = World(3)
    assert all(0.5 <= world.cost(t) <= 3 for t in TOOLS)
    reliable = [world.reliability(t) for t in TOOLS]
    assert all(0.1 <= r <= 0.3 or 0.85 <= r <= 1 for r in reliable)
    assert 8 < sum(r < 0.5 for r in reliable) < 32
    spent = sum(world.cost(t) for t in TOOLS[:3])
    assert spent + 4 <= world.budget("task", TOOLS[:3]) <= spent + 8
