"""Who decides in the simulation; :mod:`btm.lab.regret` says who is who."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from btm.fallback import Step
from btm.lab.simulation import RETRY, Best, Cell, Chances, Game, Move, SimulatedWorld, Tried, action_of
from btm.learning.posterior import BetaPosterior, Decay, Evidence, Priors, flat, pooled, unlearned
from btm.model import Action, Attempt, EvidenceKey, Incident, Outcome, ToolCall
from btm.planning.plan import Options
from btm.planning.planner import Believe, Planner, each
from btm.planning.policy import Policies
from btm.runtime.evidence import Credit
from btm.store import Snapshot

ORDERS: Mapping[str, tuple[bool, int]] = {
    **{f"order:retry{n}-then-switch": (False, n) for n in range(1, 4)},
    **{f"order:switch-then-retry{n}": (True, n) for n in range(1, 4)},
}
"""Fixed orders over every substitute: whether those come first, and how many repeats."""

SHUFFLE_EVERY = 25
"""Incidents after which shuffled evidence is dealt out anew."""

THREE_REPEATS = """
- id: three-repeats
  when: incident.tries >= 4
  forbid: [retry]
  level: enforce
  say: "Three repeats are enough."
"""


@dataclass(frozen=True, slots=True)
class IncidentView:
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

    def decide(self, seen: IncidentView) -> Move | None:
        """Return the next move, or None to give up."""

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        """Take in what came of a try."""


@dataclass(frozen=True)
class Rules:
    """So many repeats, then so many substitutes in the order in which they are listed; or the other way round."""

    substitutes: int = 1
    repeats: int = 3
    switch_first: bool = False

    def decide(self, seen: IncidentView) -> Move | None:
        tried = seen.tried
        repeat = RETRY if tried.retries < self.repeats else None
        following = len(tried.switches)
        switch = following if following < min(self.substitutes, len(seen.chances.substitutes)) else None
        first, second = (switch, repeat) if self.switch_first else (repeat, switch)
        return first if first is not None else second

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        """Nothing is learned."""


class PlannerPlayer:
    """The planner, with beliefs from what was seen."""

    def __init__(
        self,
        game: Game,
        believe: Callable[[Evidence, EvidenceKey, Priors, float], BetaPosterior] = pooled,
        *,
        shuffled: bool = False,
        explore: random.Random | None = None,
    ) -> None:
        self._planner = Planner(Policies.from_text(THREE_REPEATS), game.settings, explore)
        self._believe, self._priors = believe, Priors()
        self._decay = Decay(game.half_life_s)
        self._first_wait = game.waits[0]
        self._evidence = Evidence()
        self._rng = random.Random(f"{game.seed}/shuffled") if shuffled else None  # noqa: S311 - a simulation
        self._shown, self._shown_at = self._evidence, -SHUFFLE_EVERY

    def decide(self, seen: IncidentView) -> Move | None:
        plan = self._planner.plan(
            incident_of(seen.cell, seen.number, seen.at, tuple(attempt for _, attempt in seen.history)),
            offered(seen.chances, self._first_wait),
            self._beliefs(seen),
        )
        step = plan.first
        if step is None or plan.exhausted:
            return None
        if step.action is Action.RETRY:
            return RETRY
        return next(n for n, one in enumerate(seen.chances.substitutes) if one.name == step.tool)

    def _beliefs(self, seen: IncidentView) -> Believe:
        evidence, scale = self._evidence_for(seen), self._decay.scale(seen.at)
        return each(lambda key: self._believe(evidence, key, self._priors, scale))

    def _evidence_for(self, seen: IncidentView) -> Evidence:
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
        weight = self._decay.weight(at)
        self._evidence.add(key, weight * success, weight * (not success))


class MemoryPlayer(PlannerPlayer):
    """The planner with the beliefs of a memory: it fits its priors, and lets go what a change has made old."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._books = Credit(Snapshot(self._decay, self._priors, b""), pooled)

    def _beliefs(self, seen: IncidentView) -> Believe:
        return lambda keys: self._books.about(keys, seen.at)

    def learn(self, key: EvidenceKey, success: bool, at: float) -> None:
        self._books.give([Attempt("", "", key, success, at)], at)


def incident_of(cell: Cell, number: int, at: float, attempts: tuple[Attempt, ...]) -> Incident:
    """Return the incident that a failed call of a simulated tool opens."""
    tool, kind = cell
    call = ToolCall(tool, conversation=str(number), call_id=str(number))
    return Incident(str(number), call.conversation, call, kind, Outcome(kind), at, attempts=attempts)


def offered(chances: Chances, first_wait: float) -> Options:
    """Return what there is to try, as a map would offer it."""
    substitutes = tuple(
        Step(Action.SWITCH, one.name, {}, coverage=one.value, cost=one.cost) for one in chances.substitutes
    )
    # The planner adds what waiting costs by itself; the chances hold it together with the call's cost.
    return Options(switches=substitutes, cost=chances.retry_costs[0] - first_wait)


class Thompson:
    """Thompson sampling that knows what the world was drawn from; without ``explore`` it believes the means."""

    def __init__(self, game: Game, world: SimulatedWorld, *, explore: bool = True) -> None:
        self._explore = explore
        self._rng = random.Random(f"{game.seed}/thompson")  # noqa: S311 - a simulation
        self._heals, self._reliable, self._shape = dict(world.heals), dict(world.reliable), world.shape
        self._decay = Decay(game.half_life_s)
        self._counts: dict[EvidenceKey, tuple[float, float]] = {}
        self._drawn: tuple[int, Best] | None = None

    def decide(self, seen: IncidentView) -> Move | None:
        if self._drawn is None or self._drawn[0] != seen.number:
            self._drawn = seen.number, Best(self._draw(seen))
        return self._drawn[1].move(seen.tried)

    def _draw(self, seen: IncidentView) -> Chances:
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
        weight = self._decay.weight(at)
        worked, failed = self._counts.get(key, (0.0, 0.0))
        self._counts[key] = (worked + weight * success, failed + weight * (not success))


def player(name: str, game: Game, world: SimulatedWorld) -> Player:
    """Return the player of a name. Raises KeyError for another name."""
    made: Mapping[str, Callable[[], Player]] = {
        "btm": lambda: MemoryPlayer(game),
        "flat": lambda: PlannerPlayer(game, flat),
        "priors-only": lambda: PlannerPlayer(game, unlearned),
        "shuffled": lambda: PlannerPlayer(game, shuffled=True),
        "rules": Rules,
        "patient rules": lambda: Rules(substitutes=game.shape.substitutes),
        "thompson": lambda: Thompson(game, world),
        "informed": lambda: Thompson(game, world, explore=False),
    }
    if name in made:
        return made[name]()
    first, repeats = ORDERS[name]
    return Rules(game.shape.substitutes, repeats, switch_first=first)
