"""Write-behind: the agent's thread hands events over, a thread of its own writes them.

If the store fails, or takes them more slowly than they come, events wait in memory, beyond that in a journal
(:mod:`btm.store.journal`), and are tried again. What even that cannot hold is dropped, counted and said. One warning is
logged when trouble begins and one line when it ends.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MethodType

from btm.errors import StoreError
from btm.store import CallEvent, Event, Store
from btm.store.journal import Journal
from btm.store.troubles import SPREAD
from btm.support.forks import go_on_in_children
from btm.support.process_state import follows_the_living

_log = logging.getLogger("btm")

BUFFER = 10_000
"""Events that wait in memory, at most."""

_BATCH = 500
_LEAST = 100  # however slow the store is: a transaction costs something itself
_LINGER_S = 0.01  # events that come close together share a transaction
_RETRY_S = 1.0
_LONG_S = 0.05  # a transaction that takes longer keeps other writers waiting: the next one is shorter
_AT_EXIT_S = 5.0
_PAUSE_S = 0.002  # between transactions, for who waits

Listener = Callable[[Sequence[CallEvent]], None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How a memory's writing stands: events that wait, events that were lost, and what is wrong with the store.

    ``journal`` is the file in which some wait, if they do. ``trouble`` is empty while the store takes what it is given.
    """

    events: int = 0
    dropped: int = 0
    trouble: str = ""
    journal: str = ""


