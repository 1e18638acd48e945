"""Runs every arm on the same tasks under the same faults, and records each episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from btm.errors import EvaluationError, did_you_mean
from btm.fallback import FallbackMap
from btm.lab.arms import BTM_ARMS, ORDERS, Arm, check_arms, plain_arm
from btm.lab.environment import Environment, Task, load_environment
from btm.lab.episodes import APART_S, run_episode
from btm.lab.faults.clock import START
from btm.lab.kept import Kept
from btm.lab.loading import map_of
from btm.lab.metrics import Episode
from btm.lab.names import no_such
from btm.lab.noisy import Noise
from btm.lab.own_agent import agent_of
from btm.lab.request import HETEROGENEOUS, OUTAGE, PROFILES, UNIFORM, Evaluation, Progress, Request
from btm.lab.scenarios import Scenario, Setup, Stage

__all__ = ["APART_S", "PROFILES", "Evaluation", "Progress", "Request", "choose_tasks", "evaluate", "make_arm"]


def evaluate(
    request: Request, *, progress: Progress | None = None, look: Callable[[Arm], None] | None = None
) -> Evaluation:
    """Run an evaluation. The same request gives the same episodes, to the byte.

    ``look`` is shown each arm when its last episode is over, before it is closed. Raises EvaluationError for
    an unknown domain, arm, profile or task, and when no task is left for a scenario; MissingExtraError when a
    domain's package is absent.
    """
    if len(request.seeds) > 1:
        return _over_seeds(request, progress, look)
    wanted = (*request.arms, *(ORDERS if request.best_fixed else ()))
    arms = check_arms(wanted)
    if request.profile not in PROFILES:
        raise no_such("profile", request.profile, PROFILES)
    environment = load_environment(request.domain, request.fallback_map)
    tasks = _playable(request, environment)
    if request.noise is not None and request.profile != UNIFORM:
        raise EvaluationError("noise goes with the uniform profile only")
    if request.profile == HETEROGENEOUS:
        from btm.lab.holdout import evaluate_held_out  # noqa: PLC0415 - the plain arms need no memory

        made = evaluate_held_out(
            replace(request, arms=arms), environment, tasks, progress=progress, look=look
        )
        return replace(made, request=request)
    if request.profile == OUTAGE:
        from btm.lab.outage import evaluate_outage  # noqa: PLC0415 - as above

        made = evaluate_outage(
            replace(request, arms=arms),
            environment,
            tasks,
            lambda name, fallback_map: make_arm(name, request, fallback_map),
            progress=progress,
            look=look,
        )
        return replace(made, request=request)
    fallback_map = map_of(environment)
    stage = Stage(environment, fallback_map, request.faults, agent=agent_of(request, environment))
    noise = None
    if request.noise is not None:
        noise = Noise(request.noise, environment, stage.shapes, request.faults.seed, request.faults.rate)
    setups, left_out = _set_up(stage, request, tasks, noise)
    episodes: list[Episode] = []
    kept = Kept()
    total = len(setups) * len(arms)
    for name in arms:
        arm = make_arm(name, request, fallback_map)
        try:
            for number, setup in enumerate(setups):
                episodes.append(run_episode(arm, setup, stage, START + number * APART_S))
                if progress is not None:
                    progress(len(episodes), total)
            kept.look(arm)
            if look is not None:
                look(arm)
        finally:
            arm.close()
    unmade = dict(noise.dropped) if noise is not None else {}
    return Evaluation(
        request, tuple(episodes), left_out, environment.left_out, kept.learned, tuple(kept.replays), unmade
    )


def _over_seeds(
    request: Request, progress: Progress | None, look: Callable[[Arm], None] | None
) -> Evaluation:
    """Run the request under each of its seeds; the episodes of each are those of a world of their own."""
    runs: list[Evaluation] = []
    for number, seed in enumerate(request.seeds):
        single = replace(
            request,
            seeds=(),
            faults=replace(request.faults, seed=seed),
            database=None if number else request.database,
        )

        def tell(done: int, total: int, number: int = number) -> None:
            if progress is not None:
                progress(number * total + done, len(request.seeds) * total)

        runs.append(evaluate(single, progress=tell, look=look))
    return join_seeds(request, runs)


def join_seeds(request: Request, runs: Sequence[Evaluation]) -> Evaluation:
    """Return one evaluation of those under each seed of a request, in their order."""
    apart: dict[tuple[int, int], int] = {}  # each seed has worlds, or rounds, of its own
    episodes = tuple(
        replace(e, world=apart.setdefault((seed, e.world), len(apart)))
        for seed, run in zip(request.seeds, runs, strict=True)
        for e in run.episodes
    )
    left_out = {s: sum(run.left_out.get(s, 0) for run in runs) for s in runs[0].left_out}
    unmade: Counter[str] = Counter()
    for run in runs:
        unmade.update(run.unmade)
    first = runs[0]
    return Evaluation(request, episodes, left_out, first.unusable, first.learned, first.replays, dict(unmade))


def make_arm(name: str, request: Request, fallback_map: FallbackMap) -> Arm:
    """Return the arm of a name; the first arm with btm of a run writes the request's database."""
    if name not in BTM_ARMS:
        return plain_arm(name)
    from btm.lab.memory_arms import memory_arm  # noqa: PLC0415 - the plain arms need no memory

    writer = next(arm for arm in request.arms if arm in BTM_ARMS)
    return memory_arm(name, fallback_map, request.faults.seed, request.database if name == writer else None)


def choose_tasks(environment: Environment, wanted: int | Sequence[str] | None) -> tuple[Task, ...]:
    """Return the wanted tasks in the domain's order. Raises EvaluationError that names the nearest id."""
    if not environment.tasks:
        why = next((f": {name}: {reason}" for name, reason in environment.left_out.items()), "")
        raise EvaluationError(
            f"{environment.domain} has no task that can be used{why} (btm env check says more)"
        )
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
            raise EvaluationError(
                f"{environment.domain} has no task {task_id!r}{did_you_mean(task_id, known)}"
            )
    return tuple(task for task in environment.tasks if task.task_id in wanted)


def _playable(request: Request, environment: Environment) -> tuple[Task, ...]:
    """Return the wanted tasks that are not shown, and that the request's agent can play."""
    shown = choose_tasks(environment, request.shown)
    tasks = tuple(task for task in choose_tasks(environment, request.tasks) if task not in shown)
    if request.agent is None:
        tasks = tuple(task for task in tasks if task.scripted)
        if not tasks:
            raise EvaluationError("these tasks have no gold calls: only --agent or --base-url can play them")
    return tasks


def _set_up(
    stage: Stage, request: Request, tasks: Sequence[Task], noise: Noise | None
) -> tuple[list[Setup], dict[Scenario, int]]:
    """Set up every episode: task by task, so that what an arm learns comes from all scenarios alike."""
    setups: list[Setup] = []
    left_out = dict.fromkeys(request.scenarios, 0)
    for number, plain in enumerate(tasks):
        task, said = noise.on_task(number, tasks) if noise is not None else (plain, "")
        for scenario in request.scenarios:
            setup = stage.set_up(scenario, task)
            if setup is None:
                left_out[scenario] += 1
            else:
                setups.append(setup if noise is None else noise.on_tools(setup, said, number, len(tasks)))
    if not setups:
        named = ", ".join(left_out)
        raise EvaluationError(f"{named} cannot be made for any of these tasks with these kinds of fault")
    return setups, left_out
