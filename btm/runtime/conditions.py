"""How tools are doing now, over all conversations: what their latest calls came to, and which are down for everyone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from btm.events import Hooks
from btm.fallback import FallbackMap
from btm.model import Effect, ErrorKind, ToolCall
from btm.runtime.breaker import Began, Breaker, Circuits, Down
from btm.runtime.conversations import LiveConversations
from btm.store import RecentCall

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

    def __init__(self) -> None:
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
        return float(2.0 ** (-max(at - health.as_of, 0.0) / HALF_LIFE_S))

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
        recent = [(at, ok) for at, ok in health.latest if now - at <= 4 * HALF_LIFE_S]
        failed = sum(1 for _, ok in recent if not ok)
        if len(recent) < 3 or failed * 2 < len(recent):
            return ""
        return f"failed {failed} of its last {len(recent)} calls in {_span(now - recent[0][0])}"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class ToolConditions:
    """Thread-safe: the lock of the conversations guards it too. ``breaker`` None: nothing is ever down."""

    def __init__(
        self,
        conversations: LiveConversations,
        fallback_map: FallbackMap,
        breaker: Breaker | None,
        latest: Iterable[RecentCall],
        *,
        clock: Callable[[], float],
        hooks: Hooks,
    ) -> None:
        self._conversations, self._map, self._clock, self._hooks = conversations, fallback_map, clock, hooks
        self._health = Health()
        reads = [name for name in fallback_map.tools if fallback_map.effect(name) is Effect.READ]
        self._circuits = Circuits(breaker, fallback_map.groups, reads) if breaker is not None else None
        self.take_in(latest)

    def note(self, call: ToolCall, kind: ErrorKind | None, at: float, began: Began) -> None:
        """Note how a call ended. Hold the lock."""
        self._health.record(call.tool, kind is None, at)
        if self._circuits is None or self._map.general(call):
            return  # a command or a page that failed says nothing about the next one
        for change in self._circuits.record(call.tool, kind, at, call.effect, began):
            self._hooks.post(change.event())

    def take_in(self, calls: Iterable[RecentCall]) -> None:
        """Take in how calls of other processes, or of an earlier one, ended."""
        with self._conversations.lock:
            for call in calls:
                made = ToolCall(call.tool, effect=call.effect)
                self.note(made, call.kind, call.at, Began(call.began_at))

    def lately(self, tool: str) -> tuple[str, bool, bool]:
        """Return how a tool has been doing.

        A sentence on it, or an empty one; whether one of its latest calls succeeded; whether those just before the latest
        all did.
        """
        now = self._clock()
        with self._conversations.lock:
            return self._health.sentence(tool, now), self._health.worked(tool), self._health.healed(tool)

    @property
    def any_down(self) -> bool:
        """Whether anything is down: asked without a lock, on the way of every call."""
        return self._circuits is not None and self._circuits.any_open

    def down(self, call: ToolCall) -> Down | None:
        """Return what is down if ``call`` is not to be made now; None lets it through, perhaps to try the tool."""
        if self._circuits is None or not self._circuits.any_open:
            return None
        with self._conversations.lock:
            return self._circuits.down(call.tool, call.effect, self._clock())

    def closed_to(self, tool: str, effect: Effect) -> Down | None:
        """Return what is down if a call of ``tool`` would not be made now."""
        if self._circuits is None or not self._circuits.any_open:
            return None
        with self._conversations.lock:
            return self._circuits.closed_to(tool, self._clock(), effect)
