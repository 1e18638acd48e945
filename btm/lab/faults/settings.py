"""How much goes wrong, and when: frozen settings with defaults that suit a first run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from btm.errors import EvaluationError
from btm.lab.faults.kinds import FAULT_KINDS
from btm.lab.names import comma_separated, known_names
from btm.model import ErrorKind

EQUAL_WEIGHTS: Mapping[ErrorKind, float] = MappingProxyType(dict.fromkeys(FAULT_KINDS, 1.0))
"""Every kind as likely as the others."""


class When(StrEnum):
    """Which of a failing call's identical repeats fail."""

    ALWAYS = "always"  # each, until the maximum of consecutive faults
    FIRST = "first"  # only the first
    NTH = "nth"  # only the nth
    PROBABILITY = "probability"  # each with a chance of its own


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a failing call fails: ``n`` goes with NTH (1 is the first), ``chance`` with PROBABILITY."""

    when: When = When.ALWAYS
    n: int = 1
    chance: float = 0.5

    def __post_init__(self) -> None:
        if self.n < 1:
            raise EvaluationError(f"a trigger's n counts from 1, not {self.n}")
        if not 0 <= self.chance <= 1:
            raise EvaluationError(f"a trigger's chance lies in [0, 1], not at {self.chance}")


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What to inject.

    ``rate`` is the chance that a call (a tool with certain arguments) is a failing one, ``weights`` share those
    calls out to kinds, ``max_consecutive`` bounds how often one failing call fails in a row (None: for good),
    ``lost_response`` is the chance that a failing write has happened all the same, and ``budget`` bounds the
    faults of one episode (None: no bound). A budget is spent in the order of the calls made; leave it None where
    two runs must meet the same faults whatever they do.

    ``tool`` names the only tool (or tools) to fail, ``after_calls`` how many calls of an episode go through before
    anything fails. A failing call takes ``delay_s`` seconds longer; without ``weights`` (``{}``) that is all it does.
    ``unseen`` lets silent faults strike at fields that the map does not declare (in the scenario ``noisy``).
    """

    seed: int = 0
    rate: float = 0.4
    weights: Mapping[ErrorKind, float] = field(default_factory=lambda: EQUAL_WEIGHTS)
    max_consecutive: int | None = 2
    budget: int | None = None
    trigger: Trigger = field(default_factory=Trigger)
    lost_response: float = 0.5
    tool: str | tuple[str, ...] | None = None
    after_calls: int = 0
    delay_s: float = 0.0
    unseen: bool = False

    def strikes_at(self, tool: str) -> bool:
        """Whether calls of a tool may fail."""
        return self.tool is None or tool == self.tool or (isinstance(self.tool, tuple) and tool in self.tool)

    def __post_init__(self) -> None:
        for name in ("rate", "lost_response"):
            if not 0 <= getattr(self, name) <= 1:
                raise EvaluationError(f"{name} is a chance in [0, 1], not {getattr(self, name)}")
        for name in ("max_consecutive", "budget"):
            value = getattr(self, name)
            if value is not None and value < (1 if name == "max_consecutive" else 0):
                raise EvaluationError(f"{name} is too small: {value}")
        strange = [k for k in self.weights if k not in FAULT_KINDS]
        if strange:
            raise EvaluationError(
                f"{strange[0]} cannot be injected; expected some of {', '.join(FAULT_KINDS)}"
            )
        if self.after_calls < 0 or self.delay_s < 0:
            raise EvaluationError("after_calls and delay_s are at least 0")
        nothing = not sum(self.weights.values()) > 0 and not (self.delay_s > 0 and not self.weights)
        if any(w < 0 for w in self.weights.values()) or nothing:
            raise EvaluationError("weights are at least 0, and one is more")


def fault_kinds(names: str) -> tuple[ErrorKind, ...]:
    """Read kinds from a comma-separated text such as ``"timeout,rate_limit"``.

    Raises EvaluationError that names the nearest kind.
    """
    return tuple(map(ErrorKind, known_names("fault", comma_separated(names), FAULT_KINDS)))
