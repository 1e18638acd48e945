"""What attempts add up to in this process, as of now: the evidence with the clock it is read by."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from btm.model import Attempt, EvidenceKey
from btm.posterior import BetaPosterior, Decay, Evidence, Priors
from btm.store import Snapshot

BeliefModel = Callable[[Evidence, EvidenceKey, Priors, float], BetaPosterior]
"""How evidence becomes belief; see :data:`btm.memory.BELIEFS`."""


class Credit:
    """Evidence that grows with every attempt. Not thread-safe: its owner holds the lock.

    Weights are forward-decayed (see :mod:`btm.posterior`): they are added under a landmark, which moves on before they
    could overflow, and read at a time.
    """

    def __init__(self, snapshot: Snapshot, believe: BeliefModel) -> None:
        self._decay: Decay = snapshot.decay
        self._priors: Priors = snapshot.priors
        self._evidence = Evidence(snapshot.evidence)
        self._latest_at = snapshot.latest_at
        self._believe = believe

    def give(self, attempts: Iterable[Attempt], now: float) -> None:
        """Learn from attempts."""
        if self._decay.overdue(now):
            self._evidence.rescale(self._decay.scale(now))
            self._decay = Decay(self._decay.half_life_s, now)
        self._add(attempts, 1.0)

    def take_back(self, attempts: Iterable[Attempt]) -> None:
        """Unlearn attempts."""
        self._add(attempts, -1.0)

    def turn(self, attempts: Iterable[Attempt]) -> None:
        """Turn attempts that had counted as successes into failures."""
        for attempt in attempts:
            weight = self._decay.weight(attempt.at)
            self._evidence.add(attempt.key, -weight, weight)

    def _add(self, attempts: Iterable[Attempt], sign: float) -> None:
        for attempt in attempts:
            weight = sign * self._decay.weight(attempt.at)
            self._evidence.add(attempt.key, weight * attempt.success, weight * (not attempt.success))
            self._latest_at = max(self._latest_at, attempt.at)

    def belief(self, key: EvidenceKey, now: float) -> BetaPosterior:
        """Return the belief about one key."""
        return self._believe(self._evidence, key, self._priors, self._scale(now))

    def beliefs(self, now: float) -> list[tuple[EvidenceKey, BetaPosterior]]:
        """Return every key that has evidence, with its belief."""
        scale = self._scale(now)
        return [
            (key, self._believe(self._evidence, key, self._priors, scale))
            for key, _, _ in self._evidence.rows()
        ]

    def _scale(self, now: float) -> float:
        """Return what evidence is read with. A clock that was set back must not make evidence count more than once."""
        return self._decay.scale(max(now, self._latest_at))
