"""Plain functions as tools: from a call's arguments to a mapping by name, and back."""

from __future__ import annotations

import asyncio
import functools
import io
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.support.function_arguments import apply, binder, name_of, used_up


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
        (mixed, (1, 2, 3, 4), {"c": 5, "d": 6}, {"a": 1, "b": 2, "rest": (3, 4), "c": 5, "d": 6}),
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


def before(a: Any, b: Any = 2, /, c: Any = 3, *rest: Any) -> Any:
    return (a, b, c, rest)


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def inner(**named: Any) -> Any:
        return function(**named)

    return inner


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (before, {"a": 1}, (1, 2, 3, ())),
        (before, {"c": 5, "a": 1}, (1, 2, 5, ())),
        (before, {"b": 4, "a": 1}, (1, 4, 3, ())),
        (before, {"a": 1, "rest": [8, 9]}, (1, 2, 3, (8, 9))),
        (before, {"a": 1, "c": 5, "rest": (8,)}, (1, 2, 5, (8,))),
        (decorated(plain), {"a": 1, "b": 3}, ("plain", 1, 3)),
        (mixed, {"a": 1, "b": 2, "more": {"x": 1}}, ("mixed", 1, 2, (), 0, {"x": 1})),
        (mixed, {"a": 1, "b": 2, "more": 7}, ("mixed", 1, 2, (), 0, {"more": 7})),
        (dict, {"a": 1}, {"a": 1}),
    ],
)
def test_arguments_by_name_go_by_keyword_and_positional_ones_by_position(
    function: Any, arguments: dict[str, Any], expected: Any
) -> None:
    assert apply(function, arguments) == expected


def test_arguments_by_name_that_do_not_fit_fail_in_the_functions_own_words() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        apply(before, {"rest": [1]})
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'rest'"):
        apply(before, {"a": 1, "rest": 3})


class Unsaid:
    """A callable whose signature cannot be had."""

    __signature__ = "none"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args, kwargs


@pytest.mark.parametrize("function", [max, int, getattr, {}.get, Unsaid(), type, plain, only_named, dict])
@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, 3, 4), {}), ((1,), {"args": 2, "args_": 3, "self": 4})]
)
def test_naming_arguments_never_fails_and_forgets_nothing(function: Any, args: Any, kwargs: Any) -> None:
    arguments = binder(function)(*args, **kwargs)
    assert (arguments.args, arguments.kwargs) == (args, kwargs)
    if args and function is not plain:
        assert str(list(args))[1:-1] in str(dict(arguments))
    assert {name: arguments[name] for name in kwargs} == kwargs


class Shop:
    def __init__(self, region: str) -> None:
        self.region = region

    def find(self, number: int) -> int:
        return number

    @classmethod
    def kind(cls, number: int) -> int:
        return number


class SlottedShop(Shop):
    __slots__ = ("floor",)


def test_the_object_of_a_method_is_no_argument_but_tells_calls_apart() -> None:
    here, there = Shop("here"), Shop("there")
    unbound = binder(Shop.find)
    assert (
        dict(unbound(here, 1))
        == dict(unbound(self=here, number=1))
        == dict(binder(here.find)(1))
        == {"number": 1}
    )
    assert dict(binder(Shop.kind)(1)) == {"number": 1}
    assert unbound(here, 1, 2) == {"args": [1, 2]}
    assert unbound(here, 1).receiver == binder(here.find)(2).receiver == unbound(Shop("here"), 1).receiver
    assert len({unbound(shop, 1).receiver for shop in (here, there, SlottedShop("here"))}) == 3
    before = unbound(here, 1).receiver
    here.region = "elsewhere"
    assert unbound(here, 1).receiver == before
    assert binder(plain)(1).receiver == binder(len)([1]).receiver == ""


def test_an_ordinary_parameter_may_be_called_cls() -> None:
    def tag(cls: str) -> str:
        return cls

    assert binder(tag)("a") == {"cls": "a"}


def test_a_partial_has_the_name_of_its_function() -> None:
    assert name_of(partial(partial(plain, 1), b=2)) == "plain"
    assert name_of(Unsaid()) == "Unsaid"


async def test_what_a_call_uses_up_is_told_from_what_stays() -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    async def rows() -> Any:
        yield 1

    waiting = wait()
    file = Path(__file__).open()  # noqa: SIM115 - closed with the others
    for once in (
        iter([1]),
        map(str, [1]),
        (n for n in [1]),
        io.BytesIO(b"a"),
        file,
        waiting,
        rows(),
    ):
        assert used_up({"a": 1, "b": once})
        assert used_up({"a": [1, {"b": (once,)}]})
        if hasattr(once, "close"):
            once.close()
    for stays in ([1], {"a": [2]}, "text", b"bytes", range(3), None, 1.5, {1}, Shop("a")):
        assert not used_up({"a": stays})


def test_free_keywords_go_by_their_own_names() -> None:
    def free(**fields: Any) -> Any:
        return fields

    arguments = binder(free)(title="T", date="d")
    assert dict(arguments) == {"title": "T", "date": "d"}
    assert apply(free, arguments) == apply(free, {"title": "T", "date": "d"}) == {"title": "T", "date": "d"}
    assert dict(binder(mixed)(1, 2, 3, x=4)) == {"a": 1, "b": 2, "rest": (3,), "x": 4}
