"""Events that wait in a file because the database does not take them now, and the memory for them is used up.

The file of a process lies beside the database and is locked while the process lives. What a process left there when it
ended is written by the next memory that opens the database: a call that is there already adds nothing, so a file may
be gone through twice.
"""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import IO

from btm.errors import StoreError
from btm.store import Event
from btm.store.event_lines import from_line, to_line
from btm.support.file_lock import try_lock

_log = logging.getLogger("btm")

LIMIT_BYTES = 256 * 2**20
"""What a journal holds, at most: about half a million calls."""

_MARK = ".waiting-"
_AT_ONCE = 500
_CHUNK = 2**18


class Journal:
    """The file of one process, made when it is first needed. Not thread-safe: its owner holds the lock.

    ``base`` is what its name begins with, None for one without a name, which no other process goes on with.
    """

    def __init__(self, base: Path | None) -> None:
        self._base = base
        self._file: IO[bytes] | None = None
        self.path: Path | None = None
        self._read = 0  # bytes that were taken
        self._size = 0
        self.waiting = 0
        """Events that were not taken yet."""

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def lasts(self) -> bool:
        """Whether what waits in it is there when this process has ended."""
        return self._base is not None

    def append(self, event: Event) -> bool:
        """Let an event wait; return whether there was room for it."""
        try:
            line = to_line(event)
            file = self._file or self._make()
            if self._size + len(line) > LIMIT_BYTES:
                return False
            file.seek(self._size)
            file.write(line)
        except (OSError, ValueError):
            return False
        self._size += len(line)
        self.waiting += 1
        return True

    def _make(self) -> IO[bytes]:
        if self._base is None:
            self._file = tempfile.TemporaryFile(buffering=0, prefix="btm-")  # noqa: SIM115 - kept open
            return self._file
        self._base.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._base.with_name(f"{self._base.name}{_MARK}{secrets.token_hex(4)}")
        # Without a buffer, which a forked child would have a copy of and write once more.
        self._file = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "r+b", buffering=0)
        try_lock(self._file)
        self.path = path
        return self._file

    def take(self, number: int) -> list[Event]:
        """Return the next events and go on behind them; they stay in the file until :meth:`settle`."""
        if self._file is None or not self.waiting:
            return []
        self._file.seek(self._read)
        lines = self._lines(number)
        self._read += sum(map(len, lines))
        self.waiting -= len(lines)
        return [event for line in lines if (event := _read(line)) is not None]

    def _lines(self, number: int) -> list[bytes]:
        assert self._file is not None  # noqa: S101 - who calls has looked
        found = b""
        while found.count(b"\n") < number and (part := self._file.read(_CHUNK)):
            found += part
        return found.splitlines(keepends=True)[:number]

    def settle(self) -> None:
        """Note that what was taken is written: an empty journal needs no room."""
        if self._file is not None and self._size and not self.waiting:
            self._file.truncate(0)
            self._read = self._size = 0

    def close(self, *, keep: bool) -> None:
        """Let go of the file; ``keep`` says whether another process is to go on with it."""
        file, path = self._file, self.path
        self._file = self.path = None
        self._read = self._size = self.waiting = 0
        if file is None:
            return
        with suppress(OSError):
            if path is not None and not keep:
                path.unlink()
            file.close()

    def let_go(self) -> None:
        """Forget the file in a forked child: it is the parent's."""
        if self._file is not None:
            self._file.close()
        self._file = self.path = None
        self._read = self._size = self.waiting = 0


def _read(line: bytes) -> Event | None:
    try:
        return from_line(line)
    except (ValueError, TypeError, KeyError):  # cut off when the process or the machine ended
        _log.warning("a line of a journal cannot be read and is left out")
        return None


def left_behind(base: Path) -> Iterator[Path]:
    """Iterate over the journals of other processes, of which some may still run."""
    with suppress(OSError):
        for entry in sorted(os.listdir(base.parent)):
            if entry.startswith(f"{base.name}{_MARK}"):
                yield base.with_name(entry)


def write_what_was_left(base: Path, write: Callable[[Sequence[Event]], object]) -> int:
    """Write what processes left behind that have ended; return how many events that were.

    Raises StoreError when the database takes them no more than it did; they wait on.
    """
    number = 0
    for path in left_behind(base):
        with suppress(FileNotFoundError, PermissionError), open(path, "r+b") as file:
            if not try_lock(file) or not path.exists():
                continue  # its process runs, or another one was quicker
            while lines := list(islice(file, _AT_ONCE)):
                events = [event for line in lines if (event := _read(line)) is not None]
                _write(events, write)
                number += len(events)
            path.unlink()
    return number


def _write(events: Sequence[Event], write: Callable[[Sequence[Event]], object]) -> None:
    try:
        write(events)
    except StoreError:
        raise
    except Exception:  # noqa: BLE001 - one of them is what no database takes
        for event in events:
            try:
                write([event])
            except StoreError:
                raise
            except Exception:  # noqa: BLE001 - as above
                _log.warning("an event of a journal cannot be stored and is left out", exc_info=True)


def journal_of_server(url: str) -> Path:
    """Return where events wait for a database that is no file: in the user's own folder for what programs keep."""
    home = Path(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"))
    return home / "btm" / blake2b(url.encode(), digest_size=8).hexdigest()
