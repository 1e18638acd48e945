"""The end of what a server writes to stderr: where one keeps the reason of a failure to itself, it stands there."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

_KEPT = 32_000
_REASON_LIMIT = 400
_ANSI = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_FRAME = re.compile(r"^[\s│┃|]*|[\s│┃|]*$")
# "ValueError: no such order", "requests.exceptions.Timeout: ...", "Error: connect ECONNREFUSED", "FATAL: ..."
_NAMED = re.compile(r"(?:[\w.]*(?:Error|Exception|Timeout|Interrupt)\w*|FATAL|PANIC|panic|fatal)(?::| \[).+")
_SAYS_NOTHING = re.compile(r"error (executing|calling) tool", re.IGNORECASE)


class StderrWatch:
    """What came during one call. Nothing is told while other calls ran too: it may be theirs."""

    def __init__(self, tail: StderrTail, start: int, alone: bool) -> None:
        self._tail = tail
        self._start = start
        self.alone = alone

    def reason(self) -> str:
        """Return the line that says most about a failure, ``""`` where there is none."""
        return reason_in(self._tail.since(self._start)) if self.alone else ""


class StderrTail:
    """A file for a process to write to: what comes is passed on to this process's stderr, and the end of it kept."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._reading, writing = os.pipe()
        self.file = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        self._lock = threading.Lock()
        self._kept = bytearray()
        self._total = 0
        self._watches: list[StderrWatch] = []
        self._thread = threading.Thread(target=self._read, name="btm-stderr", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._reading, 65_536)
            except OSError:
                return
            if not piece:
                return
            with self._lock:
                self._kept += piece
                self._total += len(piece)
                del self._kept[:-_KEPT]
            with suppress(OSError, ValueError):  # nobody may be left to read it
                out = self._out or sys.stderr
                out.write(piece.decode("utf-8", "replace"))
                out.flush()

    def since(self, start: int) -> str:
        """Return what came after the first ``start`` bytes, as far as it is kept."""
        with self._lock:
            length = min(self._total - start, len(self._kept))
            piece = bytes(self._kept[len(self._kept) - length :]) if length > 0 else b""
        return _ANSI.sub(b"", piece).decode("utf-8", "replace")

    @contextmanager
    def watch(self) -> Iterator[StderrWatch]:
        """StderrWatch what comes during a call."""
        with self._lock:
            watch = StderrWatch(self, self._total, not self._watches)
            for other in self._watches:
                other.alone = False
            self._watches.append(watch)
        try:
            yield watch
        finally:
            with self._lock:
                self._watches.remove(watch)

    def close(self) -> None:
        """Close our end for writing; the thread ends with the last process that has it."""
        with suppress(OSError):
            self.file.close()


def reason_in(text: str) -> str:
    """Return the line of a process's log that names an error: the first of a chain, whose cause stands first in Python.

    Without one: the last line that is not empty. Frames that loggers draw around tracebacks are taken off.
    """
    lines = [line for line in (_FRAME.sub("", raw) for raw in text.splitlines()) if line]
    named = [line for line in lines if _NAMED.match(line) and not _SAYS_NOTHING.search(line)]
    return (named or lines[-1:] or [""])[0][:_REASON_LIMIT]
