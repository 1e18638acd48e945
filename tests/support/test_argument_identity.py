"""Which arguments are the same: what differs has another name, what is equal has the same, within stated bounds."""

from __future__ import annotations

import array
import datetime
import gc
import itertools
import json
import threading
import time
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.support import argument_identity
from btm.support.argument_identity import Addressed, FirstSeen, identity
from btm.support.untrusted import canonical, fingerprint


class Plain:
    def __init__(self, **about: Any) -> None:
        vars(self).update(about)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Terse(Plain):
    def __repr__(self) -> str:
        return "<Terse>"


class Frame:
    """As data frames are: values behind ``__array__``, a text that leaves most of them out."""

    def __init__(self, values: Any, columns: list[str]) -> None:
        self._values, self.columns, self.lock = np.asarray(values), columns, threading.Lock()

    def __array__(self) -> Any:
        return self._values

    def __str__(self) -> str:
        return "1 ... 2"


def zeros(place: int, value: float) -> Any:
    made = np.zeros(5_000)
    made[place] = value
    return made


LONG = "x" * 50_000


@pytest.mark.parametrize(
    "makes",
    [
        [lambda n=n: zeros(2_500, n) for n in range(4)],
        [lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2)), lambda: np.zeros(6), lambda: np.zeros(6, "f4")],
        [lambda: np.array(["2024-01-01"], "M8[D]"), lambda: np.array(["2024-01-02"], "M8[D]")],
        [lambda: np.array([{"a": 1}]), lambda: np.array([{"a": 2}])],
        [lambda: np.float64(1.0), lambda: np.float64(2.0), lambda: np.float32(1.0)],
        [lambda: np.ma.masked_array([1, 2], [False, True]), lambda: np.ma.masked_array([1, 2], [True, False])],
        [lambda: np.arange(10)[::2], lambda: np.arange(10)[1::2]],
        [lambda: Frame([[1, 2]], ["a", "b"]), lambda: Frame([[1, 2]], ["a", "c"]), lambda: Frame([[1, 3]], ["a", "b"])],
        [lambda: bytes(9), lambda: bytes(8), lambda: bytearray(9), lambda: b"x" + bytes(8)],
        [lambda: memoryview(b"abc"), lambda: memoryview(b"abd"), lambda: memoryview(b"abcdefgh").cast("I")],
        [lambda: array.array("i", [1, 2]), lambda: array.array("i", [1, 3]), lambda: array.array("l", [1, 2])],
        [lambda: {1, 2}, lambda: {1, 3}, lambda: {"1", 2}, lambda: {1, 2, 3}, set],
        [lambda: {"x" * 2_000 + "a"}, lambda: {"x" * 2_000 + "b"}],
        [lambda: {1: {1}}, lambda: {"1": {1}}, lambda: {(1, 2): {1}}],
        [lambda: [LONG + "a", {1}], lambda: [LONG + "b", {1}]],
        [lambda: ValueError(LONG + "a"), lambda: ValueError(LONG + "b"), lambda: KeyError(LONG + "b")],
        [lambda: Decimal("1.5"), lambda: Decimal("1.50"), lambda: Fraction(3, 2), lambda: 1.5, lambda: 1.5j],
        [lambda: 10**400, lambda: 10**400 + 1, lambda: -(10**400)],
        [lambda: float("nan"), lambda: float("inf"), lambda: float("-inf"), lambda: None],
        [lambda: "\ud800", lambda: "\ud801", lambda: "?"],
        [Plain, lambda: Plain(a=1), lambda: Plain(a=2), lambda: Plain(b=1), lambda: Plain(a=Plain(a=1)), dict],
        [lambda: Terse(a=1), lambda: Terse(a=2)],
        [lambda: Slotted(1, 2), lambda: Slotted(1, 3)],
        [lambda: SimpleNamespace(a={1}), lambda: SimpleNamespace(a={2})],
        [lambda: deque([1, 2]), lambda: deque([2, 1]), lambda: deque([1, 2], 2)],
        [lambda: PurePosixPath("/a"), lambda: PurePosixPath("/b"), lambda: range(3), lambda: range(4), lambda: slice(3)],
        [lambda: len, lambda: json.dumps, lambda: json.loads, lambda: Plain, lambda: Terse],
        [lambda: datetime.timedelta(1), lambda: datetime.timedelta(2)],
    ],
)  # fmt: skip
def test_what_is_equal_has_one_name_and_what_differs_another(makes: list[Any]) -> None:
    names = [fingerprint("t", Addressed(x=make())) for make in makes]
    assert names == [fingerprint("t", Addressed(x=make())) for make in makes]
    assert len(set(names)) == len(makes)
    for make in makes:
        json.loads(canonical({"x": make()}))


