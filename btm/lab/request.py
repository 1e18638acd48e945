"""What an evaluation is asked for, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from btm.lab.faults.settings import FaultSettings
from btm.lab.metrics import Episode
from btm.lab.noise import NoiseSettings
from btm.lab.scenarios import TROUBLED, Scenario
from btm.lab.story import StoryLine
from btm.lab.world import ALLOWANCE
from btm.learning.posterior import BetaPosterior
from btm.model import EvidenceKey

UNIFORM, HETEROGENEOUS, OUTAGE = "uniform", "heterogeneous", "outage"

PROFILES: Mapping[str, str] = {
    UNIFORM: "every failing call heals within the same number of repeats; btm learns as it goes",
    HETEROGENEOUS: "each tool has its own healing chances, reliability and cost, each task a step budget; "
    "btm learns on one half of the tasks and is measured, frozen, on the other",
    OUTAGE: "for half of a run of episodes a service is down for everyone",
}
"""How tools differ, each with what it is."""


def default_scenarios(profile: str) -> tuple[Scenario, ...]:
    """Return the scenarios that a profile is made for."""
    return {HETEROGENEOUS: (Scenario.MIXED,), OUTAGE: (Scenario.CLEAN, Scenario.OUTAGE)}.get(
        profile, TROUBLED
    )


Progress = Callable[[int, int], None]
"""Told how many episodes are done, out of how many."""


@dataclass(frozen=True)
class Request:
    """What to evaluate.

    ``tasks`` is how many of a domain's tasks to take from the first on, or their ids; None takes all. ``worlds`` and
    ``passes`` belong to the heterogeneous profile: how many worlds to average over, and how often btm goes through
    its half of the tasks, each time with other faults; ``contrast`` and ``allowance`` are those of its worlds
    (:mod:`btm.lab.world`). ``best_fixed`` runs the fixed orders too. ``seeds``, where there are several, run one after
    the other, each with memories of its own. ``fallback_map`` replaces the domain's, ``agent`` (``module:attribute``) the
    scripted agent. ``shown`` are tasks that a chat model sees done before each request; they are not measured.
    ``noise`` is what users and tools do besides, ``preset`` names the published mix that the settings come from.
    """

    domain: str = "shop"
    scenarios: tuple[Scenario, ...] = TROUBLED
    arms: tuple[str, ...] = ("bare", "retry3", "btm")
    faults: FaultSettings = field(default_factory=FaultSettings)
    profile: str = UNIFORM
    tasks: int | tuple[str, ...] | None = None
    database: str | None = None
    worlds: int = 4
    passes: int = 5
    contrast: float = 1.0
    allowance: tuple[float, float] = ALLOWANCE
    best_fixed: bool = False
    seeds: tuple[int, ...] = ()
    fallback_map: str | None = None
    agent: str | None = None
    shown: tuple[str, ...] = ()
    noise: NoiseSettings | None = None
    preset: str = ""


@dataclass(frozen=True, slots=True)
class IncidentReplay:
    """A call that did not go through at once, told line by line."""

    arm: str
    scenario: str
    task_id: str
    request: str
    lines: tuple[StoryLine, ...]


@dataclass(frozen=True)
class Evaluation:
    """What came of a run. ``left_out`` counts, by scenario, the tasks for which it cannot be made.

    ``learned`` are, for each arm with a memory, the beliefs with most evidence; ``replays`` telling incidents. ``unmade``
    counts the tasks that noise of a sort was drawn for and had no place in.
    """

    request: Request
    episodes: tuple[Episode, ...]
    left_out: Mapping[Scenario, int]
    unusable: Mapping[str, str]
    learned: Mapping[str, tuple[tuple[EvidenceKey, BetaPosterior], ...]] = field(default_factory=dict)
    replays: tuple[IncidentReplay, ...] = ()
    unmade: Mapping[str, int] = field(default_factory=dict)
