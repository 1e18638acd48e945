"""Plain functions as tools: from a call's arguments to a mapping by name, and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.functions import apply, binder


def plain(a: Any, b: Any = 2) -> Any:
    return ("plain", a, b)


def mixed(a: Any, /, b: Any, *rest: Any, c: Any = 0, **more: Any) -> Any:
    return ("mixed", a, b, rest, c, more)


def only_named(*, a: Any, b: Any = 1) -> Any:
    return ("only_named", a, b)


def takes_args(args: list[Any]) -> Any:
    return ("takes_args", args)


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "by_name"),
    [
        (plain, (1,), {}, {"a": 1}),
        (plain, (), {"b": 3, "a": 1}, {"a": 1, "b": 3}),
        (mixed, (1, 2, 3, 4), {"c": 5, "d": 6}, {"a": 1, "b": 2, "rest": (3, 4), "c": 5, "more": {"d": 6}}),
        (mixed, (1, 2), {"a": 7}, {"a": 1, "b": 2, "more": {"a": 7}}),
        (only_named, (), {"a": 1}, {"a": 1}),
        (takes_args, ([1, 2],), {}, {"args": [1, 2]}),
    ],
)
def test_arguments_are_named_and_find_their_way_back(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: dict[str, Any]
) -> None:
    arguments = binder(function)(*args, **kwargs)
    assert arguments == by_name
    assert apply(function, arguments) == function(*args, **kwargs)


@given(
    st.lists(st.integers(), min_size=2, max_size=5), st.dictionaries(st.sampled_from("cdef"), st.integers())
)
def test_what_the_function_gets_is_what_was_given(args: list[int], kwargs: dict[str, int]) -> None:
    assert apply(mixed, binder(mixed)(*args, **kwargs)) == mixed(*args, **kwargs)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (plain, (1, 2, 3), {}),
        (plain, (), {}),
        (plain, (1,), {"a": 2}),
        (plain, (1,), {"unknown": 2}),
        (takes_args, (1, 2, 3), {}),
        (only_named, (1,), {"a": 1}),
    ],
)
def test_a_call_that_does_not_fit_fails_in_the_functions_own_words(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(TypeError) as expected:
        function(*args, **kwargs)
    with pytest.raises(TypeError) as got:
        apply(function, binder(function)(*args, **kwargs))
    assert str(got.value) == str(expected.value)


def test_arguments_from_a_map_are_passed_by_name() -> None:
    assert apply(plain, {"b": 1, "a": 2}) == ("plain", 2, 1)
    assert apply(mixed, {"a": 1, "b": 2, "extra": 3}) == ("mixed", 1, 2, (), 0, {"extra": 3})
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        apply(plain, {"a": 1, "nonsense": 2})
