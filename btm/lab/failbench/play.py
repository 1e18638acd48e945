"""Plays cases and scores them: rates with Wilson's intervals by dimension, and every case's transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from btm.lab.agent import ToolResponse
from btm.lab.arms import Arm, OverheardArm, plain_arm
from btm.lab.desk import Desk
from btm.lab.episodes import APART_S, run_episode
from btm.lab.failbench.cases import Dimension, FailureCase, stage, task_of
from btm.lab.faults.clock import START, VirtualClock
from btm.lab.faults.draw import Draw
from btm.lab.faults.plan import Fault, FaultPlan, NoFaults, Site
from btm.lab.intervals import wilson
from btm.lab.jsonvalue import parsed
from btm.lab.metrics import Episode
from btm.lab.own_agent import OwnAgent
from btm.lab.request import Request
from btm.lab.runner import make_arm
from btm.lab.scenarios import Scenario, Setup, Stage
from btm.model import ErrorKind

MOST_REPEATS = 3
"""Who calls the same refused call more often than this again is in a loop; the paper's target is to stop within three."""

Make = Callable[[], Arm]


@dataclass(frozen=True, slots=True)
class CaseScore:
    """How an arm did in a case. ``passed`` is None where the case asks what such an arm cannot say."""

    case: str
    dimension: Dimension
    arm: str
    passed: bool | None
    said: str
    transcript: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A dimension's rate with its 95 % interval (Wilson's)."""

    dimension: str
    arm: str
    cases: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class ToldFaults:
    """The fault of a case, at every call of some tools or at the first one of each."""

    case: FailureCase
    tools: frozenset[str]

    def fault(self, site: Site) -> Fault | None:
        case = self.case
        if site.tool not in self.tools or (case.trigger == "first_call_only" and site.nth > 1):
            return None
        draw = Draw((case.id, site.nth))
        kind = ErrorKind(case.kind) if case.kind else ErrorKind.UNKNOWN
        if not case.text:
            return Fault(kind, draw)
        if case.raised:
            return Fault(kind, draw, case.happens, error=RuntimeError(case.text))
        if case.subtype == "fine":
            return Fault(kind, draw, instead={**_clean(case), "note": case.text})
        bare = not case.labels or case.subtype == "page" or case.text.startswith("{")
        return Fault(kind, draw, instead=parsed(case.text) if bare else {"error": case.text})


def _clean(case: FailureCase) -> dict[str, Any]:
    """Return what the case's call gives when nothing fails."""
    task = task_of(case)
    session = stage().environment.open(task, lambda: START)
    for step in task.steps:
        result = parsed(session.call(step.tool, step.arguments))
        if step.tool == case.tool:
            return dict(result)
    raise LookupError(case.id)


def set_up(case: FailureCase) -> Setup:
    """Return the episode of a case."""
    here = stage()
    task = task_of(case)
    if case.dimension is Dimension.FALSE_ALARM:
        return Setup(Scenario.CLEAN, Scenario.CLEAN, task, NoFaults())
    if case.trigger == "always" and not case.text and case.kind:
        made = here.blocked(task, case.tool, ErrorKind(case.kind))
        assert made is not None, case.id  # noqa: S101 - the case was made from it
        return made
    tools = here.ways_round(case.tool) if case.dimension is Dimension.LOOPS else frozenset({case.tool})
    plan: FaultPlan = ToldFaults(case, tools)
    return Setup(Scenario.SWITCH_NEEDED, Scenario.SWITCH_NEEDED, task, plan)


def maker(name: str) -> Make:
    """Return what makes an arm anew for each case, so that no case depends on those before it."""
    return lambda: make_arm(name, Request(arms=(name,)), stage().fallback_map)


