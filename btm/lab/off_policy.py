"""What advice would have changed, from logs of agents that had none: a doubly robust off-policy estimate.

The reward of a choice is whether the next attempt on the incident works (0 where nothing more was tried). For each failure
i with advice d, the score is q(i, d) + 1{done = d} / m(i, d) · (reward - q(i, d)), where m is the chance that agents do d
there and q the chance that d works; the weights 1 / m are normalised. Both are estimated, on other conversations than the
one that is scored, and right is enough for one of them (M. Dudík, J. Langford, L. Li, "Doubly Robust Policy Evaluation and
Learning", ICML 2011; cross-fitting: V. Chernozhukov et al., "Double/debiased machine learning", Econometrics Journal 21,
2018). The interval is Student's over conversations, since the failures of one hang together.

It holds where nothing beyond a failure's tool, kind and number of tries so far made agents choose one thing and that thing
work: logs cannot show whether that is so. It says nothing of failures at which agents never did what would have been
advised; those are left out, and counted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from scipy.special import stdtrit

from btm.errors import EvaluationError
from btm.lab.backtest import Choice
from btm.model import LAST_RESORTS

FOLDS = 5
LEAST_CHANCE = 0.05
"""Where agents did what is advised less often than this, their logs say nothing of it."""

LEAST_FAILURES = 10
"""Where a tool has failed in one way less often than this, nothing is known of what agents do then."""

LEAST_EFFECTIVE = 50.0
"""An effective sample below this gives no interval to rely on."""

LEAST_CONVERSATIONS = 20
_STRENGTH = 2.0

Cell = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class AdviceEffect:
    """What would have changed, per failure: shares of next attempts that work.

    ``failures`` are those that the estimate is about, ``outside`` those at which agents (almost) never did what is advised,
    ``hand_overs`` those at which btm would hand over, which is no attempt. ``logged`` is what happened, ``advised`` the
    estimate, ``difference`` between them with its variance and 95 % interval; ``effective`` is Kish's effective sample
    size of the matching choices. Where there is too little overlap, ``refusal`` says so and there is no interval.
    """

    failures: int
    outside: int
    hand_overs: int
    conversations: int
    effective: float
    logged: float | None = None
    advised: float | None = None
    difference: float | None = None
    variance: float | None = None
    low: float | None = None
    high: float | None = None
    refusal: str = ""


def advice_effect(choices: Sequence[Choice]) -> AdviceEffect:
    """Estimate what following btm's first advice would have changed. Each choice names its conversation."""
    if any(not choice.conversation for choice in choices):
        raise EvaluationError(
            "a choice without its conversation cannot be weighed: choices of one hang together"
        )
    calls = [choice for choice in choices if choice.advised not in LAST_RESORTS]
    scored = _scored(calls)
    matching = [s.weight for s in scored if s.choice.followed]
    effective = sum(matching) ** 2 / sum(w * w for w in matching) if matching else 0.0
    by_conversation: defaultdict[str, list[_WeighedChoice]] = defaultdict(list)
    for score in scored:
        by_conversation[score.choice.conversation].append(score)
    refusal = _refusal(len(calls), len(scored), effective, len(by_conversation))
    found = AdviceEffect(
        len(scored), len(calls) - len(scored), len(choices) - len(calls), len(by_conversation), effective,
        refusal=refusal,
    )  # fmt: skip
    return found if refusal else _estimated(found, list(by_conversation.values()))


def _refusal(calls: int, scored: int, effective: float, conversations: int) -> str:
    if calls and scored < calls / 2:
        return (
            f"at {calls - scored} of {calls} failures agents never did what btm advises: the logs cannot say"
        )
    if effective < LEAST_EFFECTIVE:
        return (
            f"an effective sample of {effective:.0f} choices, under {LEAST_EFFECTIVE:.0f}: too little overlap"
        )
    if conversations < LEAST_CONVERSATIONS:
        return f"{conversations} conversations, under {LEAST_CONVERSATIONS}: too few to say how sure it is"
    return ""


