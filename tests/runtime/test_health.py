"""How a tool has been doing lately."""

from __future__ import annotations

from btm.runtime.conditions import LOOKED_BACK_S, Health


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
    assert health.sentence("search", 2 * LOOKED_BACK_S) == ""
