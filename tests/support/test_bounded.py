"""A mapping that keeps its latest entries."""

from __future__ import annotations

import copy
import pickle

from btm.support.bounded import BoundedDict


def test_the_first_entries_make_room_for_the_latest() -> None:
    kept: BoundedDict[str, int] = BoundedDict(3)
    for number, name in enumerate("abcd"):
        kept[name] = number
    assert list(kept.items()) == [("b", 1), ("c", 2), ("d", 3)]


def test_what_is_set_again_is_the_latest() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    kept["c"] = 4
    assert kept == {"a": 3, "c": 4}


def test_what_is_there_by_default_is_bounded_too() -> None:
    kept: BoundedDict[str, list[int]] = BoundedDict(1)
    kept.setdefault("a", []).append(1)
    kept.setdefault("b", []).append(2)
    assert kept == {"b": [2]}


def test_what_is_set_again_is_never_absent_meanwhile() -> None:
    class Watched(BoundedDict[str, int]):
        def pop(self, *_: object) -> int:
            raise AssertionError("another thread would not find it now")

    kept = Watched(2)
    kept["a"] = 1
    kept["a"] = 2
    assert kept["a"] == 2


def test_it_is_copied_and_pickled_with_its_bound() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept["a"], kept["b"] = 1, 2
    for other in (kept.copy(), copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        other["c"] = 3
        assert list(other.items()) == [("b", 2), ("c", 3)]
    assert list(kept) == ["a", "b"]
