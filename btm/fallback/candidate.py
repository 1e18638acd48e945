"""What a map offers for a failed call: one substitute, repair or check, with its arguments filled as far as may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.model import NO_ARGUMENTS


@dataclass(frozen=True, slots=True)
class Candidate:
    """One call that the map offers.

    ``arguments`` are those that the map could fill, ``missing`` names those that the agent must supply.
    ``coverage`` in (0, 1] says how much of what was wanted it gives; ``latency_s`` is 0 when unknown.
    For a composition ``via`` names all of its tools in order and ``tool`` is the first: the later calls come from
    :meth:`btm.fallback.FallbackMap.next_step`, and only the last result stands for the failed tool's.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: NO_ARGUMENTS)
    missing: tuple[str, ...] = ()
    coverage: float = 1.0
    gives: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    cost: float = 1.0
    latency_s: float = 0.0
    via: tuple[str, ...] = ()
    pick: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the call can be made as it stands."""
        return not self.missing
