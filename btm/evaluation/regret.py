"""Regret: how much worse than the best each way of deciding is, in a simulated world whose true chances are known.

The regret of one decision is what the best move is worth less what the move made is worth, both with the best moves
afterwards and both computed from the true chances; summed over decisions that is, on average, the value lost, without
the noise of what happened to succeed. Every player meets the same incidents, and the same luck.

Players:

* ``btm``: the planner with pooled posteriors, as a memory uses it.
* ``flat``: the planner with Beta(1, 1) a key.
* ``shuffled``: the planner with pooled posteriors over evidence that is dealt out to other keys every so often.
* ``rules``: three repeats, then the first substitute, then give up.
* ``patient rules``: three repeats, then every substitute in turn.
* ``thompson``: Thompson sampling (draw all chances from their posterior, do what is best if they were true) whose
  prior is the very distribution the world's chances were drawn from, before anything changed: perfect pooling
  knowledge. It forgets at the planner's pace. (W. R. Thompson, Biometrika 25, 1933; Russo et al., "A Tutorial on
  Thompson Sampling", 2018.)
* ``informed``: the same prior, but it does what is best if the posterior means were true: no exploring.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from btm.evaluation.simulation import (
    KINDS,
    RETRY,
    Best,
    Cell,
    Chances,
    Move,
    Shape,
    Tried,
    World,
    action_of,
    moves,
)
from btm.model import Action, Attempt, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall
from btm.plan import Step
from btm.planner import Options, Planner, Settings
from btm.policy import Policies
from btm.posterior import BetaPosterior, Decay, Evidence, Priors, flat, pooled

APART_S = 3_600.0
"""Simulated time between incidents: a team whose agents meet 24 failures a day."""

HALF_LIFE_S = 14 * 86_400.0
WALK_EVERY = 100
SHUFFLE_EVERY = 25
PLAYERS = ("btm", "flat", "shuffled", "rules", "patient rules", "thompson", "informed")

_THREE_REPEATS = """
- id: three-repeats
  when: incident.tries >= 4
  forbid: [retry]
  level: enforce
  say: "Three repeats are enough."
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Game:
    """What is played: how many incidents, and after which of them the world changes (None: never)."""

    seed: int = 0
    incidents: int = 2_000
    change_at: int | None = None
    half_life_s: float = HALF_LIFE_S
    shape: Shape = field(default_factory=Shape)
    settings: Settings = field(default_factory=Settings)

    @property
    def waits(self) -> tuple[float, ...]:
        """What waiting before the first, second and third repeat costs."""
        longest, first = self.settings.longest_wait_s, self.settings.first_wait_s
        return tuple(min(first * 2.0**n, longest) * self.settings.cost_per_second for n in range(3))


@dataclass(frozen=True, slots=True)
class Seen:
    """An incident as a player sees it: everything but the true chances. ``chances`` is for its costs and values."""

    number: int
    cell: Cell
    at: float
    chances: Chances
    history: tuple[tuple[Move, Attempt], ...] = ()

    @property
    def tried(self) -> Tried:
        """What was tried so far."""
        tried = Tried()
        for move, _ in self.history:
            tried = tried.after(move)
        return tried

    def key(self, move: Move) -> EvidenceKey:
        """Return what the next try of ``move`` is evidence about."""
        tool, kind = self.cell
        action, target = action_of(self.chances, move)
        return EvidenceKey(tool, kind, action, target, self.tried.retries + 1 if move == RETRY else 1)


class Player(Protocol):
    """One way of deciding."""

    def decide(self, seen: Seen) -> Move | None:
        """Return the next move, or None to give up."""

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        """Take in what came of a try."""


@dataclass(frozen=True)
class Rules:
    """Three repeats, then so many substitutes in the order in which they are listed."""

    substitutes: int = 1

    def decide(self, seen: Seen) -> Move | None:
        """Return the next move of the list."""
        tried = seen.tried
        if tried.retries < 3:
            return RETRY
        following = len(tried.switches)
        return following if following < min(self.substitutes, len(seen.chances.substitutes)) else None

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        """Nothing is learned."""


class Planned:
    """The planner, with beliefs from what was seen."""

    def __init__(
        self,
        game: Game,
        believe: Callable[[Evidence, EvidenceKey, Priors, float], BetaPosterior] = pooled,
        *,
        shuffled: bool = False,
        explore: random.Random | None = None,
    ) -> None:
        self._planner = Planner(Policies.from_text(_THREE_REPEATS), game.settings, explore)
        self._believe, self._priors = believe, Priors()
        self._decay = Decay(game.half_life_s)
        self._evidence = Evidence()
        self._rng = random.Random(f"{game.seed}/shuffled") if shuffled else None  # noqa: S311 - a simulation
        self._shown, self._shown_at = self._evidence, -SHUFFLE_EVERY

    def decide(self, seen: Seen) -> Move | None:
        """Return the first step of the plan."""
        evidence, scale = self._evidence_for(seen), self._decay.scale(seen.at)
        plan = self._planner.plan(
            _incident(seen),
            _options(seen),
            lambda key: self._believe(evidence, key, self._priors, scale),
        )
        step = plan.first
        if step is None or plan.exhausted:
            return None
        if step.action is Action.RETRY:
            return RETRY
        return next(n for n, one in enumerate(seen.chances.substitutes) if one.name == step.tool)

    def _evidence_for(self, seen: Seen) -> Evidence:
        if self._rng is None:
            return self._evidence
        if seen.number - self._shown_at >= SHUFFLE_EVERY:
            rows = list(self._evidence.rows())
            dealt = self._rng.sample(rows, len(rows))
            pairs = zip(rows, dealt, strict=True)
            self._shown = Evidence((key, worked, failed) for (key, _, _), (_, worked, failed) in pairs)
            self._shown_at = seen.number
        return self._shown

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        """Add to the evidence."""
        weight = self._decay.weight(at)
        self._evidence.add(key, weight * success, weight * (not success))


