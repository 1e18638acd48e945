"""What is kept of an arm's memory when its run is over: its strongest beliefs, and incidents worth telling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from btm.lab.request import IncidentReplay
from btm.lab.story import Story, lines, most_telling
from btm.learning.posterior import BetaPosterior
from btm.model import EvidenceKey

STRONGEST = 12
Learned = tuple[EvidenceKey, BetaPosterior]


@dataclass
class Kept:
    """Looks at each arm before it is closed; those without a memory leave nothing."""

    learned: dict[str, tuple[Learned, ...]] = field(default_factory=dict)
    replays: list[IncidentReplay] = field(default_factory=list)

    def look(self, arm: Any) -> None:
        """Keep what an arm's memory has come to."""
        memory = getattr(arm, "memory", None)
        if memory is None:
            return
        self.learned[arm.name] = strongest(memory.beliefs(), STRONGEST)
        scenarios = dict.fromkeys(story.scenario for story in arm.stories)
        for scenario in scenarios:
            self.replays += _told(arm.name, (s for s in arm.stories if s.scenario == scenario))


def _told(arm: str, stories: Iterable[Story]) -> list[IncidentReplay]:
    story = most_telling(stories)
    if story is None:
        return []
    told = tuple(lines(story.handled.trail))
    return [IncidentReplay(arm, str(story.scenario), story.task_id, story.request, told)]


def strongest(beliefs: Sequence[Learned], most: int) -> tuple[Learned, ...]:
    """Return the beliefs with most evidence of their own; among equals the surest first."""
    return tuple(sorted(beliefs, key=lambda b: (-b[1].n, b[1].high - b[1].low, b[0]))[:most])
