"""What a rollout is worth: R(tau) of BENCH2ROBUST, with its two terms written out as btm reads them.

The paper states R(tau) = 1.0 * eff * rep for a completed task, else 0.3 * (matched / required) * rep, and says in words only
that eff punishes more than 12 steps, and rep four or more identical calls in a row. The formulas are btm's own:
eff = 12/n beyond 12 calls, rep = 3/run from a run of four on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby, pairwise

PARTIAL = 0.3
"""What all gold calls without the goal are worth."""

FREE_CALLS, FREE_REPEATS = 12, 3


def efficiency(calls: int) -> float:
    """Return eff: 1 up to 12 calls, then 12 over their number."""
    return 1.0 if calls <= FREE_CALLS else FREE_CALLS / calls


def longest_run(calls: Iterable[Hashable]) -> int:
    """Return how many equal calls stand in a row, at most."""
    return max((sum(1 for _ in same) for _, same in groupby(calls)), default=0)


def repetition(run: int) -> float:
    """Return rep: 1 up to three identical calls in a row, then 3 over their number."""
    return 1.0 if run <= FREE_REPEATS else FREE_REPEATS / run


def reward(
    calls: Sequence[Hashable], *, completed: bool, matched: int, required: int, partial: bool = True
) -> float:
    """Return R(tau) in [0, 1].

    ``calls`` are names of the calls made, equal for equal ones; ``matched`` of ``required`` gold calls were made. Without
    ``partial`` a task that is not completed is worth nothing, which leaves more groups of rollouts without a difference.
    """
    rep = repetition(longest_run(calls))
    if completed:
        return efficiency(len(calls)) * rep
    return PARTIAL * matched / required * rep if partial and required else 0.0


def repeated_share(rollouts: Iterable[Sequence[Hashable]]) -> float:
    """Return the share of calls that repeat the one before, over rollouts: beyond one half a policy has collapsed."""
    repeats = total = 0
    for calls in rollouts:
        total += len(calls)
        repeats += sum(a == b for a, b in pairwise(calls))
    return repeats / total if total else 0.0
