"""Runs every arm on the same tasks under the same faults, and records each episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from btm.errors import EvaluationError, nearest
from btm.evaluation.agent import AgentRun, run_agent, solved
from btm.evaluation.arms import BTM_ARMS, Arm, check_arms, plain_arm
from btm.evaluation.desk import Desk, OutOfBudgetError
from btm.evaluation.environment import Environment, Task, double_writes, load_environment
from btm.evaluation.metrics import Episode
from btm.evaluation.scenarios import TROUBLED, Scenario, Setup, Stage
from btm.evaluation.world import World
from btm.fallback import FallbackMap
from btm.faults.clock import START, VirtualClock
from btm.faults.settings import FaultSettings

APART_S = 86_400.0
"""Simulated time from the start of one episode to the start of the next: a tool's bad hour is over by then."""

PROFILES: Mapping[str, str] = {
    "uniform": "every failing call heals within the same number of repeats",
    "heterogeneous": "each tool has its own healing chances, reliability and cost; each task a step budget",
}
"""How tools differ, each with what it is."""

Progress = Callable[[int, int], None]
"""Told how many episodes are done, out of how many."""


@dataclass(frozen=True)
class Request:
    """What to evaluate.

    ``tasks`` is how many of a domain's tasks to take from the first on, or their ids; None takes all.
    """

    domain: str = "shop"
    scenarios: tuple[Scenario, ...] = TROUBLED
    arms: tuple[str, ...] = ("bare", "retry3", "btm")
    faults: FaultSettings = field(default_factory=FaultSettings)
    profile: str = "uniform"
    tasks: int | tuple[str, ...] | None = None
    database: str | None = None


@dataclass(frozen=True)
class Evaluation:
    """What came of a run. ``left_out`` counts, by scenario, the tasks for which it cannot be made."""

    request: Request
    episodes: tuple[Episode, ...]
    left_out: Mapping[Scenario, int]
    unusable: Mapping[str, str]


def evaluate(
    request: Request,
    *,
    progress: Progress | None = None,
    look: Callable[[Arm], None] | None = None,
) -> Evaluation:
    """Run an evaluation. The same request gives the same episodes, to the byte.

    ``look`` is shown each arm when its last episode is over, before it is closed. Raises EvaluationError for
    an unknown domain, arm, profile or task, and when no task is left for a scenario; MissingExtraError when a
    domain's package is absent.
    """
    arms = check_arms(request.arms)
    if request.profile not in PROFILES:
        close = nearest(request.profile, PROFILES)
        hint = f"; did you mean {close!r}?" if close else ""
        raise EvaluationError(
            f"there is no profile {request.profile!r}: expected {' or '.join(PROFILES)}{hint}"
        )
    environment = load_environment(request.domain)
    fallback_map = FallbackMap.load(environment.fallback_map)
    world = World(request.faults.seed) if request.profile == "heterogeneous" else None
    stage = Stage(environment, fallback_map, request.faults, world)
    setups, left_out = _set_up(stage, request, choose_tasks(environment, request.tasks))
    episodes: list[Episode] = []
    total = len(setups) * len(arms)
    for name in arms:
        arm = make_arm(name, request, fallback_map)
        try:
            for number, setup in enumerate(setups):
                episodes.append(_episode(arm, setup, stage, START + number * APART_S))
                if progress is not None:
                    progress(len(episodes), total)
            if look is not None:
                look(arm)
        finally:
            arm.close()
    return Evaluation(request, tuple(episodes), left_out, environment.left_out)


def make_arm(name: str, request: Request, fallback_map: FallbackMap) -> Arm:
    """Return the arm of a name; the first arm with btm of a run writes the request's database."""
    if name not in BTM_ARMS:
        return plain_arm(name)
    from btm.evaluation.memory_arms import memory_arm  # noqa: PLC0415 - the plain arms need no memory

    writer = next(arm for arm in request.arms if arm in BTM_ARMS)
    return memory_arm(name, fallback_map, request.faults.seed, request.database if name == writer else None)


def choose_tasks(environment: Environment, wanted: int | Sequence[str] | None) -> tuple[Task, ...]:
    """Return the wanted tasks in the domain's order. Raises EvaluationError that names the nearest id."""
    if wanted is None:
        return tuple(environment.tasks)
    if isinstance(wanted, int):
        if wanted < 1:
            raise EvaluationError(f"the number of tasks is at least 1, not {wanted}")
        return tuple(environment.tasks[:wanted])
    known = [task.task_id for task in environment.tasks]
    for task_id in wanted:
        if task_id in environment.left_out:
            raise EvaluationError(f"task {task_id!r} cannot be used: {environment.left_out[task_id]}")
        if task_id not in known:
            close = nearest(task_id, known)
            hint = f"; did you mean {close!r}?" if close else ""
            raise EvaluationError(f"{environment.domain} has no task {task_id!r}{hint}")
    return tuple(task for task in environment.tasks if task.task_id in wanted)


def _set_up(stage: Stage, request: Request, tasks: Sequence[Task]) -> tuple[list[Setup], dict[Scenario, int]]:
    """Set up every episode: task by task, so that what an arm learns comes from all scenarios alike."""
    setups: list[Setup] = []
    left_out = dict.fromkeys(request.scenarios, 0)
    for task in tasks:
        for scenario in request.scenarios:
            setup = stage.set_up(scenario, task)
            if setup is None:
                left_out[scenario] += 1
            else:
                setups.append(setup)
    for scenario, count in left_out.items():
        if count == len(tasks):
            raise EvaluationError(
                f"{scenario} cannot be made for any of these tasks with these kinds of fault"
            )
    return setups, left_out


def _episode(arm: Arm, setup: Setup, stage: Stage, start: float) -> Episode:
    bounded = setup.drawn is Scenario.RETRY_WORKS
    desk = Desk.lay(
        setup,
        stage.environment,
        stage.fallback_map,
        stage.shapes,
        clock=VirtualClock(start),
        world=stage.world,
        faults=stage.settings.budget if bounded else None,
    )
    run: AgentRun | None = None
    try:
        run = run_agent(setup.task, arm.calls(desk), tools=desk.environment.tools, wait=desk.clock.sleep)
    except OutOfBudgetError:
        pass  # the episode ends here, undone
    finally:
        arm.done(desk)
    injector = desk.injector
    return Episode(
        arm=arm.name,
        scenario=setup.scenario,
        task_id=setup.task.task_id,
        kinds=setup.kinds,
        solved=run is not None and _solved(desk, run),
        escalated=run is not None and run.escalated,
        calls=len(injector.calls),
        identical_repeats=injector.identical_repeats,
        double_writes=double_writes(setup.task, desk.session.writes),
        elapsed_s=round(desk.clock.elapsed, 6),
        cost=desk.cost,
        exhausted=run is None,
    )


def _solved(desk: Desk, run: AgentRun) -> bool:
    """Judge a run; the database is only hashed (slow for large ones) where the answer hangs on it."""
    task = desk.setup.task
    return solved(task, task.goal, run) and solved(task, desk.session.digest(), run)
