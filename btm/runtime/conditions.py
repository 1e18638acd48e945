"""What is known of each tool, over all conversations: what it does to the world, how it is doing, whether it is down."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from functools import partial

from btm.events import Hooks
from btm.fallback import FallbackMap
from btm.model import Effect, ErrorKind, ToolCall
from btm.runtime.breaker import Breaker, Circuits, Down
from btm.runtime.conversations import LiveConversations
from btm.store import RecentCall
from btm.support.bounded import BoundedDict
from btm.support.effects import Guess, guess

LOOKED_BACK_S = 1_200.0
"""Seconds for which a failure is told: an outage is forgotten soon after it ends."""

HEALED = 3
"""Calls in a row that must work before a tool that used to fail counts as healed."""

_WINDOW = 10
_MOST = 10_000  # tools of one process, and names that a model made up


class Health:
    """The latest calls of every tool. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self._latest: defaultdict[str, deque[tuple[float, bool]]] = defaultdict(
            partial(deque, maxlen=_WINDOW)
        )

    def record(self, tool: str, ok: bool, at: float) -> None:
        """Take in that a call of ``tool`` ended at ``at``."""
        self._latest[tool].append((at, ok))

    def worked(self, tool: str) -> bool:
        """Whether one of the latest calls of ``tool`` succeeded."""
        return any(ok for _, ok in self._latest.get(tool, ()))

    def healed(self, tool: str) -> bool:
        """Whether the ``HEALED`` calls before the latest one all succeeded."""
        before = [ok for _, ok in self._latest.get(tool, ())][:-1]
        return len(before) >= HEALED and all(before[-HEALED:])

    def sentence(self, tool: str, now: float) -> str:
        """Return "failed 6 of its last 6 calls in 4 min", or "" while there is nothing striking to say."""
        recent = [(at, ok) for at, ok in self._latest.get(tool, ()) if now - at <= LOOKED_BACK_S]
        failed = sum(1 for _, ok in recent if not ok)
        if len(recent) < 3 or failed * 2 < len(recent):
            return ""
        return f"failed {failed} of its last {len(recent)} calls in {span_text(now - recent[0][0])}"


def span_text(seconds: float) -> str:
    """Return a time span in words: ``45 s``, ``12 min``."""
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

    def note(
        self,
        call: ToolCall,
        kind: ErrorKind | None,
        at: float,
        began_at: float,
        order: int = 0,
        begun: int = 0,
    ) -> None:
        """Note how a call ended; see :meth:`Circuits.record`. Hold the lock."""
        self._health.record(call.tool, kind is None, at)
        if self._circuits is None or self._map.general(call):
            return  # a command or a page that failed says nothing about the next one
        for change in self._circuits.record(call.tool, kind, at, call.effect, began_at, order, begun):
            self._hooks.post(change.event())

    def take_in(self, calls: Iterable[RecentCall]) -> None:
        """Take in how calls of other processes, or of an earlier one, ended."""
        with self._conversations.lock:
            for call in calls:
                made = ToolCall(call.tool, effect=call.effect)
                self.note(made, call.kind, call.at, call.began_at)

    def lately(self, tool: str, now: float) -> tuple[str, bool, bool]:
        """Return how a tool has been doing.

        A sentence on it, or an empty one; whether one of its latest calls succeeded; whether those just before the latest
        all did.
        """
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

    def closed_to(self, tool: str, effect: Effect, now: float) -> Down | None:
        """Return what is down if a call of ``tool`` would not be made at this time."""
        if self._circuits is None or not self._circuits.any_open:
            return None
        with self._conversations.lock:
            return self._circuits.closed_to(tool, now, effect)


class ToolEffects:
    """Effects by tool: stated ones, the map's, and guesses from names and descriptions."""

    def __init__(self, fallback_map: FallbackMap) -> None:
        self._map = fallback_map
        self._descriptions: BoundedDict[str, str] = BoundedDict(_MOST)
        self._hinted: BoundedDict[str, Effect] = BoundedDict(_MOST)
        self._guesses: BoundedDict[str, Guess] = BoundedDict(_MOST)

    def describe(self, tool: str, description: str | None, *, read_only: bool | None = None) -> None:
        """Take in how a tool is described to the model: that tells more than its name, and a server's hint decides.

        Who knows of no description takes none back: of an agent's adapters one may see it, and another only the name.
        """
        hint = Effect.READ if read_only else Effect.WRITE
        if read_only is not None and self._hinted.get(tool) is not hint:
            self._hinted[tool] = hint
        if description and self._descriptions.get(tool) != description:
            self._descriptions[tool] = description
            self._guesses.pop(tool, None)

    def of(self, tool: str, stated: Effect | None = None) -> Effect:
        """Return a tool's effect: the stated one, the map's, its server's hint, or a guess (a write unless it reads)."""
        known = stated or self._map.effect(tool) or self._hinted.get(tool)
        if known is not None:
            self._guesses.pop(tool, None)
            return known
        found = self._guesses.get(tool)
        if found is None:
            found = self._guesses[tool] = guess(tool, self._descriptions.get(tool, ""))
        return found.effect

    def likely(self, tool: str) -> Effect:
        """Return what :meth:`of` would, where no call is made: that it was a guess is not remembered."""
        known = self._map.effect(tool) or self._hinted.get(tool)
        return known or guess(tool, self._descriptions.get(tool, "")).effect

    @property
    def mapped(self) -> Iterable[str]:
        """The tools that the map knows."""
        return self._map.tools

    def is_assumed(self, call: ToolCall) -> bool:
        """Whether a call is taken for a write only because nothing says that it is a read."""
        found = self._guesses.get(call.tool)
        return found is not None and not found.known and call.effect is Effect.WRITE
