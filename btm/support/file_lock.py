"""A lock on an open file that ends with its process, however that ends."""

from __future__ import annotations

import sys
from typing import IO

if sys.platform == "win32":
    import msvcrt

    _FAR = 2**40  # what lies there is never written: on Windows a lock keeps others from reading

    def try_lock(file: IO[bytes]) -> bool:
        """Lock a file for this process alone, without waiting; return whether that worked."""
        file.seek(_FAR)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            file.seek(0)
        return True

else:
    import fcntl

    def try_lock(file: IO[bytes]) -> bool:
        """Lock a file for this process alone, without waiting; return whether that worked."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
