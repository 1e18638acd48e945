"""What an arm gained and what it lost: tasks that the other arm left undone and it solved, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from btm.lab.metrics import ALL, Episode, pair_up
from btm.model import ErrorKind


@dataclass(frozen=True, slots=True)
class Net:
    """Arm against another one on the same episodes (``fault_kind`` None: with any fault). All are counts of tasks.

    ``solved_before`` is how many the other one solved: what could be lost.
    """

    arm: str
    against: str
    scenario: str
    fault_kind: ErrorKind | None
    episodes: int
    solved_before: int
    gained: int
    lost: int
    net: int


def net_of(episodes: Sequence[Episode], scenario: str) -> tuple[Net, ...]:
    """Hold every later arm against the first one in a scenario: with all kinds of fault together, then with each."""
    here = [e for e in episodes if scenario in (e.scenario, ALL)]
    first, *others = dict.fromkeys(e.arm for e in here)
    kinds: list[ErrorKind | None] = [None, *(k for k in ErrorKind if any(k in e.kinds for e in here))]
    found: list[Net] = []
    for arm in others:
        for kind in kinds:
            some = [e for e in here if kind is None or kind in e.kinds]
            pairs = pair_up(some, arm, first)
            gained, lost = pairs.only_a, pairs.only_b
            before = pairs.both + lost
            found.append(Net(arm, first, scenario, kind, pairs.n, before, gained, lost, gained - lost))
    return tuple(found)
