"""One evaluation over several processes: the same episodes, in the same order, whatever their number.

A memory learns from one episode to the next, so an arm's episodes stay together, in one process; arms do not know of each
other, and neither do seeds. So the work is cut by seeds, then by arms, and what is finished of it can be kept in a file.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import btm
from btm.errors import EvaluationError
from btm.lab.arms import BTM_ARMS, ORDERS, check_arms
from btm.lab.metrics import Episode
from btm.lab.report import command_line
from btm.lab.request import HETEROGENEOUS, Evaluation, Progress, Request
from btm.lab.run_log import RunLog
from btm.lab.runner import evaluate, join_seeds
from btm.lab.scenarios import Scenario
from btm.model import ErrorKind


def evaluate_over(
    request: Request, workers: int, progress: Progress | None = None, resume: str | None = None
) -> Evaluation:
    """Run an evaluation in so many processes; see :func:`btm.lab.runner.evaluate`. ``progress`` counts pieces of work.

    ``resume`` names a file that keeps what is finished (:class:`FinishedPieces`): each arm under each seed is a piece then.
    Raises EvaluationError for no worker, and what ``evaluate`` raises.
    """
    if workers < 1:
        raise EvaluationError(f"there is at least one worker, not {workers}")
    arms = check_arms((*request.arms, *(ORDERS if request.best_fixed else ())))
    pieces = _pieces(request, arms, workers if resume is None else len(arms) * max(1, len(request.seeds)))
    if resume is None and (workers == 1 or len(pieces) == 1):
        return evaluate(request, progress=progress)
    kept = FinishedPieces(resume, request) if resume is not None else None
    runs: dict[int, Evaluation] = {}
    for number, piece in enumerate(pieces):
        before = kept.get(piece) if kept is not None else None
        if before is not None:
            runs[number] = before
    for number, made in _run_all(pieces, [n for n in range(len(pieces)) if n not in runs], workers):
        runs[number] = made
        if kept is not None:
            kept.add(pieces[number], made)
        if progress is not None:
            progress(len(runs), len(pieces))
    return _joined(request, arms, [runs[number] for number in range(len(pieces))])


def _run_all(
    pieces: Sequence[Request], which: Sequence[int], workers: int
) -> Iterator[tuple[int, Evaluation]]:
    """Yield each piece of work with its number when it is done."""
    if workers == 1:
        yield from ((number, _run(pieces[number])) for number in which)
        return
    # Processes of their own: a forked one would share locks and clients of this one.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, min(workers, len(which))), mp_context=context) as pool:
        waiting = {pool.submit(_run, pieces[number]): number for number in which}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _run(piece: Request) -> Evaluation:
    """Run a piece of work in its process, and return what can travel between processes."""
    made = evaluate(piece)
    return replace(made, request=piece, left_out=dict(made.left_out), unusable=dict(made.unusable))


def _pieces(request: Request, arms: tuple[str, ...], workers: int) -> list[Request]:
    """Cut a request by seeds, and by arms where there are more workers than seeds: arms with btm take longest."""
    seeds = request.seeds or (request.faults.seed,)
    shares = max(1, min(len(arms), -(-workers // len(seeds))))
    slow_first = sorted(arms, key=lambda arm: (arm not in BTM_ARMS, arms.index(arm)))
    writer = next((arm for arm in request.arms if arm in BTM_ARMS), None)
    pieces = []
    for number, seed in enumerate(seeds):
        for share in range(shares):
            mine = tuple(sorted(slow_first[share::shares], key=arms.index))
            database = request.database if number == 0 and writer in mine else None
            faults = replace(request.faults, seed=seed, weights=dict(request.faults.weights))
            single = replace(request, arms=mine, faults=faults, seeds=(), best_fixed=False, database=database)
            pieces.append(single)
    return pieces


def _joined(request: Request, arms: tuple[str, ...], runs: list[Evaluation]) -> Evaluation:
    """Put the pieces together as one process would have made them."""
    seeds = request.seeds or (request.faults.seed,)
    each = [_one_seed(request, arms, [r for r in runs if r.request.faults.seed == seed]) for seed in seeds]
    return join_seeds(request, each) if len(request.seeds) > 1 else each[0]


def _one_seed(request: Request, arms: tuple[str, ...], runs: list[Evaluation]) -> Evaluation:
    """Put episodes, and what arms learned, in the order in which one process would have made them."""
    episodes = [e for run in runs for e in run.episodes]
    worlds = list(dict.fromkeys(e.world for e in episodes))
    if request.profile == HETEROGENEOUS:  # world by world, each with every arm
        episodes.sort(key=lambda e: (worlds.index(e.world), arms.index(e.arm)))
    else:
        episodes.sort(key=lambda e: arms.index(e.arm))
    learned = {arm: rows for run in runs for arm, rows in run.learned.items()}
    replays = tuple(replay for run in runs for replay in run.replays)
    first = runs[0]
    return replace(first, request=request, episodes=tuple(episodes), learned=learned, replays=replays)


_FORMAT = "btm-eval-2"


class FinishedPieces:
    """The finished pieces of a file, and a way to add to them. Raises EvaluationError as :class:`RunLog` does."""

    def __init__(self, path: str | Path, request: Request) -> None:
        head = {"format": _FORMAT, "version": btm.__version__, "command": command_line(request)}
        self._log = RunLog(path, head, "evaluation to be resumed")
        self._found: dict[str, Any] = dict(self._log.rows(lambda row: (str(row["piece"]), row)))

    def get(self, piece: Request) -> Evaluation | None:
        """Return what a piece of work came to, None where it is still to be done."""
        row = self._found.get(_name(piece))
        if row is None:
            return None
        episodes = tuple(
            Episode(**{**e, "kinds": frozenset(map(ErrorKind, e["kinds"]))}) for e in row["episodes"]
        )
        left_out = {Scenario(name): count for name, count in row["left_out"].items()}
        return Evaluation(piece, episodes, left_out, row["unusable"], unmade=row["unmade"])

    def add(self, piece: Request, made: Evaluation) -> None:
        """Keep what a piece of work came to; it is on the disk when this returns."""
        self._log.add(
            {
                "piece": _name(piece),
                "episodes": [{**asdict(e), "kinds": sorted(e.kinds)} for e in made.episodes],
                "left_out": {name.value: count for name, count in made.left_out.items()},
                "unusable": dict(made.unusable),
                "unmade": dict(made.unmade),
            }
        )


def _name(piece: Request) -> str:
    return command_line(replace(piece, database=None))
