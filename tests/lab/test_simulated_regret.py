from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from btm.lab.regret import PLAYERS, play, totals
from btm.lab.simulation import (
    RETRY,
    Best,
    Chances,
    Game,
    SimulatedWorld,
    Substitute,
    Tried,
    WorldParameters,
    moves,
    odds_of,
)

SMALL = WorldParameters(tools=6, targets=4)


def chances(rng: random.Random) -> Chances:
    return Chances(
        retry=tuple(rng.random() for _ in range(3)),
        switch=(rng.random(), rng.random()),
        retry_costs=(1.0, 1.1, 1.2),
        substitutes=(
            Substitute("a", 1.0, rng.uniform(0.5, 3.0)),
            Substitute("b", 0.5, rng.uniform(0.5, 3.0)),
        ),
        value=rng.uniform(1.0, 20.0),
    )


def worth_of_order(given: Chances, order: tuple[int, ...]) -> float:
    """What it is worth to make these moves in this order until one is enough."""
    total, reached, tried = 0.0, 1.0, Tried()
    for move in order:
        chance, cost = odds_of(given, tried, move)
        total += reached * (chance * given.value - cost)
        reached *= 1.0 - chance
        tried = tried.after(move)
    return total


def test_the_best_is_as_good_as_the_best_of_all_orders() -> None:
    rng = random.Random(0)
    for _ in range(30):
        given = chances(rng)
        every = [RETRY, RETRY, RETRY, 0, 1]
        orders = {order for n in range(6) for order in itertools.permutations(every, n)}
        assert Best(given).worth(Tried()) == pytest.approx(max(worth_of_order(given, o) for o in orders))


def test_nobody_does_better_than_the_best() -> None:
    regret = play(Game(incidents=100, shape=SMALL))
    assert all((lost >= -1e-9).all() for lost in regret.values())


def test_the_best_gives_up_when_nothing_is_worth_its_cost() -> None:
    hopeless = replace(chances(random.Random(0)), value=0.5)
    assert Best(hopeless).move(Tried()) is None
    assert Best(hopeless).worth(Tried()) == 0.0


def test_a_substitute_is_tried_once_and_a_repeat_three_times() -> None:
    given, tried = chances(random.Random(1)), Tried()
    for move in (RETRY, 1, RETRY, RETRY):
        assert move in moves(given, tried)
        tried = tried.after(move)
    assert moves(given, tried) == [0]


def test_the_same_game_gives_the_same_regret_whoever_else_plays() -> None:
    game = Game(seed=3, incidents=60, shape=SMALL)
    together, alone = play(game), play(game, ("btm",))
    assert np.array_equal(together["btm"], alone["btm"])
    assert not np.array_equal(together["btm"], play(replace(game, seed=4), ("btm",))["btm"])


def test_a_change_point_turns_the_world_and_only_from_there_on() -> None:
    game = Game(seed=1, incidents=200, shape=SMALL)
    calm, changed = play(game, ("rules",)), play(replace(game, change_at=120), ("rules",))
    assert np.array_equal(calm["rules"][:120], changed["rules"][:120])
    assert not np.array_equal(calm["rules"][120:], changed["rules"][120:])


def test_chances_walk_but_stay_chances() -> None:
    world = SimulatedWorld(0, replace(SMALL, walk=3.0))
    cell = (world.tools[0], next(iter(world.heals))[0])
    before = world.chances(cell, 20.0, (0.0, 0.0, 0.0))
    for _ in range(20):
        world.walk()
    after = world.chances(cell, 20.0, (0.0, 0.0, 0.0))
    assert before != after
    assert all(0.01 <= chance <= 0.99 for chance in (*after.retry, *after.switch))


def test_totals_are_means_over_games_with_their_error() -> None:
    first, second = {"btm": np.array([1.0, 3.0, 5.0])}, {"btm": np.array([1.0, 1.0, 9.0])}
    (total,) = totals([first, second], 1, 3)
    assert (total.player, total.mean, total.error) == ("btm", 9.0, 1.0)
    assert totals([first], 0, 3)[0].error == 0.0


def test_right_pooled_numbers_lose_least() -> None:
    lost = {t.player: t.mean for t in totals([play(Game(seed=s, incidents=600)) for s in (0, 1)], 0, 600)}
    assert set(lost) == set(PLAYERS)
    assert lost["btm"] < lost["flat"] < lost["shuffled"] < lost["patient rules"] < lost["rules"]
    assert lost["btm"] < 0.5 * lost["patient rules"]
    assert lost["btm"] < 1.3 * lost["thompson"]
