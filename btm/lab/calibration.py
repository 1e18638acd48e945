"""Do the beliefs foretell what happens next? Learned on the earlier part of logs, tested on the later part.

Every attempt in the later part is foretold from what the earlier part taught, and scored by log loss (nats) and
Brier score. Cut into more than two parts, each is foretold from all that came before it, so that more attempts are
foretold and more of them early, when little is known. :mod:`btm.lab.forecasts` says who foretells. No evidence
is forgotten with age here, and nothing of a later part is ever known to an earlier forecast.

Differences are paired (the same attempts) and their intervals come from a bootstrap over whole conversations, since
the attempts of one conversation hang together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btm.errors import EvaluationError
from btm.fallback import FallbackMap
from btm.lab.forecasts import BASELINES, Method, forecasters
from btm.lab.intervals import Interval
from btm.learning.posterior import Evidence
from btm.logs.conversation import Conversation, Skipped
from btm.logs.learned import heard_once
from btm.logs.listening import Listener
from btm.model import Attempt, EvidenceKey

THIN = 5
"""A key with fewer attempts than this in what was learned from is thin."""

FEWEST = 10
"""Conversations below which no interval is given."""

FEWEST_OF_EACH = 5
"""Conversations in which a recovery worked, and in which one failed, below which no interval is given: where all attempts
end alike, drawing them anew never shows the other end, and whoever had said the extreme seems surely best."""

_CHUNK = 200  # bootstrap samples that are drawn at once

Floats = NDArray[np.float64]


class ConversationEvidence(NamedTuple):
    """What one conversation of a log taught, in order. ``source`` is where it stands (``file:line`` or ``file#index``)."""

    source: str
    started_at: float | None
    attempts: tuple[Attempt, ...]

    @property
    def log(self) -> str:
        """The file it stands in."""
        return self.source.rpartition("#")[0] or self.source.rpartition(":")[0]


@dataclass(frozen=True, slots=True)
class Parts:
    """Lessons cut into parts, each later than the ones before: by time, or (not ``by_time``) by place in their log."""

    parts: tuple[tuple[ConversationEvidence, ...], ...]
    by_time: bool


def lessons(
    conversations: Iterable[Conversation | Skipped], fallback_map: FallbackMap, *, now: float = 0.0
) -> list[ConversationEvidence]:
    """Retell conversations to the incident tracker and return what each taught, if it taught anything."""
    listener = Listener(fallback_map, now=now)
    taught = (
        ConversationEvidence(found.source, found.started_at, told.fresh_attempts)
        for found, told in heard_once(conversations, listener)
    )
    return [lesson for lesson in taught if lesson.attempts]


def cut(found: Sequence[ConversationEvidence], parts: int = 2) -> Parts:
    """Cut lessons into parts of equally many conversations, each part later than the ones before.

    By the time the conversations started where every one has it. Otherwise each log is cut by itself, in the order
    in which it stands, since the order of two logs says nothing. Raises EvaluationError for fewer than two parts.
    """
    if parts < 2:
        raise EvaluationError(f"logs are cut into at least two parts, not {parts}")
    by_time = all(lesson.started_at is not None for lesson in found)
    groups: dict[str, list[ConversationEvidence]] = {}
    for lesson in found:
        groups.setdefault("" if by_time else lesson.log, []).append(lesson)
    made: list[list[ConversationEvidence]] = [[] for _ in range(parts)]
    for group in groups.values():
        ordered = sorted(group, key=lambda lesson: lesson.started_at or 0.0) if by_time else group
        for number, lesson in enumerate(ordered):
            made[number * parts // len(ordered)].append(lesson)
    return Parts(tuple(tuple(part) for part in made), by_time)


# -- scores ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """One method's mean log loss (nats) and Brier score over the attempts of a group."""

    method: Method
    log_loss: float
    brier: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Pooled minus a baseline, per attempt, with 95 % intervals: below zero is better.

    The intervals are None where too few conversations were foretold, or too few of either outcome, to draw them anew.
    """

    baseline: Method
    log_loss: float
    log_loss_interval: Interval | None
    brier: float
    brier_interval: Interval | None

    @property
    def worse(self) -> bool:
        """Whether pooled is worse than the baseline by either score, with 95 % confidence."""
        return any(i is not None and i.low > 0.0 for i in (self.log_loss_interval, self.brier_interval))


@dataclass(frozen=True, slots=True)
class Group:
    """Some of the held-out attempts (``all``, or those of ``thin`` keys), and how well they were foretold."""

    name: str
    attempts: int
    conversations: int
    keys: int
    scores: tuple[Score, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Calibration:
    """How well each method foretold the later parts of logs.

    ``learned_from`` and ``foretold`` count conversations. ``outcomes`` and ``forecasts`` hold, attempt by attempt,
    what happened (1 worked) and what each method had said.
    """

    learned_from: int
    foretold: int
    by_time: bool
    groups: tuple[Group, ...]
    outcomes: Floats
    forecasts: Mapping[Method, Floats]


class _Case(NamedTuple):
    """An attempt, what was said beforehand, and how much was known about its key."""

    conversation: int
    key: EvidenceKey
    worked: float
    said: tuple[float, ...]
    known: float


def calibrate(cut_up: Parts, *, seed: int = 0, samples: int = 2_000) -> Calibration:
    """Foretell each part but the first from those before it, and score that. The same seed gives the same intervals.

    Raises EvaluationError when there is nothing to learn from or nothing to foretell.
    """
    first, *later = cut_up.parts
    cases = list(_cases(cut_up.parts))
    if not first or not cases:
        raise EvaluationError(
            "these logs hold too few attempts: nothing to learn from, or nothing to foretell"
        )
    outcomes = np.array([case.worked for case in cases])
    said = np.array([case.said for case in cases])
    forecasts = {method: said[:, column] for column, method in enumerate(Method)}
    thin = np.array([case.known < THIN for case in cases])
    scoring = _Scoring(outcomes, forecasts, cases, seed, samples)
    named = (("all", np.ones_like(thin)), ("thin", thin))
    groups = tuple(scoring.group(name, where) for name, where in named if where.any())
    return Calibration(len(first), sum(map(len, later)), cut_up.by_time, groups, outcomes, forecasts)


def _cases(parts: Sequence[Sequence[ConversationEvidence]]) -> Iterator[_Case]:
    evidence, number = Evidence(), 0
    for earlier, part in pairwise(parts):
        for lesson in earlier:
            for attempt in lesson.attempts:
                evidence.add(attempt.key, float(attempt.success), float(not attempt.success))
        methods = forecasters(evidence)
        said: dict[EvidenceKey, tuple[float, ...]] = {}
        for lesson in part:
            number += 1
            for key, worked in ((attempt.key, attempt.success) for attempt in lesson.attempts):
                if key not in said:
                    said[key] = tuple(methods[method](key) for method in Method)
                yield _Case(number, key, float(worked), said[key], evidence.counts(key).total)


@dataclass(frozen=True)
class _Scoring:
    outcomes: Floats
    forecasts: Mapping[Method, Floats]
    cases: Sequence[_Case]
    seed: int
    samples: int

    def group(self, name: str, where: NDArray[np.bool_]) -> Group:
        cases = [case for case, wanted in zip(self.cases, where, strict=True) if wanted]
        clusters = np.unique([case.conversation for case in cases], return_inverse=True)[1]
        happened = self.outcomes[where]
        losses = {m: _losses(said[where], happened) for m, said in self.forecasts.items()}
        told = min(len(set(clusters[happened == ended])) for ended in (0.0, 1.0)) >= FEWEST_OF_EACH
        return Group(
            name=name,
            attempts=len(cases),
            conversations=int(clusters.max()) + 1,
            keys=len({case.key for case in cases}),
            scores=tuple(Score(m, *(float(row.mean()) for row in rows)) for m, rows in losses.items()),
            differences=tuple(self._difference(m, losses, clusters, told) for m in BASELINES),
        )

    def _difference(
        self,
        baseline: Method,
        losses: Mapping[Method, tuple[Floats, Floats]],
        clusters: NDArray[np.int64],
        told: bool,
    ) -> Difference:
        found: list[tuple[float, Interval | None]] = []
        for mine, other in zip(losses[Method.POOLED], losses[baseline], strict=True):
            gaps = mine - other
            interval = bootstrap_mean(gaps, clusters, self.seed, self.samples) if told else None
            found.append((float(gaps.mean()), interval))
        (log_loss, log_interval), (brier, brier_interval) = found
        return Difference(baseline, log_loss, log_interval, brier, brier_interval)


def _losses(said: Floats, happened: Floats) -> tuple[Floats, Floats]:
    """Return the log loss and the Brier score of every forecast."""
    log_loss = -(happened * np.log(said) + (1.0 - happened) * np.log1p(-said))
    return log_loss, (said - happened) ** 2


def bootstrap_mean(
    values: Floats, clusters: NDArray[np.int64], seed: int, samples: int = 2_000
) -> Interval | None:
    """Return the 95 % percentile interval of the mean of ``values`` when whole clusters are drawn anew.

    ``clusters`` numbers, from 0, the cluster that each value belongs to (Efron & Tibshirani, *An Introduction to the
    Bootstrap*, chapters 8 and 13). None for fewer than ``FEWEST`` clusters: the interval would be far too narrow.
    """
    count = int(clusters.max()) + 1
    if count < FEWEST:
        return None
    sums = np.bincount(clusters, weights=values, minlength=count)
    sizes = np.bincount(clusters, minlength=count)
    rng = np.random.default_rng(seed)
    means: list[Floats] = []
    for start in range(0, samples, _CHUNK):
        drawn = rng.multinomial(count, np.full(count, 1.0 / count), size=min(_CHUNK, samples - start))
        means.append((drawn @ sums) / (drawn @ sizes))
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return Interval(float(low), float(high))
