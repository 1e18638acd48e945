"""The planner against the best decisions there are, on random incidents whose chances it is told.

What is left of regret when nothing has to be learned is the fault of the rule that orders steps. Six sorts of incident:
repeats that fade (each heals less often than the one before), that are drawn at random, and that heal slowly (hardly at the
first, well afterwards); each with substitutes that always suffice, or with some that may not. The best is found by
dynamic programming over everything that can have been tried (:class:`btm.lab.simulation.Best`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from btm.lab.players import THREE_REPEATS, incident_of, offered
from btm.lab.simulation import RETRY, Best, Chances, Game, Move, Substitute, Tried, action_of, moves, odds_of
from btm.learning.posterior import BetaPosterior
from btm.model import Action, Attempt, ErrorKind, EvidenceKey
from btm.planning.planner import Planner, each
from btm.planning.policy import Policies

_SURE = 1e7  # pseudo-counts of what the planner is told
_CELL = ("tool", ErrorKind.TIMEOUT)


def _fading(rng: random.Random) -> tuple[float, ...]:
    first, fading = rng.uniform(0.1, 0.9), rng.uniform(0.4, 1.0)
    return (first, first * fading, first * fading**2)


def _any(rng: random.Random) -> tuple[float, ...]:
    return (rng.random(), rng.random(), rng.random())


def _slow(rng: random.Random) -> tuple[float, ...]:
    return (rng.uniform(0.03, 0.12), rng.uniform(0.75, 0.95), rng.uniform(0.75, 0.95))


HEALING: dict[str, Callable[[random.Random], tuple[float, ...]]] = {
    "fading": _fading,
    "any": _any,
    "slow": _slow,
}
SUFFICE: dict[str, tuple[float, ...]] = {"suffice": (1.0,), "may not suffice": (1.0, 0.8, 0.5)}


@dataclass(frozen=True, slots=True)
class Optimum:
    """One sort of incident: what the best decisions are worth on average, and what the planner's lose, in calls."""

    healing: str
    substitutes: str
    incidents: int
    best: float
    lost: float
    most: float

    @property
    def share(self) -> float:
        """What is lost, as a share of what the best decisions are worth."""
        return self.lost / self.best


def against_optimum(incidents: int = 400, seed: int = 0) -> tuple[Optimum, ...]:
    """Return what the planner loses in each of the six sorts, over so many random incidents of each."""
    found = []
    for healing, draw in HEALING.items():
        for substitutes, values in SUFFICE.items():
            rng = random.Random(f"{seed}/{healing}/{substitutes}")  # noqa: S311 - a simulation
            best = lost = most = 0.0
            for _ in range(incidents):
                given = _drawn(rng, draw(rng), values)
                worth = Best(given).worth(Tried())
                regret = worth - _worth_of_plan(given)
                best, lost, most = best + worth, lost + regret, max(most, regret)
            found.append(Optimum(healing, substitutes, incidents, best / incidents, lost / incidents, most))
    return tuple(found)


def _drawn(rng: random.Random, retry: tuple[float, ...], values: tuple[float, ...]) -> Chances:
    game = Game()
    cost = 0.5 * 4 ** rng.random()
    return Chances(
        retry=retry,
        switch=(rng.uniform(0.05, 0.98), rng.uniform(0.05, 0.98)),
        retry_costs=tuple(cost + wait for wait in game.waits),
        substitutes=tuple(
            Substitute(f"backup_{n}", rng.choice(values), 0.5 * 4 ** rng.random()) for n in range(2)
        ),
        value=game.settings.value_of_success,
    )


def _worth_of_plan(given: Chances) -> float:
    """Return what following the planner's first step, again and again, is worth on average."""
    game = Game()
    planner = Planner(Policies.from_text(THREE_REPEATS), game.settings)

    def believe(key: EvidenceKey) -> BetaPosterior:
        if key.action is Action.RETRY:
            chance = given.retry[key.ordinal - 1]
        else:
            chance = next(
                c for c, s in zip(given.switch, given.substitutes, strict=True) if s.name == key.target
            )
        chance = min(max(chance, 1e-9), 1 - 1e-9)
        return BetaPosterior(_SURE * chance, _SURE * (1.0 - chance))

    def worth(tried: Tried, history: tuple[Attempt, ...]) -> float:
        if not moves(given, tried):
            return 0.0
        plan = planner.plan(incident_of(_CELL, 0, 0.0, history), offered(given, game.waits[0]), each(believe))
        step = plan.first
        if step is None or plan.exhausted:
            return 0.0
        names = [one.name for one in given.substitutes]
        move: Move = RETRY if step.action is Action.RETRY else names.index(step.tool)
        chance, cost = odds_of(given, tried, move)
        action, target = action_of(given, move)
        key = EvidenceKey(*_CELL, action, target, tried.retries + 1 if move == RETRY else 1)
        # A substitute is tried once: what failed as a quota is not tried again.
        failed_as = _CELL[1] if move == RETRY else ErrorKind.QUOTA_EXHAUSTED
        failed = Attempt("0", f"{len(history)}", key, False, 0.0, failed_as=failed_as)
        return chance * given.value - cost + (1.0 - chance) * worth(tried.after(move), (*history, failed))

    return worth(Tried(), ())
