"""What was read in one conversation that a second source can confirm: the answers, those confirmed, the tools doubted."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from btm.fallback.values import plain
from btm.model import ToolCall
from btm.support.untrusted import text_of

MAX_TEXT = 100_000
"""Characters of an answer beyond which it is not kept, and of all answers that one conversation keeps."""

_MAX_READS = 20
_MAX_ARGUMENTS = 10_000


@dataclass(frozen=True, slots=True)
class SeenRead:
    """A read whose result a second source can confirm. ``size`` is about that of its text."""

    call: ToolCall
    result: Any  # as JSON values: the tool's own object, and what hangs on it, is let go
    digest: str  # of the call and what it gave: another answer to the same call needs its own confirmation
    size: float = 0.0


class Reads:
    """The latest reads of one conversation. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self._seen: deque[SeenRead] = deque(maxlen=_MAX_READS)
        self._confirmed: set[str] = set()
        self._doubted: set[str] = set()
        self._asked: set[str] = set()

    def keep(self, call: ToolCall, result: Any, digest: Callable[[ToolCall, Any], str]) -> None:
        """Take in an answer, named by ``digest``, unless it is too long. The oldest make room."""
        if isinstance(result, str | bytes) and len(result) > MAX_TEXT:
            return
        try:
            values = plain(result)
            size = _size(values) if _size(call.arguments) <= _MAX_ARGUMENTS else math.inf
        except Exception:  # noqa: BLE001 - too large, or an object of the tool's own that may raise anything
            return
        if size > MAX_TEXT:
            return
        self._seen.append(SeenRead(call, values, digest(call, result), size))
        while sum(read.size for read in self._seen) > MAX_TEXT:
            self._seen.popleft()

    def forget(self) -> None:
        """Forget every answer: what was read before a write may rightly read otherwise now."""
        self._seen.clear()

    def confirm(self, digests: Iterable[str]) -> None:
        """Note that these answers need no further second source."""
        self._confirmed.update(digests)

    def ask(self, digests: Iterable[str]) -> bool:
        """Note that the agent was asked to have these answers confirmed; return whether that is new of any."""
        new = set(digests) - self._asked
        self._asked |= new
        return bool(new)

    def doubt(self, tool: str) -> None:
        """Note that an answer of this tool was found wrong."""
        self._doubted.add(tool)

    def unconfirmed(self) -> tuple[SeenRead, ...]:
        """Return the answers that no second source has confirmed, newest first."""
        found = {read.digest: read for read in self._seen if read.digest not in self._confirmed}
        return tuple(reversed(found.values()))

    def doubtful(self, call: ToolCall) -> SeenRead | None:
        """Return what a call just gave, if its tool was found wrong before."""
        if call.tool not in self._doubted or not self._seen:
            return None
        latest = self._seen[-1]
        return latest if latest.call == call and latest.digest not in self._confirmed else None


def _size(value: Any) -> int:
    """Return about how many characters values come to; counting stops where it is too many."""
    size, left = 0, [value]
    while left and size <= MAX_TEXT:
        here = left.pop()
        size += len(here) if isinstance(here, str | bytes) else 8
        if isinstance(here, Mapping):
            left += [*here.keys(), *here.values()]
        elif isinstance(here, list | tuple):
            left += here
    return size


def behind(call: ToolCall, reads: Iterable[SeenRead]) -> tuple[SeenRead, ...]:
    """Return the reads whose values a call uses: they share an argument's value, or the read's result shows one."""
    values = [text for v in scalars_of(call.arguments) if len(text := text_of(v, MAX_TEXT)) > 1]
    return tuple(read for read in reads if _shows(read, values))


def scalars_of(arguments: Mapping[str, Any]) -> Iterable[Any]:
    """Return the texts and numbers among arguments, those in lists too."""
    for value in arguments.values():
        if isinstance(value, list | tuple):
            yield from (v for v in value[:100] if isinstance(v, str | int | float))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield value


def _shows(read: SeenRead, values: Iterable[str]) -> bool:
    text = text_of(read.call.arguments, _MAX_ARGUMENTS) + text_of(read.result, MAX_TEXT)
    return any(value in text for value in values)
