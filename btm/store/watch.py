"""Reads, every few seconds, how the calls of other processes ended: what is down for one is then known to all."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Sequence

from btm.store import RecentCall, SharedCalls
from btm.support.bounded import BoundedDict
from btm.support.forks import go_on_in_children

_log = logging.getLogger("btm")

EVERY_S = 3.0
"""Seconds from one look to the next."""

_OVERLAP_S = 60.0  # calls are written a little after they end, by clocks that differ
_MOST_SEEN = 8_192


class Watch:
    """Looks into a store from a daemon thread, and hands over the calls that it has not handed over before.

    ``learn`` is a method of an object that this does not keep alive. A store that fails is looked into again at the next
    turn: the writer says so already.
    """

    def __init__(
        self, store: SharedCalls, learn: Callable[[Sequence[RecentCall]], None], now: Callable[[], float]
    ) -> None:
        self._store, self._now = store, now
        self._learn = weakref.WeakMethod(learn)
        self._since = now()
        self._seen: BoundedDict[tuple[str, str], None] = BoundedDict(_MOST_SEEN)
        self._start()
        go_on_in_children(self)

    def after_fork(self) -> None:
        """Go on in a forked child, which has no thread but its own."""
        self._start()

    def _start(self) -> None:
        self._ended = threading.Event()
        if self._store.shared:
            threading.Thread(
                target=_run, args=(weakref.ref(self), self._ended), name="btm-watch", daemon=True
            ).start()

    def look(self) -> None:
        """Look once."""
        learn = self._learn()
        if learn is None:
            self._ended.set()
            return
        now = self._now()
        try:
            found = self._store.recent_calls(max(self._since, now - _OVERLAP_S), now)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises, the agent goes on
            _log.debug("the calls of other processes could not be read", exc_info=error)
            return
        new = [call for call in found if (call.conversation, call.call_id) not in self._seen]
        for call in new:
            self._seen[call.conversation, call.call_id] = None
        if new:
            learn(new)

    def close(self) -> None:
        """Look no more."""
        self._ended.set()


def _run(reference: weakref.ref[Watch], ended: threading.Event) -> None:
    while not ended.wait(EVERY_S):
        watch = reference()
        if watch is None:
            return
        watch.look()
        del watch
