"""From episodes to a report: the JSON document that scripts rely on, and the command that makes it again."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

from btm.lab.behaviour import Prices, behaviour
from btm.lab.faults.settings import EQUAL_WEIGHTS, FaultSettings
from btm.lab.jsonvalue import rounded
from btm.lab.metrics import Paired, Result, best_fixed, compare, paired, results
from btm.lab.net import net_of
from btm.lab.noise import PRESETS, NoiseSettings
from btm.lab.noisy import noise_rows
from btm.lab.outage import outage_of
from btm.lab.own_agent import agent_words
from btm.lab.request import HETEROGENEOUS, OUTAGE, UNIFORM, Evaluation, Request, default_scenarios
from btm.lab.scenarios import Scenario
from btm.lab.world import ALLOWANCE


def document(
    evaluation: Evaluation, command: str | None = None, prices: Prices | None = None
) -> dict[str, Any]:
    """Return the report as one JSON document.

    ``success``, ``low``, ``high`` and ``difference`` are rates; ``calls``, ``identical_repeats``,
    ``double_writes``, ``escalated`` and ``dropped`` count over the row's episodes; ``left_out`` counts the tasks of which a
    scenario cannot be made, ``unusable`` says why a task of the source has no script; :mod:`btm.lab.behaviour` defines the
    rows of ``behaviour``.
    """
    request = evaluation.request
    found = {
        "domain": request.domain,
        "seed": request.faults.seed,
        "command": command or command_line(request),
        "results": [rounded(asdict(row)) for row in summary(evaluation)],
        "behaviour": [rounded(asdict(row)) for row in behaviour(evaluation.episodes, prices)],
        "paired": [rounded(asdict(row)) for row in comparisons(evaluation)],
    }
    left_out = {scenario.value: count for scenario, count in evaluation.left_out.items() if count}
    found |= {"left_out": left_out, "unusable": dict(evaluation.unusable)}
    if request.noise is not None or request.preset:
        found |= {
            "settings": settings(request),
            "noise": [rounded(asdict(r)) for r in noise_rows(evaluation.episodes)],
        }
        found["noise_left_out"] = dict(evaluation.unmade)
    if request.seeds:
        found["seeds"] = list(request.seeds)
    if Scenario.NOISY in request.scenarios:
        found["net"] = [asdict(row) for row in net_of(evaluation.episodes, Scenario.NOISY)]
    if request.profile == OUTAGE:
        found["outage"] = [asdict(row) for row in outage_of(evaluation.episodes)]
    if request.best_fixed:
        found["best_fixed"] = [rounded(asdict(row)) for row in against_best(evaluation)]
    return found


def settings(request: Request) -> dict[str, Any]:
    """Return what a preset and noise come to, and where a preset is from."""
    noise = request.noise or NoiseSettings(())
    kinds = [kind for kind, weight in request.faults.weights.items() if weight > 0]
    made = {"rate": request.faults.rate, "fault_kinds": kinds, **noise.to_json()}
    source = PRESETS[request.preset].source if request.preset else ""
    return {"preset": request.preset, "source": source, **made} if request.preset else made


def against_best(evaluation: Evaluation) -> tuple[Paired, ...]:
    """Compare the first arm with the fixed order that solved most, scenario by scenario, chosen in hindsight."""
    found = []
    for scenario in dict.fromkeys(e.scenario for e in evaluation.episodes):
        here = [e for e in evaluation.episodes if e.scenario == scenario]
        best = best_fixed(here)
        if best is not None and best != evaluation.request.arms[0]:
            found.append(compare(here, evaluation.request.arms[0], best, scenario))
    return tuple(found)


def summary(evaluation: Evaluation) -> tuple[Result, ...]:
    """Return a run's results in the order in which its scenarios were asked for."""
    return results(evaluation.episodes, evaluation.request.scenarios)


def comparisons(evaluation: Evaluation) -> tuple[Paired, ...]:
    """Return a run's paired differences in the order in which its scenarios were asked for."""
    return paired(evaluation.episodes, evaluation.request.scenarios)


def _seeds(request: Request) -> str:
    seeds = request.seeds or (request.faults.seed,)
    if len(seeds) > 1 and seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}..{seeds[-1]}"
    return ",".join(map(str, seeds))


def command_line(request: Request) -> str:
    """Return the ``btm eval`` command that runs a request again."""
    plain, faults = FaultSettings(), request.faults
    words = ["btm", "eval", "--domain", request.domain]
    words += ["--map", request.fallback_map] if request.fallback_map is not None else []
    words += agent_words(request.agent)
    words += ["--show", ",".join(request.shown)] if request.shown else []
    if request.scenarios != default_scenarios(request.profile):
        words += ["--scenario", ",".join(request.scenarios)]
    words += ["--arms", ",".join(request.arms), "--seed", _seeds(request)]
    if faults.rate != plain.rate:
        words += ["--rate", f"{faults.rate:g}"]
    if faults.weights != EQUAL_WEIGHTS:
        words += ["--fault-kinds", ",".join(kind for kind, weight in faults.weights.items() if weight > 0)]
    words += ["--unseen"] * faults.unseen
    if request.noise is not None:
        words += ["--noise", ",".join(request.noise.names)]
        growth = request.noise.growth
        words += [] if growth is None else ["--noise-growth", f"{growth[0]:g}:{growth[1]:g}"]
    if faults.max_consecutive != plain.max_consecutive:
        words += ["--max-consecutive", str(faults.max_consecutive)]
    if faults.budget is not None:
        words += ["--budget", str(faults.budget)]
    if request.best_fixed:
        words += ["--best-fixed"]
    words += _profile_words(request)
    if isinstance(request.tasks, int):
        words += ["--tasks", str(request.tasks)]
    elif request.tasks is not None:
        words += ["--tasks", ",".join(request.tasks) + ("," if len(request.tasks) == 1 else "")]
    if request.database is not None:
        words += ["--db", request.database]
    return shlex.join(words)


def _profile_words(request: Request) -> list[str]:
    words = ["--profile", request.profile] if request.profile != UNIFORM else []
    if request.profile == HETEROGENEOUS:
        words += ["--worlds", str(request.worlds), "--passes", str(request.passes)]
        if request.contrast != 1.0:
            words += ["--contrast", f"{request.contrast:g}"]
        if request.allowance != ALLOWANCE:
            words += ["--allowance", "{:g}-{:g}".format(*request.allowance)]
    return words
