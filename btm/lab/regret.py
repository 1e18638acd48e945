"""Regret: how much worse than the best each way of deciding is, in a simulated world whose true chances are known.

The regret of one decision is what the best move is worth less what the move made is worth, both with the best moves
afterwards and both computed from the true chances; summed over decisions that is, on average, the value lost, without
the noise of what happened to succeed. Every player meets the same incidents, and the same luck.

Players:

* ``btm``: the planner with pooled posteriors, as a memory uses it.
* ``priors-only``: the planner with what it is shipped with; nothing is learned.
* ``flat``: the planner with Beta(1, 1) a key.
* ``shuffled``: the planner with pooled posteriors over evidence that is dealt out to other keys every so often.
* ``rules``: three repeats, then the first substitute, then give up.
* ``patient rules``: three repeats, then every substitute in turn.
* ``order:…``: so many repeats and then every substitute, or the other way round.
* ``thompson``: Thompson sampling (draw all chances from their posterior, do what is best if they were true) whose
  prior is the very distribution the world's chances were drawn from, before anything changed: perfect pooling
  knowledge. It forgets at the planner's pace. (W. R. Thompson, Biometrika 25, 1933; Russo et al., "A Tutorial on
  Thompson Sampling", 2018.)
* ``informed``: the same prior, but it does what is best if the posterior means were true: no exploring.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from btm.lab.players import ORDERS, IncidentView, Player, player
from btm.lab.simulation import KINDS, RETRY, Best, Cell, Game, SimulatedWorld, moves
from btm.model import Attempt, ErrorKind, EvidenceKey

APART_S = 3_600.0
"""Simulated time between incidents: a team whose agents meet 24 failures a day."""

WALK_EVERY = 100
"""Incidents between two steps of the chances' walk."""

PLAYERS = (
    "btm",
    "priors-only",
    "flat",
    "shuffled",
    "rules",
    "patient rules",
    *ORDERS,
    "thompson",
    "informed",
)

Floats = NDArray[np.float64]


def play(game: Game, names: Sequence[str] = PLAYERS) -> dict[str, Floats]:
    """Return each player's regret, incident by incident, in units of a call's cost. The same game, the same regret."""
    world = SimulatedWorld(game.seed, game.shape)
    players = {name: player(name, game, world) for name in names}
    regret = {name: np.zeros(game.incidents) for name in names}
    arrivals = _arrivals(game, world)
    for number, cell in enumerate(arrivals):
        if number and number % WALK_EVERY == 0:
            world.walk()
        if number == game.change_at:
            world.change()
        chances = world.chances(cell, game.settings.value_of_success, game.waits)
        best = Best(chances)
        for name, one in players.items():
            seen = IncidentView(number, cell, number * APART_S, chances)
            regret[name][number] = _one_incident(one, seen, best, game)
    return regret


@dataclass(frozen=True, slots=True)
class Total:
    """A player's regret over the incidents of a stretch, averaged over games, with the standard error of that."""

    player: str
    mean: float
    error: float


def totals(regrets: Sequence[Mapping[str, Floats]], start: int, stop: int) -> tuple[Total, ...]:
    """Return what each player lost on the incidents from ``start`` up to ``stop``, on average over games."""
    found = []
    for name in regrets[0]:
        lost = np.array([regret[name][start:stop].sum() for regret in regrets])
        error = float(lost.std(ddof=1) / len(lost) ** 0.5) if len(lost) > 1 else 0.0
        found.append(Total(name, float(lost.mean()), error))
    return tuple(found)


SETTLED = (200, 400)
"""Incidents after a change-point on which a player should be back to what it loses without one."""


def recovery(changed: Sequence[Floats], unchanged: Sequence[Floats], change_at: int) -> float:
    """Return what is lost on the ``SETTLED`` incidents after a change-point, over what the same games lose without it."""
    stretch = slice(change_at + SETTLED[0], change_at + SETTLED[1])
    return float(sum(r[stretch].sum() for r in changed) / sum(r[stretch].sum() for r in unchanged))


def _arrivals(game: Game, world: SimulatedWorld) -> list[Cell]:
    """Return which tool fails how, incident by incident: a few tools fail often, many now and then."""
    rng = random.Random(f"{game.seed}/arrivals")  # noqa: S311 - a simulation
    weights = [1.0 / (rank + 3) for rank in range(len(world.tools))]
    tools = rng.choices(world.tools, weights, k=game.incidents)
    return [(tool, rng.choice(KINDS)) for tool in tools]


def _one_incident(one: Player, seen: IncidentView, best: Best, game: Game) -> float:
    lost = 0.0
    while True:
        tried = seen.tried
        move = one.decide(seen) if moves(seen.chances, tried) else None
        if move is None:
            return lost + best.worth(tried)
        lost += best.worth(tried) - best.worth_of(tried, move)
        key = seen.key(move)
        luck = _luck(game.seed, seen.number, key)
        works = luck.random() < (
            seen.chances.retry[tried.retries] if move == RETRY else seen.chances.switch[move]
        )
        enough = move == RETRY or luck.random() < seen.chances.substitutes[move].value
        one.learn(key, works, seen.at)
        if works and enough:
            return lost
        # What failed as a quota is not tried again on this incident: a substitute gets one try.
        failed_as = seen.cell[1] if move == RETRY else ErrorKind.QUOTA_EXHAUSTED
        attempt = Attempt(str(seen.number), f"{seen.number}", key, False, seen.at, failed_as=failed_as)
        seen = replace(seen, history=(*seen.history, (move, attempt)))


def _luck(seed: int, number: int, key: EvidenceKey) -> random.Random:
    """Return the luck of one try: the same for every player that makes it."""
    return random.Random(f"{seed}/{number}/{key.action}/{key.target}/{key.ordinal}")  # noqa: S311 - a simulation
