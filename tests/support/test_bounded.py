"""A mapping that keeps its latest entries."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from btm import Effect, FallbackMap
from btm.runtime.conditions import ToolEffects
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


@pytest.fixture
def _switches_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_another_thread_may_take_out_what_is_being_set() -> None:
    class Raced(BoundedDict[str, int]):
        def move_to_end(self, key: str, last: bool = True) -> None:
            self.pop(key)  # what another thread may do just then
            super().move_to_end(key, last)

    kept = Raced(2)
    kept["a"] = 1
    assert not kept


@pytest.mark.usefixtures("_switches_often")
def test_threads_set_take_and_read_at_once() -> None:
    kept: BoundedDict[int, int] = BoundedDict(3)
    kept[0] = 0

    def work(number: int) -> None:
        for n in range(2_000):
            kept[number] = n
            kept.pop(number, None)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number % 4) for number in range(8)]:
            done.result()
    assert len(kept) <= 3


@pytest.mark.usefixtures("_switches_often")
def test_a_read_that_is_described_again_is_no_assumed_write_meanwhile() -> None:
    effects = ToolEffects(FallbackMap.empty())
    effects.describe("berth", None, read_only=True)

    def describe() -> None:
        for _ in range(3_000):
            effects.describe("berth", None, read_only=True)

    with ThreadPoolExecutor(2) as pool:
        describing = [pool.submit(describe) for _ in range(2)]
        found = {effects.of("berth") for _ in range(3_000)}
        for done in describing:
            done.result()
    assert found == {Effect.READ}


def test_what_is_hinted_again_unchanged_is_not_written() -> None:
    effects = ToolEffects(FallbackMap.empty())
    for tool in ("first", "second", "first"):
        effects.describe(tool, None, read_only=True)
    assert list(effects._hinted) == ["first", "second"]
