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
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from btm.store import CallEvent, Event, IncidentEvent, Store

_log = logging.getLogger("btm")

BUFFER = 10_000
"""Events that wait, at most, while the store is failing."""

_BATCH = 500
_RETRY_S = 1.0


class WriteBehind:
    """Hands events to a store from a daemon thread.

    ``on_duplicates`` is told (on the writer's thread) which events the store had already.
    """

    def __init__(
        self, store: Store, on_duplicates: Callable[[Sequence[CallEvent]], None] | None = None
    ) -> None:
        self._store = store
        self._on_duplicates = on_duplicates
        self._queue: SimpleQueue[Event | threading.Event | None] = SimpleQueue()
        self._waiting: deque[Event] = deque(maxlen=BUFFER)
        self._failing = False
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        self._closed = False

    def put(self, item: Event) -> None:
        """Hand over an event; returns at once."""
        self._queue.put(item)
        if self._thread is None:
            self._start()

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until everything handed over before is written; return whether it is."""
        if self._thread is None or not self._thread.is_alive():
            return not self._waiting
        done = threading.Event()
        self._queue.put(done)
        return done.wait(timeout_s) and not self._waiting

    def close(self) -> bool:
        """Write what is left and end the thread; return whether everything was written."""
        written = self.flush()
        self._closed = True
        if self._thread is not None and self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(timeout=30.0)
        return written

    def _start(self) -> None:
        with self._start_lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="btm-writer", daemon=True)
                self._thread.start()
                atexit.register(_flush_at_exit, weakref.ref(self))

    def _run(self) -> None:
        while True:
            items = self._next_items()
            self._waiting.extend(item for item in items if isinstance(item, CallEvent | IncidentEvent))
            self._write_waiting()
            for item in items:
                if isinstance(item, threading.Event):
                    item.set()
            if None in items:
                return

    def _next_items(self) -> list[Event | threading.Event | None]:
        """Wait for one item (not for ever, while a failed batch is to be tried again) and take what is there."""
        items: list[Event | threading.Event | None] = []
        try:
            items.append(self._queue.get(timeout=_RETRY_S if self._waiting else None))
            while len(items) < _BATCH:
                items.append(self._queue.get_nowait())
        except Empty:
            pass
        return items

    def _write_waiting(self) -> None:
        batch = list(self._waiting)
        if not batch:
            return
        try:
            duplicates = self._store.write(batch)
        except Exception as error:  # noqa: BLE001 - the agent goes on whatever the store's driver raises
            if not self._failing:
                _log.warning(
                    "the store cannot be written (%s: %s); up to %d events wait in memory",
                    type(error).__name__,
                    str(error)[:200],
                    BUFFER,
                )
            self._failing = True
            return
        if self._failing:
            _log.warning("the store can be written again; %d waiting events were written", len(batch))
        self._failing = False
        self._waiting.clear()
        if duplicates and self._on_duplicates is not None:
            self._on_duplicates(duplicates)


def _flush_at_exit(reference: weakref.ref[WriteBehind]) -> None:
    writer = reference()
    if writer is not None:
        writer.flush(timeout_s=5.0)
