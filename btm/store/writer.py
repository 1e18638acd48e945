"""Write-behind: the agent's thread hands events over, a thread of its own writes them.

If the store fails, events wait in a bounded buffer and are tried again with the next ones; when the buffer is full
the oldest are dropped. One warning is logged when the trouble begins and one line when it ends.
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Sequence

from btm.errors import StoreError
from btm.store import CallEvent, Event, Store
from btm.support.forks import go_on_in_children

_log = logging.getLogger("btm")

BUFFER = 10_000
"""Events that wait, at most, while the store is failing."""

_BATCH = 500
_LINGER_S = 0.01  # events that come close together share a transaction
_RETRY_S = 1.0


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

    ``on_duplicates`` is told (on the writer's thread) which events the store had already.
    """

    def __init__(
        self, store: Store, on_duplicates: Callable[[Sequence[CallEvent]], None] | None = None
    ) -> None:
        self._store = store
        self._on_duplicates = on_duplicates
        self._closed = False
        self._start_over()
        go_on_in_children(self)

    def after_fork(self) -> None:
        """Start with nothing in hand: what waited is the parent's to write."""
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
        self._lost = 0  # dropped since the last flush
        self._failing = False

    # -- the agent's side -------------------------------------------------------------------------------------------

    def put(self, item: Event) -> None:
        """Hand over an event; returns at once."""
        with self._lock:
            self._accepted += 1
            self._pending.append(item)
            if len(self._pending) > BUFFER:
                self._pending.popleft()
                self._drop(1)
        if not self._wake.is_set():
            self._start()
            self._wake.set()

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until everything handed over before is written; return whether all of it, since the last flush, is."""
        with self._lock:
            marker = _Marker(self._accepted)
            if self._settled == self._accepted:
                return self._nothing_lost()
            self._markers.append(marker)
        if not self._start():
            return False
        self._hurry.set()
        self._wake.set()
        marker.done.wait(timeout_s)
        return marker.written

    def close(self) -> bool:
        """Write what is left and end the thread; return whether everything was written."""
        written = self.flush()
        self._closed = True
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._hurry.set()
            self._wake.set()
            thread.join(timeout=30.0)
        left = self._accepted - self._settled
        if left:
            _log.warning("the memory was closed with %d events that could not be written", left)
        return written and not left

    def _start(self) -> bool:
        """Start the thread if there is none; return whether there is one now."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return True
            if self._closed:
                return False
            self._thread = threading.Thread(target=self._run, name="btm-writer", daemon=True)
            self._thread.start()
        atexit.register(_flush_at_exit, weakref.ref(self))
        return True

    # -- the writer's side ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            if self._failing:
                self._hurry.wait(_RETRY_S)
            else:
                self._wake.wait()
                self._hurry.wait(_LINGER_S)
            self._wake.clear()
            self._hurry.clear()
            with self._lock:
                waiting = list(self._markers)  # who comes later waits for a try that begins later
            while self._take() and self._write():
                pass
            if self._closed:
                self._disappoint(self._markers)
                return
            if self._failing:
                self._disappoint(waiting)

    def _take(self) -> bool:
        """Take waiting events in hand; return whether there are any. Tell those whose events are settled."""
        with self._lock:
            while self._pending and len(self._in_hand) < _BATCH:
                self._in_hand.append(self._pending.popleft())
            settled = [marker for marker in self._markers if marker.number <= self._settled]
            self._markers = [marker for marker in self._markers if marker.number > self._settled]
            written = self._nothing_lost() if settled else True
        for marker in settled:
            marker.tell(written)
        return bool(self._in_hand)

    def _disappoint(self, waiting: Collection[_Marker]) -> None:
        """Let nobody wait for a store that fails."""
        with self._lock:
            told = [marker for marker in self._markers if marker in waiting]
            self._markers = [marker for marker in self._markers if marker not in waiting]
        for marker in told:
            marker.tell(written=False)

    def _write(self) -> bool:
        """Write what is in hand; return whether the store took it."""
        left: list[Event] = []
        try:
            duplicates = list(self._store.write(self._in_hand))
        except StoreError as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001 - the agent goes on whatever the store's driver raises
            singly = self._write_singly()
            if singly is None:
                return self._failed(error)
            duplicates, left = singly
            if left:
                _log.warning("%d events cannot be stored and are dropped (%s)", len(left), _words(error))
        with self._lock:
            self._settled += len(self._in_hand) - len(left)
            self._drop(len(left))
            self._in_hand = []
        if self._failing:
            _log.warning("the store can be written again; waiting events are being written")
        self._failing = False
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
        if not self._failing:
            _log.warning(
                "the store cannot be written (%s); up to %d events wait in memory", _words(error), BUFFER
            )
        self._failing = True
        return False

    def _tell_duplicates(self, duplicates: Sequence[CallEvent]) -> None:
        if not duplicates or self._on_duplicates is None:
            return
        try:
            self._on_duplicates(duplicates)
        except Exception:  # noqa: BLE001 - the writer goes on
            _log.warning("taking back what was learned twice failed", exc_info=True)

    # -- counting, with the lock held -------------------------------------------------------------------------------

    def _drop(self, number: int) -> None:
        self._settled += number
        self._lost += number

    def _nothing_lost(self) -> bool:
        lost, self._lost = self._lost, 0
        return lost == 0


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _flush_at_exit(reference: weakref.ref[WriteBehind]) -> None:
    writer = reference()
    if writer is not None:
        writer.flush(timeout_s=5.0)
