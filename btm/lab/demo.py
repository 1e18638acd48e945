"""The demo: one evaluation of the built-in shop, and what there is to see of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from btm.lab.arms import Arm
from btm.lab.faults.settings import FaultSettings
from btm.lab.kept import Learned, strongest
from btm.lab.memory_arms import MemoryArm
from btm.lab.request import Evaluation, Progress, Request
from btm.lab.runner import evaluate
from btm.lab.story import Story, most_telling
from btm.planning.plan import RecoveryContext

STRONGEST = 5
"""How many posteriors are shown."""


@dataclass(frozen=True)
class Demo:
    """What a demo shows.

    ``story`` is the most telling incident of the run with btm; ``context`` is what a model would be told about that
    incident's error with what is known at the end of the run; ``strongest`` are the posteriors with most evidence.
    """

    evaluation: Evaluation
    database: Path
    story: Story | None
    context: RecoveryContext | None
    strongest: tuple[Learned, ...]


def run_demo(seed: int, database: Path, progress: Progress | None = None) -> Demo:
    """Run the demo and write what was learned to ``database``. Raises EvaluationError when it may not."""
    seen: list[tuple[Story | None, RecoveryContext | None, tuple[Learned, ...]]] = []

    def look(arm: Arm) -> None:
        if isinstance(arm, MemoryArm):
            story = most_telling(arm.stories)
            seen.append((story, _context(arm, story), strongest(arm.memory.beliefs(), STRONGEST)))

    request = Request(faults=FaultSettings(seed=seed), database=str(database))
    evaluation = evaluate(request, progress=progress, look=look)
    return Demo(evaluation, database, *seen[0])


def _context(arm: MemoryArm, story: Story | None) -> RecoveryContext | None:
    """Return what a model would be told about the failure that a story begins with."""
    if story is None:
        return None
    first = story.handled.trail[0]
    kind = first.outcome.kind
    if kind is None:
        return None
    return arm.memory.context(first.call.tool, kind, first.call, detail=first.outcome.detail)
