"""Circuit breakers: what is down for everyone is not waited for again, over all conversations and processes.

A circuit (one a tool, one a ``breaker: {group: ...}`` of the map) opens when the latest calls leave little doubt that
almost nothing works now, see :func:`chance_down`; no number of failures alone opens it. Calls that failed through their
arguments, and answers that were wrong, show a service that answers, and never count against it.

An open circuit lets one call through now and then to see whether it is over, and only a read: a write must not be tried
on a service that may be broken. A write that no read can speak for (its tool stands alone) is let through when its time
is up. Nothing here reads a clock or calls a tool.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import NamedTuple

from scipy.special import betainc, betaln

from btm.events import BreakerClosed, BreakerOpened, MemoryEvent
from btm.model import Effect, ErrorKind, Family

WINDOW_S = 1_200.0
"""Calls that are older say nothing about now, in seconds."""

_WINDOW = 32  # calls
_HAZARD = 0.01  # chance, from one call to the next, that a tool's reliability changes
_WHOLE = 20.0  # failures that a tool which is down is like to have shown already
_PROBE_S = 120.0  # after which a probe that nothing came of (it was cancelled) is given up
_COUNTED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """When circuits open and close; ``ToolMemory.open(breaker=...)`` takes it.

    A circuit opens when it is more than ``certainty`` probable that the chance of success is now below ``down_below``,
    after ``least_failures`` failures or more. The first probe comes after ``first_probe_s`` seconds; each that fails
    doubles the time, up to ``longest_probe_s``. ``successes`` in a row close the circuit.

    Raises ValueError for numbers outside their range.
    """

    down_below: float = 0.2
    certainty: float = 0.95
    least_failures: int = 3
    first_probe_s: float = 30.0
    longest_probe_s: float = 600.0
    successes: int = 2

    def __post_init__(self) -> None:
        for name in ("down_below", "certainty"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is a probability between 0 and 1, not {getattr(self, name)!r}")
        for name in ("least_failures", "successes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, not {getattr(self, name)!r}")
        if not 0 < self.first_probe_s <= self.longest_probe_s:
            raise ValueError("first_probe_s is above 0 and at most longest_probe_s")


def chance_down(latest: Sequence[bool], below: float) -> float:
    """Return how probable it is that the chance of success is now below ``below``, given the latest calls, oldest first.

    The chance may have changed once among them, before any call (hazard 1/100 a call). Before that it is Beta(1, 1); after
    it, or if it never changed, it is that of a tool like any other, Beta(1, 1), or as likely that of one that is down,
    Beta(1, 20): what breaks mostly breaks whole. This is the run-length posterior of Adams & MacKay, "Bayesian online
    changepoint detection" (2007), over a short window. Counts that only fade with time cannot tell a busy tool that just
    broke from one that always fails now and then: here a good past neither hides an outage nor does a past of half and
    half pass for one.
    """
    total = sum(latest)
    after, alphas, betas, weights = total, [], [], []
    for change in range(len(latest)):
        failed, before = len(latest) - change - after, total - after
        earlier = float(log(_HAZARD) + betaln(1.0 + before, 1.0 + change - before)) if change else 0.0
        for prior in (1.0, _WHOLE):
            alphas.append(1.0 + after)
            betas.append(prior + failed)
            weights.append(earlier + log(prior) + float(betaln(alphas[-1], betas[-1])))  # 1/B(1, b) is b
        after -= latest[change]
    most = max(weights, default=0.0)
    scaled = [exp(weight - most) for weight in weights]
    parts = betainc(alphas, betas, below)
    return (
        float(sum(w * part for w, part in zip(scaled, parts, strict=True)) / sum(scaled)) if scaled else 0.0
    )


@dataclass(frozen=True, slots=True)
class Down:
    """A tool, or a service of several, that does not work for anyone.

    ``failed`` of the latest ``calls`` failed, over ``span_s`` seconds; ``kind`` is how the last one did. The circuit is
    open since ``since``, and the next call to try it goes through at ``probe_at`` (epoch seconds both).
    """

    name: str
    failed: int
    calls: int
    span_s: float
    kind: ErrorKind
    since: float
    probe_at: float
    is_group: bool = False


class CircuitChange(NamedTuple):
    """A circuit opened, or closed (``opened`` False)."""

    opened: bool
    down: Down
    at: float

    def event(self) -> MemoryEvent:
        """Return what hooks are told."""
        down = self.down
        if not self.opened:
            return BreakerClosed(down.name, down.is_group, down.since, self.at)
        counts = down.failed, down.calls, down.span_s
        return BreakerOpened(down.name, down.is_group, down.kind, *counts, self.at, down.probe_at)


@dataclass(slots=True)
class _Seen:
    at: float
    alive: bool
    tool: str


@dataclass(frozen=True, slots=True)
class _Open:
    since: float
    probe_at: float
    kind: ErrorKind
    failed_probes: int = 0
    successes: int = 0
    probing_until: float = 0.0


class _Circuit:
    """The latest calls of a tool or a service, and whether it is open."""

    def __init__(self, name: str, settings: Breaker) -> None:
        self.name, self._settings = name, settings
        self.latest: deque[_Seen] = deque(maxlen=_WINDOW)
        self.open: _Open | None = None
        # When the latest failure that was counted ended, and how many calls of this process had begun by then.
        self._failed_at, self._failed_by = float("-inf"), 0

    def counts(self, began_at: float, order: int, ended_at: float, begun: int) -> bool:
        """Whether a failure is counted: calls that fail together are one piece of evidence.

        One that began before the latest counted failure ended fails together with it.
        """
        if began_at < self._failed_at or 0 < order <= self._failed_by:
            return False
        self._failed_at, self._failed_by = ended_at, begun
        return True

    def is_down(self, at: float) -> bool:
        """Whether the latest calls leave little doubt that almost nothing works now."""
        recent = [seen for seen in self.latest if at - seen.at <= WINDOW_S]
        failed = [seen for seen in recent if not seen.alive]
        if len(failed) < self._settings.least_failures:
            return False
        if self.name.startswith(_GROUP) and len({seen.tool for seen in failed}) < 2:
            return False  # one tool that fails says nothing about the others of its service
        latest = [seen.alive for seen in recent]
        return chance_down(latest, self._settings.down_below) > self._settings.certainty

    def told(self, state: _Open, now: float) -> Down:
        """Return what is down, in numbers."""
        recent = list(self.latest)[-_COUNTED:]
        return Down(
            name=self.name.removeprefix(_GROUP),
            failed=sum(not seen.alive for seen in recent),
            calls=len(recent),
            span_s=max(now - recent[0].at, 0.0) if recent else 0.0,
            kind=state.kind,
            since=state.since,
            probe_at=max(state.probe_at, state.probing_until if now < state.probing_until else 0.0),
            is_group=self.name.startswith(_GROUP),
        )


class Circuits:
    """The circuits of all tools and groups. Not thread-safe: their owner holds the lock.

    ``groups`` names the group of each tool that has one, ``reads`` the tools known to only look.
    """

    def __init__(
        self, settings: Breaker, groups: Mapping[str, str] | None = None, reads: Collection[str] = ()
    ) -> None:
        self._settings = settings
        self._groups = dict(groups or {})
        self._reads = set(reads)
        self._circuits: dict[str, _Circuit] = {}
        self.any_open = False

    def record(
        self,
        tool: str,
        kind: ErrorKind | None,
        at: float,
        effect: Effect | None = None,
        began_at: float = math.inf,
        order: int = 0,
        begun: int = 0,
    ) -> list[CircuitChange]:
        """Take in how a call of a tool ended; return the circuits that this opened or closed.

        The call began at ``began_at``, as number ``order`` of those of this process; ``begun`` have begun by now.
        """
        if effect is Effect.READ:
            self._reads.add(tool)
        family = None if kind is None else kind.family
        if family is Family.UNKNOWN:
            return []
        dead = family in (Family.TRANSIENT, Family.PERSISTENT)
        found: list[CircuitChange] = []
        for name in self._names(tool):
            circuit = self._circuits.get(name)
            if circuit is None:
                circuit = self._circuits[name] = _Circuit(name, self._settings)
            if dead and circuit.open is None and not circuit.counts(began_at, order, at, begun):
                continue
            circuit.latest.append(_Seen(at, not dead, tool))
            if circuit.open is not None:
                found += self._probed(circuit, circuit.open, kind if dead else None, at)
            elif dead and kind is not None and circuit.is_down(at):
                circuit.open = _Open(at, at + self._settings.first_probe_s, kind)
                found.append(CircuitChange(True, circuit.told(circuit.open, at), at))
        if found:
            self.any_open = any(circuit.open is not None for circuit in self._circuits.values())
        return found

    def down(self, tool: str, effect: Effect, now: float) -> Down | None:
        """Return what is down if a call of this tool is not to be made now; None lets it through.

        A call that is let through an open circuit is the one that tries it: the next waits for what comes of it.
        """
        probed: list[_Circuit] = []
        for circuit, state in self._open_circuits(tool):
            alone = not self._reads_of(circuit.name)
            if now < state.probe_at or now < state.probing_until or (effect is Effect.WRITE and not alone):
                return circuit.told(state, now)
            probed.append(circuit)
        for circuit in probed:
            if circuit.open is not None:
                circuit.open = replace(circuit.open, probing_until=now + _PROBE_S)
        return None

    def closed_to(self, tool: str, now: float, effect: Effect = Effect.READ) -> Down | None:
        """Return what :meth:`down` would, without trying anything."""
        for circuit, state in self._open_circuits(tool):
            if now < max(state.probe_at, state.probing_until) or (
                effect is Effect.WRITE and self._reads_of(circuit.name)
            ):
                return circuit.told(state, now)
        return None

    def all_open(self, now: float) -> list[Down]:
        """Return everything that is down, the longest first."""
        found = [(circuit, circuit.open) for circuit in self._circuits.values() if circuit.open is not None]
        return [circuit.told(state, now) for circuit, state in sorted(found, key=lambda f: f[1].since)]

    # -- one circuit ------------------------------------------------------------------------------------------------

    def _names(self, tool: str) -> tuple[str, ...]:
        group = self._groups.get(tool)
        return (tool,) if group is None else (tool, _of_group(group))

    def _open_circuits(self, tool: str) -> Iterator[tuple[_Circuit, _Open]]:
        for name in reversed(self._names(tool)):  # the service first: it says more
            circuit = self._circuits.get(name)
            if circuit is not None and circuit.open is not None:
                yield circuit, circuit.open

    def _members(self, name: str) -> list[str]:
        return [tool for tool, group in self._groups.items() if _of_group(group) == name]

    def _reads_of(self, name: str) -> set[str]:
        return self._reads.intersection(self._members(name) or (name,))

    def _probed(
        self, circuit: _Circuit, state: _Open, kind: ErrorKind | None, at: float
    ) -> list[CircuitChange]:
        """Take in the end of a call while the circuit is open."""
        if kind is not None:
            failed = state.failed_probes + (at >= state.probe_at)
            wait_s = min(self._settings.first_probe_s * 2.0**failed, self._settings.longest_probe_s)
            # What had begun before it opened tells nothing new: the next probe stays where it is.
            probe_at = at + wait_s if at >= state.probe_at else state.probe_at
            circuit.open = replace(
                state, probe_at=probe_at, kind=kind, failed_probes=failed, successes=0, probing_until=0.0
            )
            return []
        successes = state.successes + 1
        circuit.open = replace(state, successes=successes, probe_at=at, probing_until=0.0)
        if successes < self._settings.successes:
            return []
        down = circuit.told(circuit.open, at)
        for name in (circuit.name, *self._members(circuit.name)):
            self._circuits[name] = _Circuit(name, self._settings)
        return [CircuitChange(False, down, at)]


_GROUP = "group\0"  # no tool's name begins so


def _of_group(group: str) -> str:
    return f"{_GROUP}{group}"
