import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.lab.intervals import Pairs, mcnemar, paired_interval, wilson

COUNT = st.integers(0, 60)


def test_wilson_gives_the_published_interval() -> None:
    # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I: 81 of 263.
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


def test_wilson_is_bounded_and_open_where_nothing_was_seen() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20)[1] == 1.0


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 2635-2650, table II, method 10.
        (Pairs(36, 12, 2, 0), 0.0569, 0.3404),
        (Pairs(54, 0, 0, 0), -0.0664, 0.0664),
        (Pairs(0, 30, 0, 0), 0.8395, 1.0),
    ],
)
def test_the_interval_of_a_paired_difference(pairs: Pairs, low: float, high: float) -> None:
    interval = paired_interval(pairs)
    assert interval.low == pytest.approx(low, abs=2e-4)
    assert interval.high == pytest.approx(high, abs=2e-4)


@given(COUNT, COUNT, COUNT, COUNT)
def test_an_interval_holds_its_difference_and_turns_with_the_arms(a: int, b: int, c: int, d: int) -> None:
    pairs, turned = Pairs(a, b, c, d), Pairs(a, c, b, d)
    low, high = paired_interval(pairs)
    assert -1 <= low <= pairs.difference <= high <= 1
    other = paired_interval(turned)
    assert (other.low, other.high) == pytest.approx((-high, -low))
    assert mcnemar(pairs) == mcnemar(turned)


def test_mcnemar_is_exact() -> None:
    assert mcnemar(Pairs(5, 0, 0, 5)) == 1.0
    assert mcnemar(Pairs(0, 6, 0, 0)) == pytest.approx(2 / 2**6)
    assert mcnemar(Pairs(0, 9, 1, 0)) == pytest.approx(2 * 11 / 2**10)
