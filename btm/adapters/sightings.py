"""What the tools of one call gave, next to what the core was shown of it, so that the original goes back."""

from __future__ import annotations

from typing import Any

from btm.runtime.drivers import Handled

NO_RESULT = object()
"""Stands for "no tool gave this"."""


class Sightings:
    """The pairs of one call."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Any, Any]] = []

    def note(self, shown: Any, raw: Any) -> None:
        """Keep a pair."""
        self._pairs.append((shown, raw))

    def original(self, handled: Handled) -> Any:
        """Return the result or exception that a tool gave as the core's answer; ``NO_RESULT`` if none did."""
        wanted = handled.error if handled.error is not None else handled.result
        return next((raw for shown, raw in reversed(self._pairs) if shown is wanted), NO_RESULT)
