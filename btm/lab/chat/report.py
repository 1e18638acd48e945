"""From episodes to a report: rates with intervals, and differences on the same tasks."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from btm.adapters.wording import Placement
from btm.lab.chat.arms import ARMS, CONTROLS, NEUTRAL, placement_of
from btm.lab.chat.episode import ChatEpisode
from btm.lab.chat.request import DEFAULT_TASKS, PlacementRequest, Server, shown_address
from btm.lab.chat.tasks import FAMILIES
from btm.lab.intervals import mcnemar, paired_interval
from btm.lab.jsonvalue import rounded
from btm.lab.metrics import ALL, Paired, Result, pair_up, results

DEFAULT = Placement.USER_REMINDER.value


@dataclass(frozen=True)
class Measured:
    """A finished measurement: what was asked for, of which model, and what came of it."""

    request: PlacementRequest
    server: Server
    episodes: tuple[ChatEpisode, ...]
    warnings: tuple[str, ...] = field(default=())


def summary(measured: Measured) -> tuple[Result, ...]:
    """Return a row for each scenario and arm, then the whole run; ``success`` is the rate of right ends."""
    rows = results([e.measured() for e in measured.episodes], measured.request.scenarios)
    return tuple(row for row in rows if row.fault_kind is None)


def comparisons(measured: Measured) -> tuple[Paired, ...]:
    """Compare every arm with ``neutral``, btm's with every control and with the default placement; on the same tasks."""
    episodes = [e.measured() for e in measured.episodes]
    arms = measured.request.arms
    pairs = [(a, b) for b in arms if b in (*CONTROLS, DEFAULT) for a in arms if _compared(a, b)]
    scenarios = [s.value for s in measured.request.scenarios]
    found: list[Paired] = []
    for scenario in [*scenarios, *([ALL] if len(scenarios) > 1 else [])]:
        here = [e for e in episodes if scenario in (e.scenario, ALL)]
        for a, b in pairs:
            counts = pair_up(here, a, b)
            low, high = paired_interval(counts)
            found.append(Paired(a, b, scenario, counts.difference, low, high, mcnemar(counts)))
    return tuple(found)


def _compared(a: str, b: str) -> bool:
    if a == b:
        return False
    return b == NEUTRAL or placement_of(a) is not None


def document(measured: Measured) -> dict[str, Any]:
    """Return the report as one JSON document; its rows are those of ``btm eval --json``, and ``turns`` of the model.

    ``success`` is the rate of right ends: solved, or where nothing can work, handed to a human and not claimed done.
    """
    turns: Counter[tuple[str, str]] = Counter()
    for episode in measured.episodes:
        turns.update(dict.fromkeys(((episode.scenario, episode.arm), (ALL, episode.arm)), episode.turns))
    return {
        "model": measured.server.model,
        "base_url": shown_address(measured.server.base_url),
        "seed": measured.request.seed,
        "command": command_line(measured),
        "warnings": list(measured.warnings),
        "results": [
            rounded({**asdict(row), "turns": turns[row.scenario, row.arm]}) for row in summary(measured)
        ],
        "paired": [rounded(asdict(row)) for row in comparisons(measured)],
        "episodes": [episode.to_json() for episode in measured.episodes],
    }


def command_line(measured: Measured) -> str:
    """Return the command that measures this again. A key stands in the environment, and not in the command."""
    request, server = measured.request, measured.server
    words = ["btm", "placement", "--base-url", shown_address(server.base_url), "--model", server.model]
    counts = _counts(request)
    if counts != str(DEFAULT_TASKS):
        words += ["--tasks", counts]
    words += ["--seed", str(request.seed)]
    if request.arms != tuple(ARMS):
        words += ["--arms", ",".join(request.arms)]
    if request.families != FAMILIES:
        words += ["--families", ",".join(request.families)]
    if not request.shown:
        words.append("--no-demonstrations")
    usual = Server(server.base_url, server.model)
    for name in ("temperature", "max_tokens", "timeout_s"):
        if (value := getattr(server, name)) != getattr(usual, name):
            words += [f"--{name.removesuffix('_s').replace('_', '-')}", f"{value:g}"]
    return shlex.join(words)


def _counts(request: PlacementRequest) -> str:
    numbers = list(request.tasks.values())
    common = max(set(numbers), key=numbers.count)
    others = [f"{scenario.value}={n}" for scenario, n in request.tasks.items() if n != common]
    return ",".join([str(common), *others])


def problems(episodes: Sequence[ChatEpisode]) -> dict[str, int]:
    """Return what ended conversations early, each with how often it did, the most frequent first."""
    return dict(Counter(episode.problem for episode in episodes if episode.problem).most_common())
