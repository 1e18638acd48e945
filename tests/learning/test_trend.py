from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.learning.changepoint import FEWEST, Direction, chance_higher, trends
from btm.learning.posterior import Counts
from btm.model import Action, ErrorKind, EvidenceKey

KEY = EvidenceKey("t", ErrorKind.TIMEOUT, Action.RETRY, "", 1)
COUNTS = st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: Counts(*map(float, pair)))


def direction(earlier: tuple[int, int], later: tuple[int, int]) -> Direction | None:
    halves = [(KEY, Counts(*map(float, earlier)), Counts(*map(float, later)))]
    found = trends(halves).get(KEY)
    return found.direction if found else None


def test_a_clear_move_is_told_and_a_doubtful_one_is_not() -> None:
    assert direction((2, 18), (18, 2)) is Direction.BETTER
    assert direction((18, 2), (2, 18)) is Direction.WORSE
    assert direction((10, 10), (12, 8)) is Direction.STEADY


def test_few_attempts_have_no_trend() -> None:
    assert direction((0, 3), (3, 1)) is None
    assert FEWEST == 8
    assert direction((0, 4), (4, 0)) is Direction.BETTER


@given(COUNTS, COUNTS)
def test_one_of_two_chances_is_the_higher_one(a: Counts, b: Counts) -> None:
    assert chance_higher(a, b) + chance_higher(b, a) == pytest.approx(1.0)


@given(COUNTS)
def test_equal_records_are_a_draw(a: Counts) -> None:
    assert chance_higher(a, a) == pytest.approx(0.5)


def test_the_closed_form_is_what_sampling_finds() -> None:
    rng = random.Random(0)
    a, b = Counts(7.0, 3.0), Counts(5.0, 6.0)
    higher = sum(rng.betavariate(8, 4) > rng.betavariate(6, 7) for _ in range(40_000))
    assert chance_higher(a, b) == pytest.approx(higher / 40_000, abs=0.01)


def test_thousands_of_attempts_do_not_overflow() -> None:
    assert chance_higher(Counts(50_000.0, 50_000.0), Counts(49_000.0, 51_000.0)) > 0.999
