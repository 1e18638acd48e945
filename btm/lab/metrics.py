"""What an evaluation measures: one record an episode, summed up by arm, scenario and kind of fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from btm.lab.intervals import Interval, Pairs, mcnemar, paired_interval, wilson
from btm.model import ErrorKind

ALL = "all"
"""The name under which the sum over a run's scenarios is reported."""

FIXED = "order:"
"""What the names of fixed orders begin with."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One task, tried once by one arm.

    ``kinds`` are the faults that waited on the task's path, the same for every arm. ``calls`` reached the tools.
    ``identical_repeats`` repeated, unchanged, a call that had just failed. ``double_writes`` are changes that
    really happened more often than asked for. ``escalated`` says that the task was handed to a human although
    its script does not ask for that. ``elapsed_s`` is simulated time, ``cost`` what the calls cost (1 each unless
    a profile says otherwise), ``exhausted`` that a step budget ended it, ``world`` the seed of the tools' characters.
    ``faults_met`` counts the calls that a fault struck; ``waited_s`` is what of the time went by in those and between calls.
    ``trials`` counts how often the task was begun anew, ``longest_loop`` how
    often one failed call was repeated at most, ``wrong_writes`` changes that the task does not ask for.
    ``injected_chars`` is the length of what the arm said to the agent, ``claimed`` that the agent ended as if all was done.
    ``model_tokens`` are those that a model read and wrote, over all turns, by its server's count; 0 without a model.
    ``noise`` names the noise of the user or of the tools in the episode, ``""`` where there is none.
    """

    arm: str
    scenario: str
    task_id: str
    kinds: frozenset[ErrorKind]
    solved: bool
    escalated: bool
    calls: int
    identical_repeats: int
    double_writes: int
    elapsed_s: float
    cost: float = 0.0
    exhausted: bool = False
    world: int = 0
    faults_met: int = 0
    waited_s: float = 0.0
    trials: int = 1
    longest_loop: int = 0
    wrong_writes: int = 0
    injected_chars: int = 0
    claimed: bool = False
    model_tokens: int = 0
    noise: str = ""

    @property
    def dropped(self) -> bool:
        """Whether the task ended neither solved nor handed to a human."""
        return not self.solved and not self.escalated

    @property
    def cleanly(self) -> bool:
        """Whether the task was solved without a wrong or doubled change on the way."""
        return self.solved and not self.wrong_writes and not self.double_writes


@dataclass(frozen=True, slots=True)
class Result:
    """Episodes of one arm in one scenario (``fault_kind`` None: with any fault), summed up.

    ``success`` is a rate with its 95 % interval (over worlds and tasks, where those repeat); the rest are
    counts over all episodes.
    """

    arm: str
    scenario: str
    fault_kind: ErrorKind | None
    episodes: int
    success: float
    low: float
    high: float
    calls: int
    identical_repeats: int
    double_writes: int
    escalated: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Paired:
    """Arm ``a`` against arm ``b`` on the same episodes: success of a minus that of b, interval, and p.

    Where each episode has a task of its own, they are independent: Newcombe's interval and McNemar's p. Where tasks
    repeat, over scenarios or worlds, both come from resampling worlds and tasks (:mod:`btm.lab.resampling`).
    """

    a: str
    b: str
    scenario: str
    difference: float
    low: float
    high: float
    p: float


def results(episodes: Sequence[Episode], scenarios: Sequence[str] = ()) -> tuple[Result, ...]:
    """Sum up by scenario and arm: all kinds of fault together, then each; last the whole run.

    ``scenarios`` gives their order; without it they stand in the order of the episodes.
    """
    found: list[Result] = []
    scenarios = scenarios or _ordered(e.scenario for e in episodes)
    for scenario in [*scenarios, *([ALL] if len(scenarios) > 1 else [])]:
        here = [e for e in episodes if scenario in (e.scenario, ALL)]
        for arm in _ordered(e.arm for e in here):
            mine = [e for e in here if e.arm == arm]
            found.append(_summed(arm, scenario, None, mine))
            for kind in ErrorKind:
                with_kind = [e for e in mine if kind in e.kinds]
                if with_kind:
                    found.append(_summed(arm, scenario, kind, with_kind))
    return tuple(found)