def _incident(seen: Seen) -> Incident:
    tool, kind = seen.cell
    call = ToolCall(tool, conversation=str(seen.number), call_id=str(seen.number))
    attempts = tuple(attempt for _, attempt in seen.history)
    return Incident(
        str(seen.number), call.conversation, call, kind, Outcome(kind), seen.at, attempts=attempts
    )


def _options(seen: Seen) -> Options:
    return Options(
        switches=tuple(
            Step(Action.SWITCH, one.name, {}, value=one.value, cost=one.cost)
            for one in seen.chances.substitutes
        ),
        cost=seen.chances.retry_costs[0] - _first_wait(seen),
    )


def _first_wait(seen: Seen) -> float:
    # The planner adds what waiting costs by itself; the chances hold it with the call's cost.
    return seen.chances.retry_costs[1] - seen.chances.retry_costs[0]


class Thompson:
    """Thompson sampling that knows what the world was drawn from; without ``explore`` it believes the means."""

    def __init__(self, game: Game, world: World, *, explore: bool = True) -> None:
        self._explore = explore
        self._rng = random.Random(f"{game.seed}/thompson")  # noqa: S311 - a simulation
        self._heals, self._reliable, self._shape = dict(world.heals), dict(world.reliable), world.shape
        self._decay = Decay(game.half_life_s)
        self._counts: dict[EvidenceKey, tuple[float, float]] = {}
        self._drawn: tuple[int, Best] | None = None

    def decide(self, seen: Seen) -> Move | None:
        """Return the best move under chances that are drawn once an incident."""
        if self._drawn is None or self._drawn[0] != seen.number:
            self._drawn = seen.number, Best(self._draw(seen))
        return self._drawn[1].move(seen.tried)

    def _draw(self, seen: Seen) -> Chances:
        tool, kind = seen.cell
        chances, scale = seen.chances, self._decay.scale(seen.at)
        retry = tuple(
            self._one(
                EvidenceKey(tool, kind, Action.RETRY, "", n),
                self._heals[kind, n],
                self._shape.retry_strength,
                scale,
            )
            for n in range(1, len(chances.retry) + 1)
        )
        switch = tuple(
            self._one(
                EvidenceKey(tool, kind, Action.SWITCH, one.name, 1),
                self._reliable[one.name],
                self._shape.switch_strength,
                scale,
            )
            for one in chances.substitutes
        )
        return Chances(retry, switch, chances.retry_costs, chances.substitutes, chances.value)

    def _one(self, key: EvidenceKey, mean: float, strength: float, scale: float) -> float:
        worked, failed = self._counts.get(key, (0.0, 0.0))
        alpha, beta = strength * mean + scale * worked, strength * (1.0 - mean) + scale * failed
        return self._rng.betavariate(alpha, beta) if self._explore else alpha / (alpha + beta)

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        """Add to the counts."""
        weight = self._decay.weight(at)
        worked, failed = self._counts.get(key, (0.0, 0.0))
        self._counts[key] = (worked + weight * success, failed + weight * (not success))


def player(name: str, game: Game, world: World) -> Player:
    """Return the player of a name. Raises KeyError for another name."""
    made: Mapping[str, Callable[[], Player]] = {
        "btm": lambda: Planned(game),
        "flat": lambda: Planned(game, flat),
        "shuffled": lambda: Planned(game, shuffled=True),
        "rules": Rules,
        "patient rules": lambda: Rules(substitutes=game.shape.substitutes),
        "thompson": lambda: Thompson(game, world),
        "informed": lambda: Thompson(game, world, explore=False),
    }
    return made[name]()


def play(game: Game, names: Sequence[str] = PLAYERS) -> dict[str, Floats]:
    """Return each player's regret, incident by incident, in units of a call's cost. The same game, the same regret."""
    world = World(game.seed, game.shape)
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
            seen = Seen(number, cell, number * APART_S, chances)
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


def _arrivals(game: Game, world: World) -> list[Cell]:
    """Return which tool fails how, incident by incident: a few tools fail often, many now and then."""
    rng = random.Random(f"{game.seed}/arrivals")  # noqa: S311 - a simulation
    weights = [1.0 / (rank + 3) for rank in range(len(world.tools))]
    tools = rng.choices(world.tools, weights, k=game.incidents)
    return [(tool, rng.choice(KINDS)) for tool in tools]


def _one_incident(one: Player, seen: Seen, best: Best, game: Game) -> float:
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
