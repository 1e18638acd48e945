"""Which calls were taken in."""

from __future__ import annotations

from btm.runtime.conversations import MAX_FINISHED, Finished
from btm.support.call_ids import NO_TURN, Turn


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


def named(*calls: tuple[str, str, Turn]) -> list[str]:
    """The names of calls that come one after another, each with an id, a fingerprint and a turn."""
    finished = Finished()
    return [finished.name("talk", call_id, print_, turn) for call_id, print_, turn in calls]


def test_an_id_alone_names_a_call_and_the_same_call_again() -> None:
    assert named(("0", "a", NO_TURN), ("0", "a", NO_TURN), ("1", "a", NO_TURN)) == ["0", "0", "1"]


def test_an_id_that_comes_with_another_tool_or_arguments_is_another_call_s() -> None:
    first, other, again, back = named(
        ("0", "a", NO_TURN), ("0", "b", NO_TURN), ("0", "b", NO_TURN), ("0", "a", NO_TURN)
    )
    assert first == back == "0"
    assert other == again == "0~b"


def test_an_id_that_another_answer_of_the_model_asks_for_is_another_call_s() -> None:
    m1, m3 = Turn("m1"), Turn("m3")
    assert named(("0", "a", m1), ("0", "a", m1), ("0", "a", m3), ("0", "a", m3)) == ["0", "0", "0@m3", "0@m3"]
    assert named(("0", "a", m1), ("0", "a", m3), ("0", "b", m3)) == ["0", "0@m3", "0@m3~b"]


def test_names_do_not_depend_on_where_a_run_was_taken_up_again_if_its_messages_tell() -> None:
    assert named(("0", "a", Turn("m3", repeats=True))) == ["0@m3"]


def test_where_nothing_tells_a_repeat_from_a_replay_it_is_a_replay() -> None:
    assert named(("0", "a", NO_TURN), ("0", "a", Turn("m1")), ("0", "a", NO_TURN)) == ["0", "0", "0"]
    assert named(("0", "a", NO_TURN), ("0", "a", Turn("m1")), ("0", "a", Turn("m3"))) == ["0", "0", "0@m3"]


def test_names_are_remembered_within_bounds() -> None:
    finished = Finished(limit=3)
    for n in range(100):
        finished.name("talk", str(n), "a")
    assert len(finished) == 3