def _summed(arm: str, scenario: str, kind: ErrorKind | None, episodes: Sequence[Episode]) -> Result:
    solved = sum(e.solved for e in episodes)
    interval = _rate_interval(episodes, solved)
    return Result(
        arm=arm,
        scenario=scenario,
        fault_kind=kind,
        episodes=len(episodes),
        success=solved / len(episodes),
        low=interval.low,
        high=interval.high,
        calls=sum(e.calls for e in episodes),
        identical_repeats=sum(e.identical_repeats for e in episodes),
        double_writes=sum(e.double_writes for e in episodes),
        escalated=sum(e.escalated for e in episodes),
        dropped=sum(e.dropped for e in episodes),
    )


def _rate_interval(episodes: Sequence[Episode], solved: int) -> Interval:
    plain = wilson(solved, len(episodes))
    if _independent(episodes):
        return plain
    from btm.lab.resampling import mean_over  # noqa: PLC0415 - numpy is only needed where units repeat

    found = mean_over(_cells((e, float(e.solved)) for e in episodes)).interval
    # Where all or none are solved, draws are all alike: then what is left unsure is Wilson's.
    return found if found.low < found.high else plain


def _independent(episodes: Sequence[Episode]) -> bool:
    """Whether each episode is of a task of its own, in one world."""
    return len({e.world for e in episodes}) == 1 and len({e.task_id for e in episodes}) == len(episodes)


def _cells(values: Iterable[tuple[Episode, float]]) -> dict[tuple[int, str], tuple[float, int]]:
    found: dict[tuple[int, str], tuple[float, int]] = {}
    for e, value in values:
        total, number = found.get((e.world, e.task_id), (0.0, 0))
        found[e.world, e.task_id] = total + value, number + 1
    return found


def _both_tried(episodes: Iterable[Episode], a: str, b: str) -> list[tuple[Episode, Episode]]:
    by_arm: dict[str, dict[tuple[str, str, int], Episode]] = {a: {}, b: {}}
    for e in episodes:
        if e.arm in by_arm:
            by_arm[e.arm][e.scenario, e.task_id, e.world] = e
    return [(e, by_arm[b][key]) for key, e in by_arm[a].items() if key in by_arm[b]]


def paired(episodes: Sequence[Episode], scenarios: Sequence[str] = ()) -> tuple[Paired, ...]:
    """Compare every two arms in every scenario; the arm that comes later in the run is ``a``."""
    found: list[Paired] = []
    scenarios = scenarios or _ordered(e.scenario for e in episodes)
    for scenario in [*scenarios, *([ALL] if len(scenarios) > 1 else [])]:
        here = [e for e in episodes if scenario in (e.scenario, ALL)]
        for b, a in combinations(_ordered(e.arm for e in here), 2):
            found.append(compare(here, a, b, scenario))
    return tuple(found)


def compare(episodes: Sequence[Episode], a: str, b: str, scenario: str = ALL) -> Paired:
    """Compare two arms on the episodes that both tried."""
    tried = _both_tried(episodes, a, b)
    pairs = _counted(tried)
    interval, p = paired_interval(pairs), mcnemar(pairs)
    if tried and not _independent([one for one, _ in tried]):
        from btm.lab.resampling import mean_over  # noqa: PLC0415 - numpy is only needed where units repeat

        mean = mean_over(_cells((one, float(one.solved) - float(other.solved)) for one, other in tried))
        if mean.interval.low < mean.interval.high:
            interval, p = mean.interval, mean.p
    return Paired(a, b, scenario, pairs.difference, interval.low, interval.high, p)


def pair_up(episodes: Iterable[Episode], a: str, b: str) -> Pairs:
    """Count how many of the episodes that both arms tried both, one or neither of them solved."""
    return _counted(_both_tried(episodes, a, b))


def _counted(tried: Iterable[tuple[Episode, Episode]]) -> Pairs:
    counts = Counter((one.solved, other.solved) for one, other in tried)
    return Pairs(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def best_fixed(episodes: Sequence[Episode]) -> str | None:
    """Return the fixed order that solved most, the first of several; None when none ran."""
    solved: dict[str, int] = {}
    for episode in episodes:
        if episode.arm.startswith(FIXED):
            solved[episode.arm] = solved.get(episode.arm, 0) + episode.solved
    return max(solved, key=lambda name: solved[name], default=None)


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
