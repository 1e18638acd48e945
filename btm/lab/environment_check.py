"""Whether an environment measures what it seems to: its gold is replayed, cut short, and replayed again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from btm.errors import did_you_mean
from btm.fallback import FallbackMap
from btm.lab.agent import solved
from btm.lab.decisive import dry_run
from btm.lab.environment import Environment, Task
from btm.lab.faults.settings import FaultSettings
from btm.lab.loading import map_of
from btm.lab.scenarios import TROUBLED, Stage
from btm.model import Effect
from btm.support.untrusted import canonical


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that makes an evaluation on this environment say less than it seems to. ``place`` is a task or a tool."""

    check: str
    place: str
    what: str


@dataclass(frozen=True)
class EnvironmentReport:
    """What a check found.

    ``unscripted`` tasks have a check and no gold calls: nothing is promised of them. ``gold`` tasks of ``tasks`` reach their
    goal, ``cut_short`` of the ``writing`` do without their last change (none should). ``makeable`` counts the tasks of which
    each scenario can be made; ``substitutes`` names, for each tool that a task hangs on, what the map lets stand in.
    """

    domain: str
    tasks: int
    gold: int
    writing: int
    cut_short: int
    makeable: Mapping[str, int]
    substitutes: Mapping[str, tuple[str, ...]]
    flaws: tuple[Flaw, ...]
    unscripted: int = 0

    @property
    def sound(self) -> bool:
        """Whether no flaw was found."""
        return not self.flaws


def check_environment(environment: Environment) -> EnvironmentReport:
    """Replay every task of an environment. Raises EvaluationError for one that cannot be opened at all."""
    fallback_map = map_of(environment)
    flaws = [Flaw("scripted", name, why) for name, why in environment.left_out.items()]
    flaws += _unknown_tools(environment, fallback_map)
    if not environment.tasks and not environment.left_out:
        flaws.append(Flaw("tasks", environment.domain, "it has no task: there is nothing to measure"))
    gold = writing = cut_short = 0
    sound: list[Task] = []
    for task in (task for task in environment.tasks if task.scripted):
        found = list(_replayed(environment, task))
        flaws += found
        good = not any(flaw.check == "gold" for flaw in found)
        gold += good
        last = _last_change(environment, task) if good else None
        if last is not None:
            writing += 1
            if _reaches_without(environment, task, last):
                cut_short += 1
                what = f"its goal is reached without its last change, {task.steps[last].tool}: the check is too weak"
                flaws.append(Flaw("cut short", task.task_id, what))
        elif good and not task.answers:
            flaws.append(
                Flaw(
                    "empty",
                    task.task_id,
                    "it changes nothing and asks for no answer: doing nothing solves it",
                )
            )
        if good:
            sound.append(task)
    stage = Stage(environment, fallback_map, FaultSettings())
    decisive = dict.fromkeys(tool for task in sound for tool in stage.decisive(task))
    makeable = {s.value: sum(stage.set_up(s, task) is not None for task in sound) for s in TROUBLED}
    substitutes = {tool: _stand_ins(fallback_map, tool) for tool in decisive}
    scripted = sum(task.scripted for task in environment.tasks)
    return EnvironmentReport(
        environment.domain, scripted, gold, writing, cut_short, makeable, substitutes, tuple(dict.fromkeys(flaws)),
        len(environment.tasks) - scripted,
    )  # fmt: skip


def _replayed(environment: Environment, task: Task) -> Iterator[Flaw]:
    """Yield what is wrong with the gold solution of a task: it is run twice, and every read is looked at."""
    run, session = dry_run(environment, task)
    if not solved(task, session.digest(), run):
        if run.stuck_at is not None:
            stuck = task.steps[run.stuck_at].tool
            what = f"the gold stops at step {run.stuck_at + 1}, {stuck}: a value it needs was not shown"
        else:
            what = "the gold calls do not lead to the goal"
        yield Flaw("gold", task.task_id, what)
    one, other = environment.open(task), environment.open(task)
    if one.digest() != other.digest():
        yield Flaw(
            "deterministic", task.task_id, "two new sessions differ: something is shared, or drawn at random"
        )
    for number, step in enumerate(task.steps):
        before = one.digest() if step.effect is Effect.READ else ""
        first = _answer(one.call, step.tool, step.arguments)
        if before and one.digest() != before:
            yield Flaw(
                "read only", step.tool, f"it is said to read, and changes the state (task {task.task_id})"
            )
        if first != _answer(other.call, step.tool, step.arguments):
            what = f"step {number + 1} of task {task.task_id} answers otherwise when it is replayed"
            yield Flaw("deterministic", step.tool, what)
            return
    if one.digest() != other.digest():
        yield Flaw("deterministic", task.task_id, "two replays end in different states")


def _answer(call: Any, tool: str, arguments: Mapping[str, Any]) -> bytes:
    try:
        return canonical(call(tool, dict(arguments)))
    except Exception as error:  # noqa: BLE001 - a tool may raise anything; that it does twice is what counts
        return canonical(f"{type(error).__name__}: {error}")


def _last_change(environment: Environment, task: Task) -> int | None:
    """Return the last step that changes something; what only sends a note may leave no trace."""
    session, last = environment.open(task), None
    for number, step in enumerate(task.steps):
        before = len(session.writes)
        _answer(session.call, step.tool, step.arguments)
        last = number if len(session.writes) > before else last
    return last


def _reaches_without(environment: Environment, task: Task, left_out: int) -> bool:
    session = environment.open(task)
    for number, step in enumerate(task.steps):
        if number != left_out:
            _answer(session.call, step.tool, step.arguments)
    return session.digest() == task.goal


def _unknown_tools(environment: Environment, fallback_map: FallbackMap) -> Iterator[Flaw]:
    for name in fallback_map.tools:
        if name not in environment.tools:
            hint = did_you_mean(name, environment.tools)
            yield Flaw("map", name, f"the map names it, and the environment has no such tool{hint}")


def _stand_ins(fallback_map: FallbackMap, tool: str) -> tuple[str, ...]:
    entry = fallback_map.tools.get(tool)
    names = (getattr(edge, "tool", None) for edge in entry.fallbacks) if entry else ()
    return tuple(dict.fromkeys(name or "a chain of tools" for name in names))


__all__ = ["EnvironmentReport", "Flaw", "check_environment"]
