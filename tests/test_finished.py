"""Which calls were taken in."""

from __future__ import annotations

from btm.finished import MAX_FINISHED, Finished


def test_a_call_is_known_by_its_id_and_conversation() -> None:
    finished = Finished()
    finished.add("talk", "c1")
    assert ("talk", "c1") in finished
    assert ("talk", "c2") not in finished
    assert ("other talk", "c1") not in finished


def test_ids_are_remembered_within_bounds_the_latest_ones() -> None:
    finished = Finished(limit=3)
    for n in range(5):
        finished.add("talk", f"c{n}")
    assert [("talk", f"c{n}") in finished for n in range(5)] == [False, False, True, True, True]
    assert len(finished) == 3
    assert MAX_FINISHED >= 10_000
