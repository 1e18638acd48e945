"""An alarm for what never went wrong before: ``ToolMemory.open("btm.db", hooks=[NoveltyAlarm("btm.db")])``.

A memory without hooks of its own has one that knows what failed since it was opened.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from pathlib import Path

from btm.errors import StoreError
from btm.events import IncidentOpened
from btm.model import ErrorKind, Incident
from btm.store.sql import SqlStore
from btm.support.signatures import FailureSignature, signature

_log = logging.getLogger("btm")

AN_HOUR = 20
"""Alarms an hour, at most: an outage does not call a thousand times. Those left out are counted in the next one."""

_HOUR_S = 3_600.0
_MOST_KNOWN = 50_000


class NoveltyAlarm:
    """A hook that tells each failure of a tool whose signature was never seen before, once.

    ``database`` is what was seen until now (None: nothing). With ``kinds_after``, less is told: what btm cannot name,
    and, of a tool that failed that many times since this was made, each kind of failure that it did not have among
    them. ``tell`` gets the signature and how many alarms were left out before it (default: a WARNING on the logger
    ``btm``). Thread-safe.
    """

    def __init__(
        self,
        database: str | Path | None = None,
        *,
        kinds_after: int | None = None,
        tell: Callable[[FailureSignature, int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell or _warn
        self._kinds_after = kinds_after
        self._failures: Counter[str] = Counter()
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._told: deque[float] = deque()
        self._left_out = 0
        if database is not None and ("://" in str(database) or Path(database).exists()):
            self._learn(database)

    def _learn(self, database: str | Path) -> None:
        try:
            store = SqlStore(database, read_only=True)
        except StoreError as error:
            _log.warning("what failed before is not known, and may be told as new: %s", error)
            return
        try:
            self.know(signature(*row) for row in store.failures())
        finally:
            store.close()

    def know(self, signatures: Iterable[FailureSignature]) -> None:
        """Take in what is not new."""
        with self._lock:
            for found in signatures:
                self._note(found.digest)

    def _note(self, name: str) -> bool:
        """Note what fails; return whether it is new."""
        new = name not in self._known
        self._known[name] = None
        self._known.move_to_end(name)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return new

    def _count(self, tool: str) -> int:
        """Count a failure of a tool; return how many there were before."""
        before = self._failures.pop(tool, 0)
        self._failures[tool] = before + 1
        if len(self._failures) > _MOST_KNOWN:
            del self._failures[next(iter(self._failures))]
        return before

    def __call__(self, event: object) -> None:
        """Take an event."""
        if not isinstance(event, IncidentOpened):
            return
        incident = event.incident
        tool = incident.tool
        by_kind = self._kinds_after is not None and incident.kind is not ErrorKind.UNKNOWN
        # Most failures are known by their kind: the text is read only of what is told.
        name = f"{tool}\0{incident.kind}" if by_kind else _of(incident).digest
        with self._lock:
            early = self._count(tool) < (self._kinds_after or 0)
            if not self._note(name) or (by_kind and early):
                return
            now = self._clock()
            while self._told and now - self._told[0] >= _HOUR_S:
                self._told.popleft()
            if len(self._told) >= AN_HOUR:
                self._left_out += 1
                return
            self._told.append(now)
            left_out, self._left_out = self._left_out, 0
        self._tell(_of(incident), left_out)


def _of(incident: Incident) -> FailureSignature:
    return signature(incident.tool, incident.kind, incident.outcome.rule, incident.outcome.detail)


def _warn(found: FailureSignature, left_out: int) -> None:
    more = f" (and {left_out} more kinds since the last one)" if left_out else ""
    _log.warning(
        "%s failed as %s in a way never seen: %s%s",
        found.tool,
        found.kind,
        found.template or found.rule,
        more,
    )