@dataclass(frozen=True, slots=True)
class _WeighedChoice:
    """A choice, the chance that agents do what is advised there, and the chance that this works."""

    choice: Choice
    chance: float
    works: float

    @property
    def weight(self) -> float:
        return 1 / self.chance if self.choice.followed else 0.0

    @property
    def off(self) -> float:
        return self.choice.worked - self.works


def _scored(calls: Sequence[Choice]) -> list[_WeighedChoice]:
    """Score each choice by what other folds of conversations show; leave out where the advice was hardly ever done."""
    names = sorted({choice.conversation for choice in calls})
    fold = {name: number % FOLDS for number, name in enumerate(names)}
    seen = [_AgentHabits([c for c in calls if fold[c.conversation] != number]) for number in range(FOLDS)]
    found = [_WeighedChoice(c, *seen[fold[c.conversation]].of(c)) for c in calls]
    return [score for score in found if score.chance >= LEAST_CHANCE]


class _AgentHabits:
    """What was done at failures, and how it went, by tool, kind and tries; thin cells lean on wider ones."""

    def __init__(self, calls: Sequence[Choice]) -> None:
        self._failures: Counter[Cell] = Counter()
        self._done: Counter[Cell] = Counter()
        self._worked: Counter[Cell] = Counter()
        for choice in calls:
            *narrow, wide = _cells(choice)
            did = [(*cell, choice.done, choice.done_target) for cell in narrow]
            for cell in (*narrow, wide):
                self._failures[cell] += 1
            for one in (*did, (*wide, choice.done)):
                self._done[one] += 1
                self._worked[one] += choice.worked

    def of(self, choice: Choice) -> tuple[float, float]:
        """Return the chance that agents do what is advised (0 where a tool's failures are too few), and that it works."""
        fine, middle, wide = _cells(choice)
        chance, works = 0.0, choice.chance
        for cell in (wide, middle, fine):
            # A target of one tool's is none of another's: wide cells ask for the action only.
            did: Cell = (*cell, choice.advised, *(() if cell == wide else (choice.target,)))
            strength = _STRENGTH if cell != wide or not self._failures[cell] else 0.0
            chance = (self._done[did] + strength * chance) / (self._failures[cell] + strength)
            works = (self._worked[did] + _STRENGTH * works) / (self._done[did] + _STRENGTH)
        return (chance if self._failures[middle] >= LEAST_FAILURES else 0.0), works


def _cells(choice: Choice) -> tuple[Cell, ...]:
    """Return what a failure is like, the finest first."""
    tries = min(choice.tries, 3)
    return (choice.tool, choice.kind, tries), (choice.tool, choice.kind), ("any tool",)


def _estimated(found: AdviceEffect, conversations: Sequence[Sequence[_WeighedChoice]]) -> AdviceEffect:
    n, groups = found.failures, len(conversations)
    scores = [score for conversation in conversations for score in conversation]
    logged = sum(s.choice.worked for s in scores) / n
    weights = sum(s.weight for s in scores)
    correction = sum(s.weight * s.off for s in scores) / weights
    advised = sum(s.works for s in scores) / n + correction
    difference = advised - logged

    def influence(s: _WeighedChoice) -> float:
        return s.works + correction + n / weights * s.weight * (s.off - correction) - s.choice.worked

    # The variance of a mean over clusters of unequal sizes.
    off = [sum(influence(s) - difference for s in group) for group in conversations]
    variance = groups / (groups - 1) * sum(one * one for one in off) / (n * n)
    half = float(stdtrit(groups - 1, 0.975)) * math.sqrt(variance)
    return replace(
        found,
        logged=logged,
        advised=advised,
        difference=difference,
        variance=variance,
        low=difference - half,
        high=difference + half,
    )
