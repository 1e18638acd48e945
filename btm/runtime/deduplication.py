"""Which calls were taken in, and which call is which: the same one that comes again counts once.

A run that is resumed or replayed makes its calls again, with the ids they had. They are remembered beyond the end of their
conversation; the store knows every one, and this is what keeps a replay from opening incidents and giving credit in the
meantime. But many servers number the calls of every turn anew ("0", "call_0"), so the id alone does not tell:

* the same id for another tool, or with other arguments, is another call;
* the same id asked for by another answer of the model (see :class:`~btm.support.call_ids.Turn`) is another call;
* where neither is known to differ, it is the same call.

The first call with an id keeps it as its name; the others get names that are the same in every run.
"""

from __future__ import annotations

from collections import OrderedDict

from btm.support.call_ids import NO_TURN, Turn, name_beside

MAX_FINISHED = 65_536
"""Calls that are remembered; beyond them the oldest are forgotten."""


_Known = tuple[str, str, bool]
"""Of the call that has a name: its fingerprint, the turn that asked, whether it is finished."""

_UNKNOWN: _Known = ("", "", False)


class Finished:
    """The names of calls, and which of them are finished. Not thread-safe: its owner holds the lock."""

    def __init__(self, limit: int = MAX_FINISHED) -> None:
        self._limit = limit
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def name(self, conversation: str, call_id: str, fingerprint: str, turn: Turn = NO_TURN) -> str:
        """Return the name of a call that comes with an id. ``fingerprint`` is that of its tool and arguments."""
        name, asked_by = call_id, turn.name
        if asked_by:
            known = self._known.get((conversation, call_id))
            if turn.repeats or (known is not None and known[1] not in ("", asked_by)):
                name = f"{call_id}@{asked_by}"
        place = conversation, name
        known = self._known.get(place)
        if known is None:
            self._keep(place, (fingerprint, asked_by, False))
            return name
        if asked_by and not known[1] and known[0] == fingerprint:
            self._known[place] = (fingerprint, asked_by, known[2])
        return name_beside(name, fingerprint, known[0])

    def asked_by(self, conversation: str, name: str) -> str | None:
        """Return which answer of the model asked for a call, ``""`` where that is not known, None if it was taken in."""
        _, asked_by, finished = self._known.get((conversation, name), _UNKNOWN)
        return None if finished else asked_by

    def add(self, conversation: str, call_id: str) -> bool:
        """Note that a call was taken in; return whether it had not been before."""
        place = (conversation, call_id)
        fingerprint, asked_by, finished = self._known.get(place, _UNKNOWN)
        if not finished:
            self._keep(place, (fingerprint, asked_by, True))
        return not finished

    def _keep(self, place: tuple[str, str], known: _Known) -> None:
        self._known[place] = known
        if len(self._known) > self._limit:
            self._known.popitem(last=False)

    def __contains__(self, call: tuple[str, str]) -> bool:
        """Whether a call, given as (conversation, name), was taken in."""
        known = self._known.get(call)
        return known is not None and known[2]

    def __len__(self) -> int:
        return len(self._known)
