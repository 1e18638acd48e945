"""How far two judges agree, and how right they are where they do, as far as a person has looked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from btm.judge.record import CallName, JudgedCall
from btm.judge.verdict import CallState

RECHECKED = 0.05
"""Share of agreed verdicts that a person is asked about, too."""

EXPECTED = "the paper expects agreement of 75-85 % and precision of agreed verdicts of 90-95 %"
"""Printed beside what was measured; nothing here claims it."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts over judged calls. ``kappa`` is Cohen's, None where it is not defined (both judges always say the same).

    ``checked`` are calls that two judges agreed about and a person has looked at, ``right`` those where all three agree.
    """

    calls: int
    agreed: int
    split: int
    waiting: int
    reviewed: int
    failed: int
    share: float | None
    kappa: float | None
    checked: int
    right: int


def agreement(calls: Iterable[JudgedCall]) -> Agreement:
    """Return how far judges agree."""
    found = list(calls)
    both = [
        (one.verdicts[0].satisfied, one.verdicts[1].satisfied, one)
        for one in found
        if len(one.verdicts) > 1 and None not in (one.verdicts[0].satisfied, one.verdicts[1].satisfied)
    ]
    same = [one for a, b, one in both if a == b]
    checked = [one for one in same if one.review is not None]
    right = sum(
        one.review.satisfied == one.verdicts[0].satisfied for one in checked if one.review is not None
    )
    agreed = sum(one.state is CallState.AGREED for one in found)
    reviewed = sum(one.review is not None for one in found)
    return Agreement(
        calls=len(found),
        agreed=len(same),
        split=len(found) - len(same),
        waiting=len(found) - agreed - reviewed,
        reviewed=reviewed,
        failed=sum(one.satisfied is False for one in found),
        share=len(same) / len(both) if both else None,
        kappa=kappa([(bool(a), bool(b)) for a, b, _ in both]),
        checked=len(checked),
        right=right,
    )


def kappa(pairs: Iterable[tuple[bool, bool]]) -> float | None:
    """Return Cohen's kappa of two judges (J. Cohen, Educational and Psychological Measurement 20, 1960).

    None where there is no pair, or where chance alone would have them agree always.
    """
    found = list(pairs)
    if not found:
        return None
    n = len(found)
    observed = sum(a == b for a, b in found) / n
    first, second = sum(a for a, _ in found) / n, sum(b for _, b in found) / n
    chance = first * second + (1 - first) * (1 - second)
    return None if chance >= 1.0 else (observed - chance) / (1.0 - chance)


def picked(call: CallName, share: float) -> bool:
    """Whether a call is in a random share of all, the same at every asking."""
    drawn = hashlib.blake2b("\0".join(call).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(drawn) < share * 2**64
