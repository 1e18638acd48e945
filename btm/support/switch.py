"""The off switch: while btm is off, every call passes as if btm were not there, and nothing is learned."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "BTM_DISABLED"
"""Environment variable that turns btm off: any value but ``""`` and ``"0"``."""

_lock = threading.Lock()
_off = 0  # how many blocks are inside inactive()


def disabled_by_environment() -> bool:
    """Whether the environment turns btm off."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def is_active() -> bool:
    """Whether btm does anything."""
    return not _off and not disabled_by_environment()


@contextmanager
def inactive() -> Iterator[None]:
    """Turn btm off in the whole process (all threads and tasks) until the block ends. Blocks may be nested."""
    global _off  # noqa: PLW0603 - one switch for the process is what this is
    with _lock:
        _off += 1
    try:
        yield
    finally:
        with _lock:
            _off -= 1
