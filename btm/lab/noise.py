"""Noise of users and tools on top of a scenario's faults, and presets after published benchmarks.

The names are those of AgentNoiseBench's two layers (github.com/keven-cyber/agentnoisebench); the operators are written anew.
What users do is in :mod:`btm.lab.user_noise`, what tools do in :mod:`btm.lab.faults.noise`. Some of a tool's noise is what
the nine kinds of fault do already: there it only says which of them strike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from btm.errors import EvaluationError
from btm.lab.faults.kinds import FAULT_KINDS, RAISED
from btm.lab.names import comma_separated, known_names, no_such
from btm.model import ErrorKind

NOISE: Mapping[str, str] = MappingProxyType(
    {
        "user:ambiguity": "a value is left out of the request and given when the user is asked (scripted: it asks at once)",
        "user:boundary": "the user also asks for what is not allowed (scripted: it declines)",
        "user:conflict": "a value is named wrongly first and put right at once (scripted: it takes the later one)",
        "user:redundancy": "sentences that have nothing to do with it (scripted: it skips them)",
        "user:topic_shift": "the user begins with another request and drops it halfway (scripted: it makes its reads too)",
        "user:typos": "letters change places, never in an id, a name, an amount or a date (scripted: it reads on)",
        "tool:failure": "the kinds of fault that raise",
        "tool:error": "wrong and old values",
        "tool:incomplete": "fields and entries that are missing",
        "tool:latency": "answers that are late",
        "tool:redundancy": "fields and entries that nobody asked for",
        "tool:induce": "a sentence in an answer that points to a wrong next tool",
        "tool:contradiction": "a good answer that is flagged as an error",
        "tool:no_op": "a write that answers ok and has done nothing, the first time",
    }
)
"""Every sort of noise, with what it is, and what the scripted agent, which reads no text, makes of a user's."""

AS_FAULTS: Mapping[str, tuple[ErrorKind, ...]] = MappingProxyType(
    {
        "tool:failure": RAISED,
        "tool:error": (ErrorKind.FACTUAL_ERROR, ErrorKind.STALE_DATA),
        "tool:incomplete": (ErrorKind.PARTIAL_DATA, ErrorKind.SCHEMA_DRIFT),
    }
)
"""What of a tool's noise is a kind of fault."""


@dataclass(frozen=True, slots=True)
class NoiseSettings:
    """Which noise there is. The share of tasks, and of calls, that it meets is the run's rate.

    ``growth`` lets that share rise in a line from the first task to the last, as NoisyAgent's training does.
    """

    names: tuple[str, ...]
    growth: tuple[float, float] | None = None

    def rate(self, number: int, tasks: int, plain: float) -> float:
        """Return the share for task ``number`` (from 0) of so many; ``plain`` is the run's own."""
        if self.growth is None:
            return plain
        first, last = self.growth
        return first + (last - first) * number / max(1, tasks - 1)

    @property
    def of_users(self) -> tuple[str, ...]:
        """What users do, without the layer's name."""
        return tuple(n.removeprefix("user:") for n in self.names if n.startswith("user:"))

    @property
    def of_tools(self) -> tuple[str, ...]:
        """What tools do beyond the kinds of fault, without the layer's name."""
        return tuple(
            n.removeprefix("tool:") for n in self.names if n.startswith("tool:") and n not in AS_FAULTS
        )

    @property
    def kinds(self) -> tuple[ErrorKind, ...]:
        """The kinds of fault that are named; none where noise says nothing of them."""
        wanted = {kind for name in self.names for kind in AS_FAULTS.get(name, ())}
        return tuple(kind for kind in FAULT_KINDS if kind in wanted)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"noise": list(self.names), "growth": None if self.growth is None else list(self.growth)}


def read_noise(names: str | None, growth: str | None) -> NoiseSettings | None:
    """Read ``user:typos,tool:induce`` and ``0:0.4``. Raises EvaluationError that names the nearest."""
    if names is None and growth is None:
        return None
    if names is None:
        raise EvaluationError("--noise-growth goes with --noise, which names some of " + ", ".join(NOISE))
    found = known_names("noise", comma_separated(names), NOISE)
    return NoiseSettings(found, _growth(growth) if growth is not None else None)


def _growth(text: str) -> tuple[float, float]:
    first, colon, last = text.partition(":")
    try:
        found = float(first), float(last)
    except ValueError:
        found = -1.0, -1.0
    if not colon or not all(0 <= rate <= 1 for rate in found):
        raise EvaluationError(f"--noise-growth is the first and the last rate, such as 0:0.4, not {text!r}")
    return found


@dataclass(frozen=True, slots=True)
class Preset:
    """A published benchmark's mix, as far as its paper says; ``options`` are those of ``btm eval``."""

    source: str
    options: Mapping[str, Any]


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "bench2robust": Preset(
            "BENCH2ROBUST: nine kinds of fault, 40 % of calls",
            {"rate": 0.4, "scenarios": ("retry_works", "switch_needed", "impossible")},
        ),
        "agent-reflex": Preset(
            "Agent-Reflex: a Bernoulli draw of 0.2 a call, balanced over eight families; which eight is not named: here the "
            "nine kinds but malformed",
            {
                "rate": 0.2,
                "scenarios": ("noisy",),
                "fault_kinds": ",".join(k for k in FAULT_KINDS if k is not ErrorKind.MALFORMED),
            },
        ),
        "agentnoise": Preset(
            "AgentNoiseBench: five sorts of user noise and five of tool noise, by the names of its repository; it names no "
            "rates: here 0.2",
            {
                "rate": 0.2,
                "scenarios": ("noisy",),
                "noise": "user:ambiguity,user:boundary,user:conflict,user:redundancy,user:topic_shift,"
                "tool:failure,tool:error,tool:incomplete,tool:induce,tool:redundancy",
            },
        ),
    }
)
"""Mixes by name; what is not named in a paper is said to be ours."""


def preset(name: str) -> Preset:
    """Return the preset of a name. Raises EvaluationError."""
    if name not in PRESETS:
        raise no_such("preset", name, PRESETS)
    return PRESETS[name]
