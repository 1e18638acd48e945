"""Streams of one key's attempts: where nothing changes little is let go, and where something does what was is forgotten."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import fmean

import pytest

from btm.learning.changepoint import WeighedAttempt, may_show_change, since_change
from btm.learning.evidence import Counts
from btm.learning.posterior import Decay, Priors, pooled
from btm.model import Action, Attempt, ErrorKind, EvidenceKey
from btm.runtime.evidence import Credit
from btm.store import Snapshot

KEY = EvidenceKey("get_order", ErrorKind.TIMEOUT, Action.RETRY, "", 1)
STREAMS = 12


class Stream:
    """A memory that lives through attempts with these chances, beside one that lets nothing go."""

    def __init__(self, chances: Sequence[float], seed: int, half_life_s: float = math.inf) -> None:
        rng = random.Random(f"stream {seed}")
        snapshot = Snapshot(Decay(half_life_s), Priors(), b"")
        self.books, whole = Credit(snapshot, pooled), Credit(snapshot, pooled)
        whole._let_go = lambda *_: None  # type: ignore[method-assign]
        self.lost, self.lost_whole, self.after = 0.0, 0.0, 0
        for at, chance in enumerate(chances):
            now, worked = float(at), rng.random() < chance
            self.lost += _loss(self.books.belief(KEY, now).mean, worked) / len(chances)
            self.lost_whole += _loss(whole.belief(KEY, now).mean, worked) / len(chances)
            for books in (self.books, whole):
                books.give([Attempt("i", str(at), KEY, worked, now)], now)
        self.changed_at = self.books._changed.get(KEY)


def _loss(chance: float, worked: bool) -> float:
    return -math.log(chance if worked else 1.0 - chance)


@pytest.mark.parametrize(("before", "after"), [(0.9, 0.1), (0.1, 0.9), (0.75, 0.2), (0.3, 0.85)])
@pytest.mark.parametrize("half_life_s", [math.inf, 120.0])
def test_after_a_change_the_future_is_foretold_better(
    before: float, after: float, half_life_s: float
) -> None:
    streams = [Stream([before] * 90 + [after] * 50, n, half_life_s) for n in range(STREAMS)]
    assert fmean(s.lost for s in streams) < fmean(s.lost_whole for s in streams) - 0.03
    found = [s.changed_at for s in streams if s.changed_at is not None and s.changed_at > 70]
    assert len(found) >= STREAMS - 2
    assert abs(fmean(found) - 90) < 10


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.5, 0.8])
def test_where_nothing_changes_next_to_nothing_is_lost(chance: float) -> None:
    streams = [Stream([chance] * 250, 100 + n) for n in range(STREAMS)]
    assert sum(s.changed_at is not None for s in streams) <= STREAMS // 3
    assert fmean(s.lost for s in streams) < fmean(s.lost_whole for s in streams) + 0.005


def test_chances_that_walk_are_foretold_no_worse() -> None:
    def walk(seed: int) -> list[float]:
        rng, odds, found = random.Random(f"walk {seed}"), 0.0, []
        for _ in range(250):
            odds = min(max(odds + rng.gauss(0.0, 0.1), -4.0), 4.0)
            found.append(1.0 / (1.0 + math.exp(-odds)))
        return found

    streams = [Stream(walk(n), 200 + n) for n in range(STREAMS)]
    assert fmean(s.lost for s in streams) < fmean(s.lost_whole for s in streams) + 0.002


def test_a_memory_that_opens_finds_the_change_in_what_was_lived_through() -> None:
    lived = Stream([0.95] * 60 + [0.05] * 15, 300)
    assert lived.changed_at is not None
    rng, recent, sums = random.Random("stream 300"), [], [0.0, 0.0]
    for at, chance in enumerate([0.95] * 60 + [0.05] * 15):
        worked = rng.random() < chance
        recent.append((KEY, worked, float(at)))
        sums[0 if worked else 1] += 1.0
    snapshot = Snapshot(
        Decay(), Priors(), b"", ((KEY, sums[0], sums[1]),), latest_at=74.0, recent_attempts=tuple(recent)
    )
    opened = Credit(snapshot, pooled)
    assert opened._changed == lived.books._changed
    mine, theirs = opened.belief(KEY, 74.0), lived.books.belief(KEY, 74.0)
    assert (mine.n, mine.worked) == pytest.approx((theirs.n, theirs.worked))


def test_what_was_let_go_cannot_be_taken_back() -> None:
    books = Stream([0.97] * 60 + [0.03] * 15, 301).books
    before = books.belief(KEY, 75.0)
    books.take_back([Attempt("i", "0", KEY, True, 0.0)])
    books.turn([Attempt("i", "1", KEY, True, 1.0)])
    assert books.belief(KEY, 75.0) == before


def test_a_change_is_none_where_its_pool_alone_would_foretell_worse() -> None:
    latest = [WeighedAttempt(n % 2 == 0, 1.0) for n in range(30)] + [WeighedAttempt(True, 1.0)] * 24
    total = Counts(39.0, 15.0)
    assert since_change(latest, total, lambda: Counts(1.0, 1.0)) == 30
    assert since_change(latest, total, lambda: Counts(1.0, 20.0)) is None


def test_few_attempts_or_all_alike_show_no_change() -> None:
    assert may_show_change(Counts(13.0, 12.0))
    assert not may_show_change(Counts(30.0, 1.0))
    assert not may_show_change(Counts(5.0, 5.0))


def test_a_short_past_that_went_the_other_way_is_let_go_too() -> None:
    books = Stream([0.0] * 9 + [1.0] * 12, 400).books
    assert books._changed == {KEY: 9.0}
