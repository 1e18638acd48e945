"""The five-phase curriculum: which trouble a policy meets when.

S1 is ``retry_works``, S2 ``switch_needed``, S3 ``impossible``. BENCH2ROBUST begins with S1 alone, brings in 20, then 40 % of
S2, then 10 % of S3, and ends with a full mixture whose shares it does not give: btm's are a third each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from btm.errors import EvaluationError, MissingExtraError
from btm.lab.faults.draw import Draw
from btm.lab.scenarios import Scenario
from btm.training.rollout import Stages

S1, S2, S3 = Scenario.RETRY_WORKS, Scenario.SWITCH_NEEDED, Scenario.IMPOSSIBLE

Mixture = Mapping[Scenario, float]

FIVE_PHASES: tuple[Mixture, ...] = (
    {S1: 1.0},
    {S1: 0.8, S2: 0.2},
    {S1: 0.6, S2: 0.4},
    {S1: 0.5, S2: 0.4, S3: 0.1},
    {S1: 1 / 3, S2: 1 / 3, S3: 1 / 3},
)

HELD_OUT = 0.2
"""Share of tasks that are never trained on."""

Split = Literal["train", "eval"]


def held_out(task_id: str) -> bool:
    """Whether a task is kept for evaluation: by a hash of its id, never by its place."""
    drawn = int.from_bytes(hashlib.blake2b(task_id.encode(), digest_size=8).digest())
    return drawn < HELD_OUT * 2**64


@dataclass
class Curriculum:
    """Rows for a trainer, phase by phase. The same seed gives the same rows.

    ``phases`` are mixtures of scenarios, ``copies`` how often a phase goes over the tasks. A row holds ``prompt`` (a list of
    messages), ``task_id``, ``scenario``, ``seed`` and ``phase``: what :func:`btm.training.environment` takes.
    """

    domain: str = "shop"
    seed: int = 0
    phases: Sequence[Mixture] = FIVE_PHASES
    copies: int = 2
    system: str = ""
    stages: Stages = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for number, mixture in enumerate(self.phases, 1):
            if abs(sum(mixture.values()) - 1.0) > 1e-6 or min(mixture.values()) < 0:
                raise EvaluationError(
                    f"the shares of phase {number} add to {sum(mixture.values()):g}, not to 1"
                )
        self.stages = Stages(self.domain)

    @classmethod
    def five_phases(cls, domain: str = "shop", seed: int = 0) -> Curriculum:
        """Return the paper's curriculum."""
        return cls(domain, seed)

    def rows(self, phase: int, split: Split = "train") -> list[dict[str, Any]]:
        """Return the rows of a phase (from 1 on). Raises EvaluationError where there is no such phase."""
        if not 1 <= phase <= len(self.phases):
            raise EvaluationError(f"there is no phase {phase}: there are 1 to {len(self.phases)}")
        draw = Draw((self.seed, "curriculum", phase, split))
        tasks = [t for t in self.stages.tasks if held_out(t) is (split == "eval")]
        slots = sorted(((t, n) for t in tasks for n in range(self.copies)), key=lambda one: draw.unit(*one))
        dealt = self._dealt(slots, self.phases[phase - 1], draw)
        return [self._row(task, scenario, seed, phase) for task, scenario, seed in dealt]

    def _dealt(
        self, slots: list[tuple[str, int]], mixture: Mixture, draw: Draw
    ) -> Iterator[tuple[str, Scenario, int]]:
        """Deal scenarios out in their exact shares, the rarest first, to tasks of which they can be made."""
        left, total = list(slots), len(slots)
        order = sorted(mixture, key=lambda scenario: (mixture[scenario], scenario))
        for place, scenario in enumerate(order):
            wanted = len(left) if place == len(order) - 1 else round(mixture[scenario] * total)
            for slot in list(left):
                if not wanted:
                    break
                seed = draw.integer(0, 2**31, "faults", *slot)
                if self.stages.set_up(slot[0], scenario, seed) is not None:
                    left.remove(slot)
                    wanted -= 1
                    yield slot[0], scenario, seed

    def _row(self, task_id: str, scenario: Scenario, seed: int, phase: int) -> dict[str, Any]:
        system = [{"role": "system", "content": self.system}] if self.system else []
        prompt = [*system, {"role": "user", "content": self.stages.tasks[task_id].request}]
        return {"prompt": prompt, "task_id": task_id, "scenario": str(scenario), "seed": seed, "phase": phase}

    def dataset(self, phase: int, split: Split = "train") -> Any:
        """Return the rows of a phase as a ``datasets.Dataset`` (extra ``train``)."""
        try:
            from datasets import Dataset  # noqa: PLC0415 - an optional package
        except ModuleNotFoundError as missing:
            raise MissingExtraError("datasets", "train", "a dataset for a trainer") from missing
        return Dataset.from_list(self.rows(phase, split))
