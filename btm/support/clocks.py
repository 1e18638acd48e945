"""A reliable clock: it gives a time even when the one that it reads fails."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from btm.support.untrusted import text_of

_log = logging.getLogger("btm")

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
