"""Does a card foretell what gets a call going in logs it was not mined from?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from btm.skills.card import SkillCard
from btm.skills.tries import RunRecord, SkillTry


@dataclass
class Foretold:
    """What held-out runs came to where a card fits: its own first step, and any other first step there."""

    card: SkillCard
    followed: int = 0
    worked: int = 0
    others: int = 0
    others_worked: int = 0


def foretold(cards: Sequence[SkillCard], runs: Iterable[RunRecord]) -> list[Foretold]:
    """Count the first tries of runs that a card was not mined from, by card."""
    counts = [Foretold(card) for card in cards]
    for run in runs:
        first: dict[int, SkillTry] = {}
        for one in run.tries:
            first.setdefault(one.step, one)
        for count in counts:
            card = count.card
            if any(run.name in pair.split(" > ") for pair in card.evidence.pairs):
                continue
            for one in first.values():
                if card.trigger.tool not in ("*", one.tool) or one.kind not in card.trigger.kinds:
                    continue
                if (one.action, one.target) == (card.first.action, card.target):
                    count.followed += 1
                    count.worked += one.worked
                else:
                    count.others += 1
                    count.others_worked += one.worked
    return counts
