"""The injector: stands between an agent and a session's tools, and makes calls fail as a plan says."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from btm.lab.faults.clock import VirtualClock
from btm.lab.faults.corrupt import Aim, corrupt
from btm.lab.faults.draw import Draw
from btm.lab.faults.errors import make_error
from btm.lab.faults.kinds import RAISED
from btm.lab.faults.plan import Fault, FaultPlan, Site
from btm.lab.faults.shape import Shapes
from btm.model import ErrorKind
from btm.support.untrusted import tool_name

_log = logging.getLogger("btm")

Invoke = Callable[[str, Mapping[str, Any]], Any]
"""Runs a tool by name: returns its result or raises."""

TIMEOUT_S = 10.0
"""How long a call that times out keeps its caller waiting."""


@dataclass(frozen=True, slots=True)
class InjectedCall:
    """One call that reached the injector, in order.

    ``fault`` is what was injected, ``failed`` says that the agent got an error or a wrong result, ``happened`` that
    the tool itself ran to its end, ``took_s`` is simulated time.
    """

    site: Site
    arguments: Mapping[str, Any]
    fault: ErrorKind | None
    failed: bool
    happened: bool
    took_s: float


class Injector:
    """Wraps the call function of a session for one episode; ``calls`` is the record of what went through it.

    ``skipped`` counts, by tool and kind, the faults that were left out because an answer had no place for them;
    ``tell`` logs a warning for the first of each. ``wait`` is called with the seconds that a fault delays a call: for
    tools that are not simulated.

    ``budget`` is the most faults it injects (None: no bound). Calls take simulated time on ``clock``: 0.05 to 0.4
    seconds by tool, and ``TIMEOUT_S`` for a timeout.
    """

    def __init__(
        self,
        invoke: Invoke,
        plan: FaultPlan,
        *,
        shapes: Shapes | None = None,
        clock: VirtualClock | None = None,
        budget: int | None = None,
        tell: bool = True,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        self._invoke = invoke
        self._plan = plan
        self._shapes = shapes or Shapes()
        self._clock = clock or VirtualClock()
        self._budget = budget
        self._tell = tell
        self._wait = wait
        self._seen: Counter[tuple[str, str]] = Counter()
        self._failing: set[tuple[str, str]] = set()
        self._repaired: set[tuple[str, str]] = set()
        self.calls: list[InjectedCall] = []
        self.skipped: Counter[tuple[str, ErrorKind]] = Counter()

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool, or let it fail. Raises the tool's own exception or an injected one."""
        site = self._site(tool, arguments)
        fault = self._plan.fault(site) if self._budget != 0 else None
        started = self._clock.time()
        delay_s = fault.delay_s if fault is not None else 0.0
        self._clock.sleep(_latency(tool, fault) + delay_s)
        if delay_s > 0 and self._wait is not None:
            self._wait(delay_s)
        if (
            fault is not None
            and fault.kind is not None
            and (fault.kind in RAISED or fault.error)
            and fault.instead is None
        ):
            happened = fault.after and self._happens(tool, arguments)
            self._record(site, arguments, fault.kind, failed=True, happened=happened, started=started)
            raise fault.error or make_error(fault.kind, tool, fault.draw)
        if fault is not None and fault.undone:
            self._record(site, arguments, fault.kind, failed=True, happened=False, started=started)
            return fault.instead
        garbled = fault is not None and fault.kind is ErrorKind.MALFORMED and fault.instead is None
        if fault is not None and garbled and not self._reaches(fault, tool):
            self._record(site, arguments, fault.kind, failed=True, happened=False, started=started)
            return corrupt(ErrorKind.MALFORMED, {}, Aim(fault.draw))
        return self._run(site, arguments, fault, started)

    def foresee(self, tool: str, arguments: Mapping[str, Any], calls: int) -> tuple[Fault | None, ...]:
        """Return what the next so many identical calls would fail of: for those who may know. Nothing is called."""
        if self._budget == 0:
            return (None,) * calls
        site = Site.of(tool, arguments)
        name = (site.tool, site.fingerprint)
        first = self._seen[name] + 1
        met = (
            self._plan.fault(replace(site, nth=n, repaired=name in self._repaired))
            for n in range(first, first + calls)
        )
        return tuple(fault if fault is not None and fault.kind is not None else None for fault in met)

    def _reaches(self, fault: Fault, tool: str) -> bool:
        # A proxy's page instead of an answer: a write behind it may or may not have run. A read does no harm.
        return fault.after or not self._shapes.of(tool).writes

    def _run(self, site: Site, arguments: Mapping[str, Any], fault: Fault | None, started: float) -> Any:
        try:
            result = self._invoke(site.tool, arguments)
        except Exception:
            self._record(site, arguments, None, failed=True, happened=False, started=started)
            raise
        if fault is not None and fault.change is not None:
            result = fault.change(result)
        wrong = self._corrupted(site, fault, result)
        kind = fault.kind if fault is not None and wrong is not None else None
        self._record(site, arguments, kind, failed=kind is not None, happened=True, started=started)
        if site.tool in self._shapes.repairs:
            self._repaired |= self._failing
        return result if wrong is None else wrong

    def _corrupted(self, site: Site, fault: Fault | None, result: Any) -> Any | None:
        if fault is None or fault.kind is None:
            return None
        if fault.instead is not None:
            return fault.instead
        aim = Aim(fault.draw, self._shapes.of(site.tool), fault.used, self._clock.time())
        wrong = corrupt(fault.kind, result, aim)
        if wrong is None:
            self._skip(site.tool, fault.kind)
        return wrong

    def _skip(self, tool: str, kind: ErrorKind) -> None:
        """Note that an answer has no place for a fault; say so once."""
        if self._tell and (tool, kind) not in self.skipped:
            _log.warning("an answer of %s has no place for %s: the fault was left out", tool_name(tool), kind)
        self.skipped[tool, kind] += 1

    def _site(self, tool: str, arguments: Mapping[str, Any]) -> Site:
        site = Site.of(tool, arguments)
        name = (site.tool, site.fingerprint)
        self._seen[name] += 1
        return Site(tool, site.fingerprint, self._seen[name], name in self._repaired, len(self.calls) + 1)

    def _happens(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        try:
            self._invoke(tool, arguments)
        except Exception:  # noqa: BLE001 - the answer is lost, whatever it was: the caller gets the injected error
            return False
        return True

    def _record(
        self,
        site: Site,
        arguments: Mapping[str, Any],
        kind: ErrorKind | None,
        *,
        failed: bool,
        happened: bool,
        started: float,
    ) -> None:
        if kind is not None and self._budget is not None:
            self._budget -= 1
        name = (site.tool, site.fingerprint)
        (self._failing.add if failed else self._failing.discard)(name)
        took = self._clock.time() - started
        self.calls.append(InjectedCall(site, dict(arguments), kind, failed, happened, took))

    @property
    def identical_repeats(self) -> int:
        """Calls that repeated, unchanged, a call whose latest try had failed."""
        return sum(self._repeats().values())

    @property
    def longest_loop(self) -> int:
        """The most often that one call was repeated, unchanged, after it had failed."""
        return max(self._repeats().values(), default=0)

    def _repeats(self) -> Counter[tuple[str, str]]:
        latest: dict[tuple[str, str], bool] = {}
        repeats: Counter[tuple[str, str]] = Counter()
        for made in self.calls:
            name = (made.site.tool, made.site.fingerprint)
            repeats[name] += latest.get(name, False)
            latest[name] = made.failed
        return repeats


def _latency(tool: str, fault: Fault | None) -> float:
    if fault is not None and fault.kind is ErrorKind.TIMEOUT:
        return TIMEOUT_S
    return round(Draw(("latency", tool)).between(0.05, 0.4), 3)
