"""What a memory tells while it works: small frozen events, and the hooks that get them.

Give hooks at ``ToolMemory.open(hooks=[...])``, where each gets every event, or with ``memory.on(event, callback)``.
Hooks run in the thread of the call, after its books are closed and without a lock, so they may use the memory. One that
raises is logged once and breaks nothing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from btm.errors import did_you_mean
from btm.model import ErrorKind, Incident, Outcome, ToolCall
from btm.support.untrusted import text_of, tool_name

_log = logging.getLogger("btm")
_MOST_WAITING = 1_000  # a call that is cancelled leaves its events to the next one

ActionName = Literal["retry", "wait", "verify", "switch", "repair", "cross_check"]


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """Base of all events. ``name`` is what :meth:`btm.ToolMemory.on` knows it by."""

    name: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class IncidentOpened(MemoryEvent):
    """A call failed that answers no open incident."""

    name: ClassVar[str] = "incident_opened"
    incident: Incident


@dataclass(frozen=True, slots=True)
class IncidentClosed(MemoryEvent):
    """An incident ended; ``incident.state`` says how."""

    name: ClassVar[str] = "incident_closed"
    incident: Incident


@dataclass(frozen=True, slots=True)
class ActionTaken(MemoryEvent):
    """Act mode did something of its own accord.

    ``call`` is the call that was made and ``outcome`` what came of it. A ``"wait"`` is told when it begins: ``call`` is
    then the one that will be repeated, ``waited_s`` the seconds until then, and ``outcome`` None. ``asked`` is the
    agent's own call that all this is for.
    """

    name: ClassVar[str] = "action_taken"
    action: ActionName
    asked: ToolCall
    call: ToolCall
    outcome: Outcome | None = None
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ContextGiven(MemoryEvent):
    """A recovery context was handed over with a call's answer. ``tokens`` is an estimate."""

    name: ClassVar[str] = "context_given"
    call: ToolCall
    kind: ErrorKind | None
    text: str
    tokens: int
    refused: bool = False


@dataclass(frozen=True, slots=True)
class BreakerOpened(MemoryEvent):
    """A tool, or a service of several tools (``is_group``), is down for everyone.

    ``failed`` of the latest ``calls`` failed, over ``span_s`` seconds, the last one as ``kind``. The next call to try
    it goes through at ``probe_at`` (epoch seconds).
    """

    name: ClassVar[str] = "breaker_opened"
    what: str
    is_group: bool
    kind: ErrorKind
    failed: int
    calls: int
    span_s: float
    at: float
    probe_at: float


@dataclass(frozen=True, slots=True)
class BreakerClosed(MemoryEvent):
    """A tool or a service works again; it had been down since ``since`` (epoch seconds)."""

    name: ClassVar[str] = "breaker_closed"
    what: str
    is_group: bool
    since: float
    at: float


EVENTS: dict[str, type[MemoryEvent]] = {
    cls.name: cls
    for cls in (IncidentOpened, ActionTaken, ContextGiven, IncidentClosed, BreakerOpened, BreakerClosed)
}

Hook = Callable[[Any], None]
"""Takes an event."""


def log_actions(event: MemoryEvent) -> None:
    """Log one INFO line for each action that btm takes, and for each breaker: the default hook."""
    if isinstance(event, BreakerOpened):
        _log.info(
            "%s is down: %d of its last %d calls failed", tool_name(event.what), event.failed, event.calls
        )
    elif isinstance(event, BreakerClosed):
        _log.info("%s works again, after %.0f s", tool_name(event.what), event.at - event.since)
    if not isinstance(event, ActionTaken):
        return
    tool, asked = tool_name(event.call.tool), tool_name(event.asked.tool)
    if event.outcome is None:
        _log.info("wait %.1f s, then repeat %s", event.waited_s, tool)
    else:
        came = "worked" if event.outcome.ok else f"failed: {event.outcome.kind}"
        _log.info("%s for %s: %s %s", event.action, asked, tool, came)


def event_type(event: type[MemoryEvent] | str) -> type[MemoryEvent]:
    """Return an event's class from itself or its name. Raises ValueError for an unknown name, TypeError for others."""
    if isinstance(event, type) and issubclass(event, MemoryEvent):
        return event
    if not isinstance(event, str):
        raise TypeError(f"an event is one of {', '.join(EVENTS)}, not {type(event).__name__}")
    if event not in EVENTS:
        hint = did_you_mean(event, EVENTS)
        raise ValueError(f"{event!r} is not a valid event; use one of {', '.join(EVENTS)}{hint}")
    return EVENTS[event]


class Hooks:
    """The hooks of one memory. Thread-safe."""

    def __init__(self, every: Iterable[Hook] = ()) -> None:
        # Replaced, never changed: a hook may come or go while events are told.
        self._hooks: tuple[tuple[type[MemoryEvent], Hook], ...] = tuple((MemoryEvent, hook) for hook in every)
        self._waiting: deque[MemoryEvent] = deque(maxlen=_MOST_WAITING)
        self._said: set[tuple[str, str]] = set()

    def on(self, event: type[MemoryEvent] | str, callback: Hook) -> Callable[[], None]:
        """Have ``callback`` called with every event of a sort; return a function that ends that."""
        if not callable(callback):
            raise TypeError(f"callback is a function, not {type(callback).__name__}")
        entry = (event_type(event), callback)
        self._hooks = (*self._hooks, entry)

        def off() -> None:
            self._hooks = tuple(other for other in self._hooks if other is not entry)

        return off

    def post(self, event: MemoryEvent) -> None:
        """Keep an event until :meth:`deliver`: for those who hold a lock."""
        if self._hooks:
            self._waiting.append(event)

    def tell(self, event: MemoryEvent, *, first: bool = False) -> None:
        """Tell an event now, after those that wait, or ``first``: before what came of it."""
        if self._hooks:
            if first:
                self._waiting.appendleft(event)
            else:
                self._waiting.append(event)
            self.deliver()

    def deliver(self) -> None:
        """Call the hooks with the events that wait, in order."""
        while self._waiting:
            try:
                event = self._waiting.popleft()
            except IndexError:  # another thread took it
                return
            for kind, hook in self._hooks:
                if isinstance(event, kind):
                    self._call(hook, event)

    def _call(self, hook: Hook, event: MemoryEvent) -> None:
        try:
            hook(event)
        except Exception as error:  # noqa: BLE001 - a user's hook may raise anything, and the agent goes on
            what = getattr(hook, "__qualname__", type(hook).__name__), type(error).__name__
            if what not in self._said:
                self._said.add(what)
                _log.warning(
                    "the hook %s raised %s: %s (told once)", *what, text_of(error, 200), exc_info=error
                )
