"""Time that moves only when told."""

from __future__ import annotations


class ManualClock:
    """A clock for ``ToolMemory.open(clock=clock, sleep=clock.sleep, asleep=clock.asleep)``: waits take no time.

    ``now`` is in epoch seconds and may be set; ``slept`` holds every wait in seconds, in order.
    """

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move on at once."""
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        """Move on at once, awaited."""
        self.sleep(seconds)
