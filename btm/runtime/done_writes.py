"""Writes that answered well, until a read shows whether they happened: some services say yes and do nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.model import Attempt, ErrorKind, Outcome, ToolCall

_MOST = 20


@dataclass(frozen=True, slots=True)
class DoneWrite:
    """A write that said it was done at ``at``, the read that shows it, and the attempts as which it counted."""

    call: ToolCall
    at: float
    check: Step
    attempts: tuple[Attempt, ...] = ()


class DoneWrites:
    """The latest such writes of one conversation. Not thread-safe: its owner holds the lock."""

    def __init__(self, fallback_map: FallbackMap) -> None:
        self._map = fallback_map
        self._kept: deque[DoneWrite] = deque(maxlen=_MOST)

    def keep(self, call: ToolCall, at: float, attempts: Iterable[Attempt] = ()) -> None:
        """Take in a write that answered well, if the map says what shows that it happened.

        A later write about the same thing may rightly leave it otherwise: earlier ones are let go.
        """
        entry = self._map.tools.get(call.tool)
        check = self._map.verifier(call, {})
        if check is not None:
            self._let_go(check)
        if check is not None and entry is not None and entry.verify is not None and entry.verify.done_when:
            self._kept.append(DoneWrite(call, at, check, tuple(attempts)))

    def undone(self, call: ToolCall, begun_at: float, result: Any) -> DoneWrite | None:
        """Hold a read that began after them against the writes that it shows; return one that did not happen."""
        for write in reversed(self._kept):
            if write.check.tool != call.tool or begun_at < write.at or not _agrees(write.check, call):
                continue
            done = self._map.done(write.call, result)
            if done is None:
                continue
            self._kept.remove(write)
            return None if done else write
        return None

    def _let_go(self, check: Step) -> None:
        for write in [w for w in self._kept if _same(w.check, check)]:
            self._kept.remove(write)


def undone_outcome(write: DoneWrite, by: ToolCall) -> Outcome:
    """Return what came of a write that answered well and, as ``by`` shows, did nothing."""
    return Outcome(
        ErrorKind.FACTUAL_ERROR,
        silent=True,
        confidence=0.9,
        detail=f"{write.call.tool} answered well, but {by.tool} does not show it done",
        reason=f"{by.tool} does not show that it was done",
        rule="not_done",
    )


def _same(one: Step, other: Step) -> bool:
    return one.tool == other.tool and dict(one.arguments or {}) == dict(other.arguments or {})


def _agrees(check: Step, call: ToolCall) -> bool:
    return all(call.arguments.get(name, value) == value for name, value in (check.arguments or {}).items())