def play(
    makers: dict[str, Make], which: Sequence[FailureCase], *, agent: OwnAgent | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[CaseScore]:  # fmt: skip
    """Play cases under each arm, and give each score when it is over. ``agent`` takes the scripted agent's place."""
    here = Stage(stage().environment, stage().fallback_map, agent=agent) if agent is not None else stage()
    done, total = 0, len(makers) * len(which)
    for name, make in makers.items():
        for number, case in enumerate(which):
            yield _score(name, make, case, here, START + number * APART_S)
            done += 1
            if progress is not None:
                progress(done, total)


def _score(name: str, make: Make, case: FailureCase, here: Stage, start: float) -> CaseScore:
    arm = make()
    try:
        if case.dimension is Dimension.RECOGNITION:
            return _recognised(name, arm, case, here)
        lines: list[str] = []

        def hear(_: Desk, tool: str, arguments: Mapping[str, Any], answer: ToolResponse) -> None:
            failed = "error: " * answer.is_error
            lines.append(f"{tool} {dict(arguments)}: {failed}{str(answer.value)[:200]}")
            lines.extend([answer.advice[:600]] if answer.advice else ())

        episode = run_episode(OverheardArm(arm, hear), set_up(case), here, start)
        passed, said = _judged(case.dimension, episode)
        return CaseScore(case.id, case.dimension, name, passed, said, tuple(lines))
    finally:
        arm.close()


def _judged(dimension: Dimension, episode: Episode) -> tuple[bool, str]:
    ended = "solved" if episode.solved else "handed over" if episode.escalated else "dropped"
    match dimension:
        case Dimension.LOOPS:
            return (
                episode.longest_loop <= MOST_REPEATS,
                f"{ended}, at most {episode.longest_loop} repeats of a call",
            )
        case Dimension.SELF_CHECKING:
            return episode.solved or (episode.escalated and not episode.wrong_writes), ended
        case Dimension.IDEMPOTENCY:
            return episode.double_writes == 0, f"{ended}, {episode.double_writes} writes too many"
    return episode.solved, ended


def _recognised(name: str, arm: Arm, case: FailureCase, here: Stage) -> CaseScore:
    setup = set_up(case)
    desk = Desk.lay(setup, here, VirtualClock(START))
    step = next(s for s in setup.task.steps if s.tool == case.tool)
    if not hasattr(arm, "stories") or here.agent is not None:
        return CaseScore(case.id, case.dimension, name, None, "names no failure", ())
    arm.calls(desk)(step.tool, step.arguments)
    trail = arm.stories[-1].handled.trail if arm.stories else ()
    kind = trail[0].outcome.kind if trail else None
    passed = kind in {ErrorKind(label) for label in case.labels} if case.labels else kind is None
    said = kind.value if kind is not None else "a success"
    return CaseScore(
        case.id, case.dimension, name, passed, said, (f"{step.tool}: {case.text}", f"named: {said}")
    )


def rows(scores: Iterable[CaseScore]) -> tuple[Row, ...]:
    """Return a row an arm and dimension, over the cases that are defined for it."""
    counted: dict[tuple[Dimension, str], list[bool]] = {}
    for score in scores:
        if score.passed is not None:
            counted.setdefault((score.dimension, score.arm), []).append(score.passed)
    found = []
    for dimension in Dimension:
        for (one, arm), passed in counted.items():
            if one is dimension:
                interval = wilson(sum(passed), len(passed))
                rate = sum(passed) / len(passed)
                found.append(Row(dimension.value, arm, len(passed), rate, interval.low, interval.high))
    return tuple(found)


def overall(made: Iterable[Row], arm: str) -> float:
    """Return the mean over an arm's dimensions. Self-checking counts for what it exceeds its false alarms by (Youden's J).

    W. J. Youden, "Index for rating diagnostic tests", Cancer 3 (1950): hits plus right rejections minus one.
    """
    rates = {row.dimension: row.rate for row in made if row.arm == arm}
    calm = rates.pop(Dimension.FALSE_ALARM.value, 1.0)
    if Dimension.SELF_CHECKING.value in rates:
        rates[Dimension.SELF_CHECKING.value] = max(0.0, rates[Dimension.SELF_CHECKING.value] + calm - 1.0)
    return sum(rates.values()) / len(rates) if rates else 0.0


def check(which: Sequence[FailureCase]) -> Iterator[str]:
    """Yield what is wrong with cases: a fault that the agent never sees, or a task that not even the oracle saves."""
    for case in which:
        if case.dimension in (Dimension.RECOGNITION, Dimension.FALSE_ALARM):
            continue
        bare = run_episode(plain_arm("bare"), set_up(case), stage(), START)
        if bare.faults_met == 0:
            yield f"{case.id}: its fault changes nothing that the agent sees"
        if case.dimension in (Dimension.RECOVERY, Dimension.SELF_CHECKING):
            helped = run_episode(plain_arm("oracle"), set_up(case), stage(), START)
            if not helped.solved:
                yield f"{case.id}: not even the oracle solves it"
