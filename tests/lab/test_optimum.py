from __future__ import annotations

import random

from btm.lab.optimum import HEALING, against_optimum
from btm.lab.regret import play, totals
from btm.lab.simulation import Game, WorldParameters


def test_told_the_true_chances_the_planner_loses_next_to_nothing_against_dynamic_programming() -> None:
    found = against_optimum(60, seed=5)
    assert len(found) == 6
    assert all(0.0 <= one.share <= 0.005 for one in found), found


def test_slow_tools_heal_at_the_second_repeat_and_hardly_at_the_first() -> None:
    first, second, _ = HEALING["slow"](random.Random(1))
    assert first < 0.13
    assert second > 0.74


def test_where_tools_heal_slowly_what_was_learned_loses_less_than_any_fixed_order() -> None:
    games = [Game(seed=50 + s, incidents=500, shape=WorldParameters(slow=0.4)) for s in range(2)]
    lost = {t.player: t.mean for t in totals([play(game) for game in games], 0, 500)}
    assert lost["btm"] < min(value for name, value in lost.items() if name.startswith("order:"))
    assert lost["btm"] < lost["priors-only"]