class _Marker:
    """Somebody waits until the first ``number`` events are settled."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.written = False
        self.done = threading.Event()

    def tell(self, written: bool) -> None:
        self.written = written
        self.done.set()


class WriteBehind:
    """Hands events to a store from a daemon thread. Thread-safe.

    ``on_duplicates`` is told (on the writer's thread) which events the store had already; a method is not kept alive for
    that. ``journal`` is what the names of journals begin with; None: events wait in a file that ends with the process.
    """

    def __init__(
        self, store: Store, on_duplicates: Listener | None = None, journal: Path | None = None
    ) -> None:
        self._queue = _Queue(store, on_duplicates, journal)
        # Who forgets a memory without closing it loses nothing, and keeps nothing of it but the thread that writes.
        weakref.finalize(self, self._queue.stop).atexit = False

    def put(self, item: Event) -> None:
        """Hand over an event; returns at once."""
        self._queue.put(item)

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until everything handed over before is in the store; return whether all of it, since the start, is.

        False for good once an event was lost: :meth:`waiting` counts them.
        """
        return self._queue.flush(timeout_s)

    def close(self) -> bool:
        """Write what is left and end the thread; return whether everything, since the start, was written.

        What the store does not take is left to the next memory that opens it, where there is a journal.
        """
        return self._queue.close()

    def waiting(self) -> Waiting:
        """Return how the writing stands."""
        return self._queue.waiting()


class _Queue:
    """The events that wait, and the thread that writes them: it must not hold the memory that they come from."""

    def __init__(self, store: Store, on_duplicates: Listener | None, base: Path | None) -> None:
        self._store = store
        self._listener: Callable[[], Listener | None] = lambda: on_duplicates
        if isinstance(on_duplicates, MethodType):
            self._listener = weakref.WeakMethod(on_duplicates)
        self._closed = False
        self._journal = Journal(base)
        self._start_over()
        go_on_in_children(self)

    def after_fork(self) -> None:
        """Start with nothing in hand: what waited is the parent's to write."""
        self._journal.let_go()
        self._start_over()

    def _start_over(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._pending: deque[Event] = deque()
        self._in_hand: list[Event] = []
        self._markers: list[_Marker] = []
        self._accepted = 0  # events handed over since the start
        self._settled = 0  # of these, written or dropped
        self._dropped = 0
        self._unsaid: str | None = None  # why events were dropped, until it is logged
        self._trouble = ""
        self._size = _BATCH

    # -- the agent's side -------------------------------------------------------------------------------------------

    def put(self, item: Event) -> None:
        with self._lock:
            self._accepted += 1
            if self._closed:
                self._drop(1, "the memory is closed")
                return
            # The older wait in memory, the newer in the journal, so that they are written in their order.
            full = len(self._pending) >= BUFFER or self._journal.waiting
            if not (full and self._journal.append(item)):
                self._pending.append(item)
                if len(self._pending) > BUFFER:
                    self._pending.popleft()
                    self._drop(1, "the store does not take them, and there is no room to let them wait")
        self._say()
        if not self._wake.is_set():
            self._start()
            self._wake.set()

    def flush(self, timeout_s: float) -> bool:
        with self._lock:
            if self._settled == self._accepted:
                return not self._dropped
            marker = _Marker(self._accepted)
            self._markers.append(marker)
        if not self._start():
            return False
        self._hurry.set()
        self._wake.set()
        marker.done.wait(timeout_s)
        return marker.written

    def stop(self) -> None:
        """Have the thread write what is left, once, and end."""
        self._closed = True
        self._hurry.set()
        self._wake.set()

    def close(self) -> bool:
        first = not self._closed
        self.flush(30.0)
        self.stop()
        thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(timeout=30.0)
        if first:
            self.leave_behind("closed")
        with self._lock:
            return self._settled == self._accepted and not self._dropped

    def leave_behind(self, how: str) -> None:
        """Put what could not be written where the next memory finds it, and say so."""
        with self._lock:
            left = self._accepted - self._settled
            rest = [*self._in_hand, *self._pending]
            if not left or not (rest or self._journal.waiting):
                self._journal.close(keep=bool(left))
                return
            # A journal is gone through from its start, so that what was in hand from it is there already.
            lost = sum(not self._journal.append(event) for event in rest) if self._journal.lasts else left
            where = self._journal.path
            self._journal.close(keep=True)
            self._in_hand, self._pending = [], deque()
            if lost:
                self._drop(lost, f"the memory was {how} while the store did not take them ({self._trouble})")
        self._say()
        if left > lost:
            _log.warning(
                "the memory was %s with %d events that could not be written; they wait in %s for the next one that "
                "opens the database",
                how,
                left - lost,
                where,
            )

    def waiting(self) -> Waiting:
        with self._lock:
            path = self._journal.path if self._journal.waiting else None
            left = self._accepted - self._settled
            return Waiting(left, self._dropped, self._trouble, str(path or ""))

    def _start(self) -> bool:
        """Start the thread if there is none; return whether there is one now."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return True
            if self._closed:
                return False
            self._thread = threading.Thread(target=self._run, name="btm-writer", daemon=True)
            self._thread.start()
        _live.add(self)
        _flush_at_end_of_worker(os.getpid())
        return True

    # -- the writer's side ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            if self._trouble:
                self._hurry.wait(_RETRY_S * SPREAD.uniform(0.7, 1.3))
            else:
                self._wake.wait()
                self._hurry.wait(_LINGER_S)
            self._wake.clear()
            self._hurry.clear()
            with self._lock:
                waiting = list(self._markers)  # who comes later waits for a try that begins later
            while self._take() and self._write():
                time.sleep(SPREAD.uniform(0.0, _PAUSE_S))
            self._say()
            if self._closed:
                self._disappoint(self._markers)
                _live.discard(self)
                return
            if self._trouble:
                self._disappoint(waiting)

    def _take(self) -> bool:
        """Take waiting events in hand; return whether there are any. Tell those whose events are settled."""
        with self._lock:
            while self._pending and len(self._in_hand) < self._size:
                self._in_hand.append(self._pending.popleft())
            if not self._in_hand and self._journal.waiting:
                self._take_from_journal()
            settled = [marker for marker in self._markers if marker.number <= self._settled]
            self._markers = [marker for marker in self._markers if marker.number > self._settled]
            written = not self._dropped
        self._say()  # who is told that events were lost finds the reason in the log
        for marker in settled:
            marker.tell(written)
        return bool(self._in_hand)

    def _take_from_journal(self) -> None:
        before = self._journal.waiting
        try:
            self._in_hand = self._journal.take(self._size)
        except OSError as error:
            self._drop(self._journal.waiting, f"their journal cannot be read ({error})")
            self._journal.close(keep=False)
            return
        unread = before - self._journal.waiting - len(self._in_hand)
        if unread:
            self._drop(unread, "their journal is damaged")

    def _disappoint(self, waiting: Collection[_Marker]) -> None:
        """Wake every waiter: the store fails."""
        with self._lock:
            told = [marker for marker in self._markers if marker in waiting]
            self._markers = [marker for marker in self._markers if marker not in waiting]
        for marker in told:
            marker.tell(written=False)

    def _write(self) -> bool:
        """Write what is in hand; return whether the store took it."""
        left: list[Event] = []
        refused = ""
        begun = time.monotonic()
        try:
            duplicates = list(self._store.write(self._in_hand))
        except StoreError as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001 - the agent goes on whatever the store's driver raises
            singly = self._write_singly()
            if singly is None:
                return self._failed(error)
            duplicates, left = singly
            refused = _words(error)
        took_s = time.monotonic() - begun
        self._size = max(self._size // 2, _LEAST) if took_s > _LONG_S else min(self._size * 2, _BATCH)
        with self._lock:
            self._settled += len(self._in_hand) - len(left)
            if left:
                self._drop(len(left), f"they are what no store can take ({refused})")
            self._in_hand = []
            if not self._journal.waiting:
                self._journal.settle()
        if self._trouble:
            _log.warning("the store can be written again; waiting events are being written")
        self._trouble = ""
        self._tell_duplicates(duplicates)
        return True

    def _write_singly(self) -> tuple[list[CallEvent], list[Event]] | None:
        """Write what is in hand one by one, to find an event that no store can take; return the duplicates and those.

        None when nothing can be written: then it is the store that fails, and not an event.
        """
        duplicates: list[CallEvent] = []
        left: list[Event] = []
        for tried, item in enumerate(self._in_hand, start=1):
            try:
                duplicates += self._store.write([item])
            except Exception:  # noqa: BLE001 - as above
                left.append(item)
            if len(left) == tried == min(2, len(self._in_hand)):
                return None
        return duplicates, left

    def _failed(self, error: Exception) -> bool:
        first, self._trouble = not self._trouble, _words(error)
        if first:
            _log.warning(
                "the store cannot be written (%s); up to %d events wait in memory, and more in a journal",
                self._trouble,
                BUFFER,
            )
        return False

    def _tell_duplicates(self, duplicates: Sequence[CallEvent]) -> None:
        listener = self._listener()
        if not duplicates or listener is None:
            return
        try:
            listener(duplicates)
        except Exception:  # noqa: BLE001 - the writer goes on
            _log.warning("taking back what was learned twice failed", exc_info=True)

    def _say(self) -> None:
        """Log the first drop: the others are counted."""
        why, self._unsaid = self._unsaid, None
        if why is not None:
            _log.warning("events are dropped: %s; the memory counts them", why)

    def _drop(self, number: int, why: str) -> None:
        """Count lost events, with the lock held."""
        if not self._dropped:
            self._unsaid = why
        self._settled += number
        self._dropped += number


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


_live: weakref.WeakSet[_Queue] = follows_the_living(__name__, weakref.WeakSet())


@lru_cache(maxsize=1)  # once in a process
def _flush_at_end_of_worker(pid: int) -> None:  # noqa: ARG001 - a child is another process, whose parent saw to its own end
    """Have :mod:`multiprocessing` see to it, in a worker of its own: it ends forked ones without Python's shutdown."""
    process, util = (sys.modules.get(f"multiprocessing.{name}") for name in ("process", "util"))
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _flush_at_exit, exitpriority=0)


@atexit.register
def _flush_at_exit() -> None:
    for queue in list(_live):
        if not queue.flush(timeout_s=_AT_EXIT_S):
            queue.leave_behind("left open at the end")
