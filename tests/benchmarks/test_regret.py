"""Regret in simulated worlds: the figures of `btm regret`, and the bars they have to pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btm.lab.regret import play, recovery, totals
from btm.lab.simulation import Game

INCIDENTS = 2_000
GAMES = [Game(seed, INCIDENTS + 400, change_at=INCIDENTS) for seed in range(12)]


def test_regret_is_a_fraction_of_that_of_rules_and_recovers_from_a_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    regret = [play(game) for game in GAMES[:4]]
    lost = {t.player: t for t in totals(regret, 0, INCIDENTS)}
    changed = [play(game, ("btm",))["btm"] for game in GAMES]
    unchanged = [play(replace(game, change_at=None), ("btm",))["btm"] for game in GAMES]
    recovered = recovery(changed, unchanged, INCIDENTS)
    with capsys.disabled():
        print()
        for name, total in lost.items():
            times = total.mean / lost["btm"].mean
            print(f"{name:14} {total.mean:8.0f} ± {total.error:.0f} calls, {times:.2f} times btm's")
        print(f"200 to 400 incidents after a change: {recovered:.2f} times the loss without it")
    assert lost["btm"].mean <= 0.5 * lost["rules"].mean
    assert lost["btm"].mean <= 0.5 * lost["patient rules"].mean
    assert lost["btm"].mean <= 1.3 * lost["thompson"].mean
    assert lost["btm"].mean <= 1.5 * lost["informed"].mean  # which knows what the world was drawn from
    assert lost["btm"].mean <= 0.8 * lost["flat"].mean
    assert lost["btm"].mean <= 0.5 * lost["shuffled"].mean
    assert recovered <= 1.3
