"""A world whose true chances are known: tools that fail in a few ways, substitutes, and chances that drift.

It has no tasks, maps or texts, only decisions: a tool has failed in some way, and one can repeat the call (up to
three times) or switch to one of its substitutes (each once), until something works or one gives up. A substitute that works
is enough with a chance of its value (its coverage), and if it is not, the search goes on. What is enough is worth V,
every try costs what it costs, giving up is worth nothing. Since the chances are known, the best decision is known too
(:class:`Best`), and regret can be told exactly.

The chances hang together as a fleet of tools does: kinds of error differ in how they heal at the first, second and
third repeat, and tools differ around that; substitutes differ in how reliable they are, and in how well they stand in
for each tool. They walk a little all the time, and at a change-point some kinds heal otherwise than before and some
substitutes turn from good to bad or from bad to good.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from btm.model import MAX_ORDINAL, Action, ErrorKind
from btm.planning.planner import Settings

KINDS = (
    ErrorKind.TIMEOUT,
    ErrorKind.RATE_LIMIT,
    ErrorKind.SERVER_ERROR,
    ErrorKind.UNAVAILABLE,
    ErrorKind.MALFORMED,
    ErrorKind.AUTH_ERROR,
)
"""Kinds of error in the simulation."""

RETRY = -1
"""The move that repeats the call; the others are the number of a substitute."""

Move = int
Cell = tuple[str, ErrorKind]
"""A tool and how it failed."""

HALF_LIFE_S = 7 * 86_400.0
"""After which evidence counts half in a game, unless it says otherwise.

Longer loses less while nothing changes (30 days: 13 % less), and takes longer to recover when something does (14 days:
400 incidents instead of 200).
"""

_LIMITS = (0.01, 0.99)


@dataclass(frozen=True, slots=True)
class Substitute:
    """A tool that can stand in: its name, the chance that what it gives is enough, and what a call of it costs."""

    name: str
    value: float
    cost: float


@dataclass(frozen=True, slots=True)
class WorldParameters:
    """How large and how varied a world is.

    ``retry_strength`` and ``switch_strength`` say how alike tools are, in pseudo-counts. ``walk`` is the standard
    deviation, in log odds, of what every chance walks in 100 incidents. ``slow`` is the share of tools and kinds that
    hardly heal at the first repeat (0.03 to 0.12) and well afterwards (0.75 to 0.95).
    """

    tools: int = 20
    targets: int = 10
    substitutes: int = 3
    retry_strength: float = 5.0
    switch_strength: float = 8.0
    walk: float = 0.1
    slow: float = 0.0


@dataclass(frozen=True, slots=True)
class Game:
    """What is played: how many incidents, and after which of them the world changes (None: never)."""

    seed: int = 0
    incidents: int = 2_000
    change_at: int | None = None
    half_life_s: float = HALF_LIFE_S
    shape: WorldParameters = field(default_factory=WorldParameters)
    settings: Settings = field(default_factory=Settings)

    @property
    def waits(self) -> tuple[float, ...]:
        """What waiting before the first, second and third repeat costs."""
        longest, first = self.settings.longest_wait_s, self.settings.first_wait_s
        return tuple(min(first * 2.0**n, longest) * self.settings.cost_per_second for n in range(3))


@dataclass(frozen=True, slots=True)
class Chances:
    """The true chances in one cell, and what is at stake: of the nth repeat, and of each substitute."""

    retry: tuple[float, ...]
    switch: tuple[float, ...]
    retry_costs: tuple[float, ...]
    substitutes: tuple[Substitute, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried on an incident without success: how many repeats, and which substitutes."""

    retries: int = 0
    switches: frozenset[int] = frozenset()

    def after(self, move: Move) -> Tried:
        """Return what was tried once ``move`` has failed too."""
        if move == RETRY:
            return Tried(self.retries + 1, self.switches)
        return Tried(self.retries, self.switches | {move})


