"""Where does it pay to learn? The heterogeneous profile over a grid.

Each cell says how far tools differ, how tight budgets are and how much was learned, and how btm does there against the
best fixed order in hindsight. The best is picked on the very episodes that it is compared on, which favours it. Two
controls stand beside it: the same evidence dealt out to other keys (what is left without knowing which tool is which),
and btm told the true chances (the most that learning could give).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean

from btm.lab.arms import ORDERS
from btm.lab.metrics import Episode, Paired, best_fixed, compare
from btm.lab.request import HETEROGENEOUS, Progress, Request
from btm.lab.runner import evaluate
from btm.model import ErrorKind

CONTRASTS = (0.0, 0.4, 0.7, 1.0)
ALLOWANCES = ((1.0, 1.3), (1.5, 2.5), (2.5, 3.5), (5.0, 6.0))
SHUFFLED, INFORMED, UNLEARNED = "btm:shuffled", "btm:informed", "btm:priors-only"
GRID_ARMS = (
    *("btm", SHUFFLED, UNLEARNED, INFORMED),
    *(name for name, order in ORDERS.items() if order.repeats or not order.switch_first),
)
"""What runs in every cell; without repeats two orders are one."""


@dataclass(frozen=True, slots=True)
class KindSolved:
    """What arms solved of a cell's episodes with a kind of fault on the task's path (others may be on it too): rates.

    ``episodes`` are those of each arm.
    """

    kind: str
    episodes: int
    btm: float
    best: float
    shuffled: float
    informed: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what each arm solved (a rate), and btm against the best order and against the controls.

    ``episodes`` are those of each arm. Differences are rates too; the first arm is the one that is named first.
    ``double_writes`` are btm's, told the chances or not. ``by_kind`` has the kinds of fault that were met.
    """

    contrast: float
    allowance: tuple[float, float]
    passes: int
    worlds: int
    episodes: int
    solved: Mapping[str, float]
    best: str
    against_best: Paired
    against_shuffled: Paired
    informed_against_best: Paired
    double_writes: int
    by_kind: tuple[KindSolved, ...] = ()


def run_grid(
    request: Request,
    contrasts: Sequence[float] = CONTRASTS,
    allowances: Sequence[tuple[float, float]] = ALLOWANCES,
    passes: Sequence[int] = (5,),
    *,
    progress: Progress | None = None,
    told: Callable[[Cell], None] | None = None,
) -> tuple[Cell, ...]:
    """Run every cell of a grid in the worlds and on the tasks of ``request``; ``told`` is shown each when it is done."""
    wanted = list(product(passes, contrasts, allowances))
    found: list[Cell] = []
    for number, (times, contrast, allowance) in enumerate(wanted):
        here = replace(
            request,
            profile=HETEROGENEOUS,
            arms=GRID_ARMS,
            contrast=contrast,
            allowance=allowance,
            passes=times,
        )
        found.append(_cell(here, evaluate(here, progress=_part(progress, number, len(wanted))).episodes))
        if told is not None:
            told(found[-1])
    return tuple(found)


def _part(progress: Progress | None, number: int, parts: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, parts * total)


def _cell(request: Request, episodes: Sequence[Episode]) -> Cell:
    best = best_fixed(episodes)
    assert best is not None  # noqa: S101 - the orders are among the grid's arms
    by_arm = {arm: [e for e in episodes if e.arm == arm] for arm in GRID_ARMS}
    return Cell(
        contrast=request.contrast,
        allowance=request.allowance,
        passes=request.passes,
        worlds=request.worlds,
        episodes=len(by_arm["btm"]),
        solved={arm: sum(e.solved for e in mine) / len(mine) for arm, mine in by_arm.items()},
        best=best,
        against_best=compare(episodes, "btm", best),
        against_shuffled=compare(episodes, "btm", SHUFFLED),
        informed_against_best=compare(episodes, INFORMED, best),
        double_writes=sum(e.double_writes for e in episodes if e.arm in ("btm", INFORMED)),
        by_kind=tuple(_by_kind(by_arm, best)),
    )


def _by_kind(by_arm: Mapping[str, Sequence[Episode]], best: str) -> Iterator[KindSolved]:
    def solved(arm: str, kind: ErrorKind) -> float:
        return fmean(e.solved for e in by_arm[arm] if kind in e.kinds)

    for kind in ErrorKind:
        number = sum(kind in e.kinds for e in by_arm["btm"])
        if number:
            arms = ("btm", best, SHUFFLED, INFORMED)
            yield KindSolved(kind, number, *(solved(arm, kind) for arm in arms))
