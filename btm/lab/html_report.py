"""An evaluation as one page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from btm.lab.arms import ARMS
from btm.lab.html_page import Chance, render_page, versions
from btm.lab.intervals import wilson
from btm.lab.metrics import ALL, Episode, Paired, Result, results
from btm.lab.noise import PRESETS
from btm.lab.noisy import noise_rows
from btm.lab.own_agent import agent_title
from btm.lab.power import detectable
from btm.lab.report import command_line, comparisons, summary
from btm.lab.request import Evaluation
from btm.lab.scenarios import Scenario
from btm.learning.posterior import BetaPosterior
from btm.model import ErrorKind, EvidenceKey

SCENARIOS = {
    Scenario.CLEAN: "nothing fails",
    Scenario.RETRY_WORKS: "calls fail in ways that pass",
    Scenario.SWITCH_NEEDED: "a tool is blocked, and another can stand in for it",
    Scenario.IMPOSSIBLE: "every way is blocked: right is to hand over to a human, and nothing can be solved",
    Scenario.MIXED: "each task has the trouble of one of three scenarios",
    Scenario.NOISY: "any fault on any call, with no promise that a task can be solved",
    Scenario.OUTAGE: "a service is down for everyone for a stretch of the run",
    ALL: "all scenarios together",
}
"""What each scenario is, in a line."""

COLUMNS = {
    "solved": "share of tasks that ended as they should, with a 95 % interval (Wilson's; resampled where tasks repeat)",
    "calls": "calls that reached the tools, over all tasks",
    "repeats": "the same call again, unchanged, right after it failed",
    "doubled": "changes that really happened more often than asked for",
    "to human": "tasks handed over",
    "dropped": "tasks neither solved nor handed over",
    "p": "McNemar's exact test on the same tasks (resampled where tasks repeat)",
    "shows from": "the smallest true difference that so many tasks would find, four times in five",
}
"""What each column of the page means."""


@dataclass(frozen=True)
class ScenarioSection:
    """One scenario of a run: how its arms did, and how they differ from the first."""

    scenario: str
    about: str
    rows: tuple[Result, ...]
    differences: tuple[tuple[Paired, float], ...]

    @property
    def right(self) -> str:
        """What is right in this scenario: where nothing can be solved, to hand over."""
        return "handed over" if self.scenario == Scenario.IMPOSSIBLE else "solved"

    @property
    def bars(self) -> tuple[Result, ...]:
        """The rows with what is right as their success."""
        if self.right == "solved":
            return self.rows
        shares = [wilson(row.escalated, row.episodes) for row in self.rows]
        return tuple(
            replace(row, success=row.escalated / row.episodes, low=share.low, high=share.high)
            for row, share in zip(self.rows, shares, strict=True)
        )


def html_report(evaluation: Evaluation) -> str:
    """Return the page. The same evaluation gives the same page, to the byte, on one version of btm and Python."""
    request = evaluation.request
    rows = summary(evaluation)
    first = request.arms[0]
    against = [row for row in comparisons(evaluation) if row.b == first]
    blocks = [
        ScenarioSection(
            scenario,
            SCENARIOS[scenario],
            tuple(r for r in rows if r.scenario == scenario and r.fault_kind is None),
            tuple(
                (r, detectable(evaluation.episodes, r.a, r.b, scenario))
                for r in against
                if r.scenario == scenario
            ),
        )
        for scenario in dict.fromkeys(row.scenario for row in rows)
    ]
    seeds = request.seeds or (request.faults.seed,)
    return render_page(
        "report_page.html",
        title=f"btm eval: {request.domain}",
        domain=request.domain,
        agent=agent_title(request.agent),
        first=first,
        blocks=blocks,
        kinds=_kinds(evaluation.episodes),
        noise=noise_rows(evaluation.episodes) if request.noise is not None else (),
        arms={arm: ARMS[arm] for arm in dict.fromkeys(row.arm for row in rows)},
        columns=COLUMNS,
        learned={
            arm: [_chance(key, belief) for key, belief in rows] for arm, rows in evaluation.learned.items()
        },
        replays=evaluation.replays,
        left_out=[(s.value, n) for s, n in evaluation.left_out.items() if n],
        unmade=sorted(evaluation.unmade.items()),
        unusable=sorted(evaluation.unusable.items()),
        facts={
            "command": command_line(request),
            "seed": ", ".join(map(str, seeds)),
            "tasks": str(len({e.task_id for e in evaluation.episodes})),
            "fault rate": f"{request.faults.rate:g}",
            "map": request.fallback_map or "the domain's own",
            **({"settings": PRESETS[request.preset].source} if request.preset else {}),
            "versions": versions(),
        },
    )


def _chance(key: EvidenceKey, belief: BetaPosterior) -> Chance:
    low, high = belief.interval()
    tried = {1: "1st", 2: "2nd"}.get(key.ordinal, "3rd+")
    label = f"{key.tool} after {key.kind}: {key.action} {key.target}".strip()
    return Chance(f"{label}, {tried} try", belief.mean, low, high, belief.n)


def _kinds(episodes: Sequence[Episode]) -> dict[str, dict[ErrorKind, Result]]:
    """Return for each arm how it did with each kind of fault on a task's path, where a task can be solved."""
    solvable = [e for e in episodes if e.scenario != Scenario.IMPOSSIBLE]
    found: dict[str, dict[ErrorKind, Result]] = {}
    for row in results(solvable, (ALL,)):
        if row.fault_kind is not None:
            found.setdefault(row.arm, {})[row.fault_kind] = row
    return found