def generator() -> Any:
    yield 1


@pytest.mark.parametrize(
    "make",
    [
        *(object, threading.Lock, generator, lambda: lambda: 1, lambda: iter([1]), lambda: map(str, [1])),
        lambda: Plain(lock=threading.Lock()),
    ],
)
def test_what_is_no_data_is_the_same_only_as_itself(make: Any) -> None:
    one, other = make(), make()
    assert canonical({"x": one}) == canonical({"x": one})
    assert canonical({"x": one}) != canonical({"x": other})
    assert canonical({"x": [one, {1}]}) != canonical({"x": [other, {1}]})


def test_an_object_that_is_no_data_stays_the_same_while_its_numbers_change() -> None:
    session = Plain(lock=threading.Lock(), asked=0)
    before = canonical({"x": session})
    session.asked = 1  # type: ignore[attr-defined]
    assert canonical({"x": session}) == before


def test_an_address_that_is_used_again_is_not_the_same_object() -> None:
    names = {canonical({"x": threading.Lock()}) for _ in range(100)}
    assert len(names) == 100


def test_looking_at_an_iterator_takes_nothing_from_it() -> None:
    for made in (iter([1, 2]), (n for n in [1, 2]), itertools.chain([1], [2]), map(int, "12")):
        canonical({"x": made, "y": {1}})
        assert list(made) == [1, 2]


def test_one_argument_that_cannot_be_looked_at_does_not_hide_the_others() -> None:
    class Mute:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

        def __reduce__(self) -> Any:
            raise RuntimeError

        def __str__(self) -> str:
            raise RuntimeError

    mute = Mute()
    assert canonical({"x": mute, "n": 1}) != canonical({"x": mute, "n": 2})
    huge = [{1}] * 300_000
    assert canonical({"a": huge, "n": 1}) != canonical({"a": huge, "n": 2})


def test_what_a_name_costs_is_bounded() -> None:
    started = time.process_time()
    assert canonical({"x": [{1}, *range(5_000_000)]}) == canonical({"x": [{1}, *range(6_000_000)]})
    web = [Plain(n=n) for n in range(3_000)]
    for one in web:
        one.others = web  # type: ignore[attr-defined]
    assert canonical({"x": web[0]}) != canonical({"x": web[1]}), "too much to compare: by which object it is"
    deep: Any = {1}
    for _ in range(5_000):
        deep = [deep]
    canonical({"x": deep})
    assert time.process_time() - started < 5.0


def test_a_huge_buffer_is_the_same_only_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argument_identity, "MAX_BYTES", 100)
    one, other = np.zeros(50), np.zeros(50)
    assert canonical({"x": one}) == canonical({"x": one}) != canonical({"x": other})


@given(
    st.dictionaries(st.text(), st.sets(st.integers() | st.text()), min_size=1),
    st.randoms(use_true_random=False),
)
def test_neither_the_order_of_keys_nor_that_of_sets_matters(arguments: dict[str, set[Any]], rng: Any) -> None:
    names = list(arguments)
    rng.shuffle(names)
    items = {name: list(arguments[name]) for name in names}
    for some in items.values():
        rng.shuffle(some)
    assert canonical(arguments) == canonical({name: set(some) for name, some in items.items()})
    assert canonical({"x": OrderedDict(arguments)}) == canonical(
        {"x": {name: arguments[name] for name in names}}
    )


def test_what_is_noted_about_an_object_goes_with_it() -> None:
    seen: FirstSeen[int] = FirstSeen()
    numbers = itertools.count()
    kept = Plain()
    assert [seen.of(kept, lambda _: next(numbers)) for _ in range(2)] == [0, 0]
    seen.of(Plain(), lambda _: next(numbers))
    gc.collect()
    assert len(seen._noted) == 1
    assert identity(kept) == identity(kept) != identity(Plain())
    assert identity(kept).startswith(f"{__name__}.Plain#")


def test_the_object_a_method_is_called_on_is_part_of_the_call() -> None:
    here, there = Addressed(n=1), Addressed(n=1)
    here.receiver, there.receiver = "one", "two"
    assert fingerprint("t", here) != fingerprint("t", there)
    assert canonical(here) == canonical(there) == canonical({"n": 1})
    assert fingerprint("t", Addressed(n=1)) == fingerprint("t", {"n": 1})
