"""A clock that moves only when it is told to: an evaluation of an hour of waiting takes no time."""

from __future__ import annotations

import math

START = 1_767_225_600.0
"""2026-01-01T00:00:00Z, where a virtual clock starts unless told otherwise (seconds since the epoch)."""


class VirtualClock:
    """Time of one episode. Hand ``clock.time`` and ``clock.sleep`` to whatever would use the real ones."""

    def __init__(self, start: float = START) -> None:
        self._start = start
        self._now = start

    def time(self) -> float:
        """Return seconds since the epoch."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass at once. Raises ValueError for a negative or unbounded time, as a real wait would."""
        if not (seconds >= 0 and math.isfinite(seconds)):
            raise ValueError(f"cannot wait {seconds} seconds")
        self._now += seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._now - self._start
