"""How btm keeps out of the agent's way: its own failures are logged once, its clock always tells a time, it can be off."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TypeVar

from btm.support.process_state import kept
from btm.support.untrusted import text_of

_log = logging.getLogger("btm")
_MOST_SAID = 500
_said: set[tuple[str, str]] = kept(
    __name__, set(), most=_MOST_SAID
)  # parts and errors that were logged already

T = TypeVar("T")
Asked = TypeVar("Asked")
Given = TypeVar("Given")


def safely(function: Callable[..., T], *arguments: object) -> T | None:
    """Run one of btm's own parts; if it fails, return None and log a warning, one for each kind of failure."""
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in btm, the agent goes on
        _complain(getattr(function, "__qualname__", type(function).__name__), error)
        return None


def carefully(part: str, steps: Generator[Asked, Given, T], instead: T) -> Generator[Asked, Given, T]:
    """Run steps of btm's own; if they fail, answer ``instead`` and log a warning as :func:`safely` does.

    What a tool raises comes into the steps as a reply, so whatever they raise is btm's own.
    """
    try:
        return (yield from steps)
    except Exception as error:  # noqa: BLE001 - as above
        _complain(part, error)
        return instead


def _complain(part: str, error: Exception) -> None:
    # A part that fails at every call must not fill the log.
    what = part, f"{type(error).__name__}: {text_of(error, 200)}"
    level = logging.DEBUG if what in _said else logging.WARNING
    if len(_said) < _MOST_SAID:
        _said.add(what)
    _log.log(level, "btm's own %s failed; the tool's answer passes unchanged", part, exc_info=error)


# -- the off switch --------------------------------------------------------------------------------------------------

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


# -- the clock -------------------------------------------------------------------------------------------------------

FARTHEST_S = 1e11
"""Epoch seconds beyond which a reading is none: the year 5138. A clock that counts milliseconds is beyond it."""


class SteadyClock:
    """The time in epoch seconds, always a finite number.

    A reading that is none (NaN, an infinity, no number, too far off, or an exception) would spoil every sum it is
    added to and every row it is written in. The latest good one stands in for it, or the system's time where there
    was none, and one warning is logged.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._latest: float | None = None
        self._said = False

    def __call__(self) -> float:
        """Return the time."""
        try:
            read = self._clock()
            now = float(read)
        except Exception as error:  # noqa: BLE001 - a user's clock may raise anything
            return self._instead(f"raised {type(error).__name__}: {text_of(error, 200)}")
        if not -FARTHEST_S < now < FARTHEST_S:  # NaN is on no side
            return self._instead(f"gave {text_of(read, 50)}, and not epoch seconds")
        self._latest = now
        return now

    def _instead(self, problem: str) -> float:
        if not self._said:
            self._said = True
            _log.warning("the clock %s; the latest time that it gave is used", problem)
        return self._latest if self._latest is not None else time.time()


def is_time(value: float) -> bool:
    """Whether a number can be a moment in epoch seconds; 0 stands for none."""
    return value != 0.0 and math.isfinite(value) and abs(value) < FARTHEST_S
