"""How a tool has been doing lately."""

from __future__ import annotations

import pytest

from btm.runtime.conditions import HALF_LIFE_S, Health


def test_a_run_of_failures_is_put_in_a_sentence() -> None:
    health = Health()
    for minute in range(6):
        health.record("search", ok=False, at=minute * 60.0)
    assert health.sentence("search", 300.0) == "failed 6 of its last 6 calls in 5 min"


def test_there_is_nothing_to_say_of_a_tool_that_works_or_was_hardly_used() -> None:
    health = Health()
    health.record("search", ok=False, at=0.0)
    assert health.sentence("search", 1.0) == ""
    assert health.sentence("never used", 1.0) == ""
    for second in range(9):
        health.record("search", ok=True, at=float(second))
    assert health.sentence("search", 10.0) == ""


def test_an_outage_is_forgotten_after_it_ended() -> None:
    health = Health()
    for second in range(6):
        health.record("search", ok=False, at=float(second))
    assert health.sentence("search", 10 * HALF_LIFE_S) == ""


def test_counts_halve_with_every_half_life() -> None:
    health = Health()
    health.record("search", ok=True, at=0.0)
    health.record("search", ok=False, at=0.0)
    assert health.counts("search", HALF_LIFE_S) == pytest.approx((0.5, 0.5))
    assert health.counts("other", 0.0) == (0.0, 0.0)
    health.record("search", ok=True, at=HALF_LIFE_S)
    assert health.counts("search", HALF_LIFE_S) == pytest.approx((1.5, 0.5))


def test_a_call_that_ended_before_the_latest_one_still_counts() -> None:
    health = Health()
    health.record("search", ok=True, at=100.0)
    health.record("search", ok=False, at=50.0)
    assert health.counts("search", 100.0) == pytest.approx((1.0, 1.0))
