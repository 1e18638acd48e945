"""Opening files to read that somebody names: a pipe among them is waited for, but not for ever."""

from __future__ import annotations

import errno
import os
import stat
import threading
from concurrent.futures import Future
from contextlib import suppress
from io import FileIO
from pathlib import Path

WAIT_S = 10.0
"""How long a named pipe is waited for until somebody opens it to write."""


def open_to_read(path: str | Path) -> FileIO:
    """Open a file, without a buffer. Raises OSError, TimeoutError for a named pipe that nobody writes."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return FileIO(path)
    opened: Future[FileIO] = Future()

    def wait() -> None:
        try:
            file = FileIO(path)  # returns when a writer is there
        except OSError as error:
            if opened.set_running_or_notify_cancel():
                opened.set_exception(error)
            return
        if opened.set_running_or_notify_cancel():
            opened.set_result(file)
        else:
            file.close()

    threading.Thread(target=wait, name="btm-pipe", daemon=True).start()
    try:
        return opened.result(WAIT_S)
    except TimeoutError:
        if not opened.cancel():
            return opened.result()  # it came at the last moment
        with suppress(OSError):  # a writer for a moment: then the thread ends
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        raise TimeoutError(errno.ETIMEDOUT, "this is a pipe, and nobody writes into it", str(path)) from None


def read_whole(path: str | Path) -> bytes:
    """Return what a file holds. Raises as :func:`open_to_read` does."""
    with open_to_read(path) as file:
        return file.readall()
