from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.lab.faults import Draw


@given(st.integers(), st.text(max_size=20))
def test_a_number_is_a_function_of_its_path(seed: int, word: str) -> None:
    first = Draw((seed, word)).unit("x")
    assert first == Draw((seed,)).at(word).unit("x")
    assert 0 <= first < 1


def test_a_draw_is_known_to_the_byte() -> None:
    # Pinned: a change here would change every published evaluation.
    assert Draw((0, "task-1")).unit("kind") == 0.6210432322183017
    assert Draw((0, "task-1")).integer(1, 6, "die") == 2


def test_numbers_are_uniform_enough() -> None:
    counts = Counter(Draw((n,)).integer(1, 4) for n in range(4_000))
    assert set(counts) == {1, 2, 3, 4}
    assert all(abs(c - 1_000) < 120 for c in counts.values())


def test_weights_set_how_often_a_key_comes() -> None:
    counts = Counter(Draw((n,)).weighted({"often": 3.0, "never": 0.0, "seldom": 1.0}) for n in range(4_000))
    assert counts["never"] == 0
    assert abs(counts["often"] - 3_000) < 120


def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="no weight is positive"):
        Draw().weighted({"a": 0.0})
