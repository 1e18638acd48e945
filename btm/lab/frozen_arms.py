"""Arms whose memory stays as it is: they start every episode from the same knowledge, learned elsewhere or told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from btm.fallback import FallbackMap
from btm.lab.agent import Call
from btm.lab.desk import Desk
from btm.lab.memory_arms import HASH_KEY, MemoryArm, dealt
from btm.learning.posterior import BetaPosterior, Decay, Evidence, Priors, pooled
from btm.learning.priors import refit_priors
from btm.model import Action, ErrorKind, EvidenceKey
from btm.store import CallEvent, Event, EvidenceRow, Reported, Snapshot


def frozen_arm(name: str, fallback_map: FallbackMap, seed: int, learned: Sequence[EvidenceRow]) -> MemoryArm:
    """Return the arm of a name as it is after having learned this elsewhere; it starts every episode from it."""
    if name == "btm:informed":
        return InformedArm(name, fallback_map, seed)
    return FrozenArm(name, fallback_map, seed, learned)


@dataclass(frozen=True)
class Unwritten:
    """A store that holds what it is given, and writes nothing."""

    learned: Sequence[EvidenceRow]
    priors: Priors
    at: float

    def load(self, now: float) -> Snapshot:
        return Snapshot(Decay(math.inf, self.at), self.priors, HASH_KEY, tuple(self.learned), latest_at=now)

    def write(self, events: Sequence[Event]) -> Sequence[CallEvent]:  # noqa: ARG002 - the protocol's arguments
        return ()

    def report(self, conversation: str, call_id: str, kind: ErrorKind) -> Reported:  # noqa: ARG002 - the protocol's arguments
        return Reported()

    def forget_shape(self, tool: str) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""


class FrozenArm(MemoryArm):
    """A memory that starts every episode from the same evidence, learned elsewhere: it stays as it was.

    A shuffled one gets that evidence dealt out to other keys, anew for every episode.
    """

    def __init__(
        self, name: str, fallback_map: FallbackMap, seed: int, learned: Sequence[EvidenceRow]
    ) -> None:
        super().__init__(name, fallback_map, seed)
        self._learned = learned
        # As a memory does when it opens; shuffled evidence is believed as strongly as the right one.
        evidence = Evidence(learned)
        self._priors = refit_priors(evidence, Priors(), None, 1.0)

    def calls(self, desk: Desk) -> Call:
        rows = dealt(self.name, self._learned, self._seed, desk)
        self.memory.close()
        self._clock = desk.clock
        self.memory = self._remember(Unwritten(rows, self._priors, desk.clock.time()))
        return super().calls(desk)


class InformedArm(MemoryArm):
    """btm, told the true chances of the world that it is in: it decides as well as whoever had learned all there is."""

    _desk: Desk

    def __init__(self, name: str, fallback_map: FallbackMap, seed: int) -> None:
        self._believe = self._believed
        super().__init__(name, fallback_map, seed)

    def _believed(self, evidence: Evidence, key: EvidenceKey, priors: Priors, scale: float) -> BetaPosterior:
        chance = true_chance(self._desk, key)
        if chance is None:
            return pooled(evidence, key, priors, scale)
        return BetaPosterior(_SURE * chance, _SURE * (1.0 - chance))

    def calls(self, desk: Desk) -> Call:
        self._desk = desk
        return super().calls(desk)


_SURE = 1e6  # pseudo-counts


def true_chance(desk: Desk, key: EvidenceKey) -> float | None:
    """Return the chance of a try in the world of an episode, None where the world does not settle it."""
    world, script = desk.world, {step.tool for step in desk.setup.task.steps}
    if world is None:
        return None
    if key.action is Action.RETRY:
        chance = world.heals(key.tool, key.kind, key.ordinal)
    elif key.action in (Action.SWITCH, Action.VERIFY):
        tools = key.target.split(" > ")
        if key.ordinal == 1:
            fails = desk.fails_at_first
            chance = math.prod(1.0 - fails if tool in script else world.reliability(tool) for tool in tools)
        else:  # a tool off the script that could not stand in once cannot later
            healing = (world.heals(tool, ErrorKind.SERVER_ERROR, key.ordinal - 1) for tool in tools)
            chance = math.prod(h if tool in script else 0.0 for tool, h in zip(tools, healing, strict=True))
    else:
        return None
    return min(max(chance, 1e-4), 1.0 - 1e-4)
