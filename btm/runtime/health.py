"""How a tool has been doing in the last minutes, over all conversations."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

HALF_LIFE_S = 300.0
"""Half-life of a tool's health counters: minutes, so that an outage fades soon after it ends."""

HEALED = 3
"""Calls in a row that must work before a tool that used to fail counts as healed."""

_WINDOW = 10


@dataclass(slots=True)
class ToolHealth:
    """Decayed success and failure counts of one tool, and its latest calls."""

    successes: float
    failures: float
    as_of: float
    latest: deque[tuple[float, bool]]


class Health:
    """The health of every tool. Not thread-safe: its owner holds the lock."""

    def __init__(self, half_life_s: float = HALF_LIFE_S) -> None:
        self._half_life_s = half_life_s
        self._tools: dict[str, ToolHealth] = {}

    def record(self, tool: str, ok: bool, at: float) -> None:
        """Take in that a call of ``tool`` ended at ``at``."""
        health = self._tools.get(tool)
        if health is None:
            health = self._tools[tool] = ToolHealth(0.0, 0.0, at, deque(maxlen=_WINDOW))
        factor = self._factor(health, at)
        health.successes = health.successes * factor + ok
        health.failures = health.failures * factor + (not ok)
        health.as_of = max(at, health.as_of)
        health.latest.append((at, ok))

    def _factor(self, health: ToolHealth, at: float) -> float:
        return float(2.0 ** (-max(at - health.as_of, 0.0) / self._half_life_s))

    def counts(self, tool: str, now: float) -> tuple[float, float]:
        """Return the decayed (successes, failures) of ``tool`` at time ``now``."""
        health = self._tools.get(tool)
        if health is None:
            return 0.0, 0.0
        factor = self._factor(health, now)
        return health.successes * factor, health.failures * factor

    def worked(self, tool: str) -> bool:
        """Whether one of the latest calls of ``tool`` succeeded."""
        health = self._tools.get(tool)
        return health is not None and any(ok for _, ok in health.latest)

    def healed(self, tool: str) -> bool:
        """Whether the ``HEALED`` calls before the latest one all succeeded."""
        health = self._tools.get(tool)
        before = [ok for _, ok in health.latest][:-1] if health is not None else []
        return len(before) >= HEALED and all(before[-HEALED:])

    def sentence(self, tool: str, now: float) -> str:
        """Return "failed 6 of its last 6 calls in 4 min", or "" while there is nothing striking to say."""
        health = self._tools.get(tool)
        if health is None:
            return ""
        recent = [(at, ok) for at, ok in health.latest if now - at <= 4 * self._half_life_s]
        failed = sum(1 for _, ok in recent if not ok)
        if len(recent) < 3 or failed * 2 < len(recent):
            return ""
        return f"failed {failed} of its last {len(recent)} calls in {_span(now - recent[0][0])}"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
