"""How tools are doing now: what their latest calls came to, and which of them are down for everyone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from btm.events import Hooks
from btm.fallback import FallbackMap
from btm.model import Effect, ErrorKind, ToolCall
from btm.runtime.breaker import Began, Breaker, Circuits, Down
from btm.runtime.conversations import LiveConversations
from btm.runtime.health import Health
from btm.store import RecentCall


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

    def sentence(self, tool: str) -> str:
        """Return a sentence on how a tool has been doing, or an empty one."""
        with self._conversations.lock:
            return self._health.sentence(tool, self._clock())

    def worked_before(self, tool: str, *, healed: bool = False) -> bool:
        """Whether one of the latest calls of ``tool`` succeeded; ``healed``: those just before the latest all did."""
        with self._conversations.lock:
            return self._health.healed(tool) if healed else self._health.worked(tool)

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