@dataclass
class SimulatedWorld:
    """The simulated world. The same seed gives the same chances, whatever is decided."""

    seed: int = 0
    shape: WorldParameters = field(default_factory=WorldParameters)

    def __post_init__(self) -> None:
        rng, shape = random.Random(f"{self.seed}/world"), self.shape  # noqa: S311 - a simulation
        self._rng = rng
        self.tools = tuple(f"tool_{n:02d}" for n in range(shape.tools))
        targets = [f"backup_{n:02d}" for n in range(shape.targets)]
        self.heals = {(kind, n): self._healing(kind, n) for kind in KINDS for n in range(1, MAX_ORDINAL + 1)}
        self.reliable = {target: rng.uniform(0.25, 0.95) for target in targets}
        costs = {name: 0.5 * 4 ** rng.random() for name in (*self.tools, *targets)}
        self.costs: Mapping[str, float] = costs
        self.substitutes = {
            tool: tuple(
                Substitute(target, rng.choice((1.0, 0.8, 0.5)), costs[target])
                for target in rng.sample(targets, shape.substitutes)
            )
            for tool in self.tools
        }
        self._retry: dict[tuple[str, ErrorKind, int], float] = {}
        self._switch: dict[tuple[str, ErrorKind, str], float] = {}
        self._settle()

    def _healing(self, kind: ErrorKind, ordinal: int) -> float:
        """How often the nth repeat heals a kind of error over all tools: each later one less often than the first."""
        first = random.Random(f"{self.seed}/{kind}").uniform(0.1, 0.9)  # noqa: S311
        fading = random.Random(f"{self.seed}/{kind}/fading").uniform(0.4, 1.0)  # noqa: S311
        return first * fading ** (ordinal - 1)

    def _settle(self) -> None:
        for tool in self.tools:
            for kind in KINDS:
                slow = random.Random(f"{self.seed}/{tool}/{kind}/slow")  # noqa: S311
                is_slow = slow.random() < self.shape.slow
                for n in range(1, MAX_ORDINAL + 1):
                    chance = self._around(self.heals[kind, n], self.shape.retry_strength)
                    if is_slow:
                        chance = slow.uniform(0.03, 0.12) if n == 1 else slow.uniform(0.75, 0.95)
                    self._retry[tool, kind, n] = chance
                for one in self.substitutes[tool]:
                    chance = self._around(self.reliable[one.name], self.shape.switch_strength)
                    self._switch[tool, kind, one.name] = chance

    def _around(self, mean: float, strength: float) -> float:
        return _limited(self._rng.betavariate(strength * mean, strength * (1.0 - mean)))

    def chances(self, cell: Cell, value: float, waits: tuple[float, ...]) -> Chances:
        """Return what is true in a cell now; ``waits`` is what waiting before each repeat costs."""
        tool, kind = cell
        substitutes = self.substitutes[tool]
        return Chances(
            retry=tuple(self._retry[tool, kind, n] for n in range(1, MAX_ORDINAL + 1)),
            switch=tuple(self._switch[tool, kind, one.name] for one in substitutes),
            retry_costs=tuple(self.costs[tool] + wait for wait in waits),
            substitutes=substitutes,
            value=value,
        )

    def walk(self) -> None:
        """Let every chance walk as far as it does in 100 incidents."""
        for table in (self._retry, self._switch):
            for key, chance in table.items():
                odds = math.log(chance / (1.0 - chance)) + self._rng.gauss(0.0, self.shape.walk)
                table[key] = _limited(1.0 / (1.0 + math.exp(-odds)))  # type: ignore[index]

    def change(self) -> None:
        """A change-point: a third of the kinds and of the substitutes turn into their opposite."""
        for kind in self._rng.sample(KINDS, len(KINDS) // 3):
            for n in range(1, MAX_ORDINAL + 1):
                self.heals[kind, n] = 1.0 - self.heals[kind, n]
                for tool in self.tools:
                    self._retry[tool, kind, n] = self._around(self.heals[kind, n], self.shape.retry_strength)
        for target in self._rng.sample(sorted(self.reliable), len(self.reliable) // 3):
            self.reliable[target] = 1.2 - self.reliable[target]
            for tool, kind, name in self._switch:
                if name == target:
                    chance = self._around(self.reliable[target], self.shape.switch_strength)
                    self._switch[tool, kind, name] = chance


def _limited(chance: float) -> float:
    return min(max(chance, _LIMITS[0]), _LIMITS[1])


def moves(chances: Chances, tried: Tried) -> list[Move]:
    """Return what can still be tried."""
    left = [number for number in range(len(chances.switch)) if number not in tried.switches]
    return [RETRY, *left] if tried.retries < len(chances.retry) else left


def odds_of(chances: Chances, tried: Tried, move: Move) -> tuple[float, float]:
    """Return the chance that a move works and is enough, and its cost."""
    if move == RETRY:
        return chances.retry[tried.retries], chances.retry_costs[tried.retries]
    one = chances.substitutes[move]
    return chances.switch[move] * one.value, one.cost


def action_of(chances: Chances, move: Move) -> tuple[Action, str]:
    """Return a move as an action and its target."""
    return (Action.RETRY, "") if move == RETRY else (Action.SWITCH, chances.substitutes[move].name)


class Best:
    """The best that can be done in a cell, by backward induction over everything that can have been tried."""

    def __init__(self, chances: Chances) -> None:
        self._chances = chances
        self._worth: dict[Tried, float] = {}

    def worth(self, tried: Tried) -> float:
        """Return what the best decisions from here on are worth, on average; giving up is worth 0."""
        found = self._worth.get(tried)
        if found is None:
            values = (self.worth_of(tried, move) for move in moves(self._chances, tried))
            found = self._worth[tried] = max(0.0, max(values, default=0.0))
        return found

    def worth_of(self, tried: Tried, move: Move) -> float:
        """Return what it is worth to make this move now, and the best ones afterwards."""
        chance, cost = odds_of(self._chances, tried, move)
        return chance * self._chances.value - cost + (1.0 - chance) * self.worth(tried.after(move))

    def move(self, tried: Tried) -> Move | None:
        """Return the best move, or None when it is best to give up."""
        options = [(self.worth_of(tried, move), -move, move) for move in moves(self._chances, tried)]
        best = max(options, default=None)
        return best[2] if best is not None and best[0] > 0.0 else None
