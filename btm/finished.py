"""Which calls were taken in: a call that comes again with the same id is the same call, and counts once.

They are remembered beyond the end of their conversation: a run that is resumed or replayed later makes them again. The
store knows every one; this is what keeps a replay from opening incidents and giving credit in the meantime.
"""

from __future__ import annotations

from collections import OrderedDict

MAX_FINISHED = 65_536
"""Calls that are remembered; beyond them the oldest are forgotten."""


class Finished:
    """The ids of finished calls. Not thread-safe: its owner holds the lock."""

    def __init__(self, limit: int = MAX_FINISHED) -> None:
        self._limit = limit
        self._ids: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add(self, conversation: str, call_id: str) -> None:
        """Note that a call was taken in."""
        self._ids[conversation, call_id] = None
        if len(self._ids) > self._limit:
            self._ids.popitem(last=False)

    def __contains__(self, call: tuple[str, str]) -> bool:
        """Whether a call, given as (conversation, id), was taken in."""
        return call in self._ids

    def __len__(self) -> int:
        return len(self._ids)
