"""Wrapped functions: each runs its own code, as it was called, to its end, whatever stands around it."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import numpy as np
import pytest
from core_kit import NO_MAP, memory_of

from btm import ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.errors import RefusedCallError
from btm.fallback import FallbackMap

SLOW = TimeoutError("timed out")
MODES = pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])


def learned(memory: ToolMemory) -> list[tuple[str, str | None]]:
    """The calls that were written down: tool and how each failed, None for a success."""
    assert memory.flush()
    store: Any = memory._store
    return [(row["tool"], row["kind"]) for row in store.log("calls")]


# -- names ---------------------------------------------------------------------------------------------------------


class Database:
    def __init__(self, name: str) -> None:
        self.name = name

    def delete(self, number: int) -> str:
        return f"deleted {number} from {self.name}"


@MODES
def test_two_functions_of_one_name_each_run_their_own_code(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with memory_of(mode=mode, fallback_map=NO_MAP) as memory:
        of_test, of_prod = memory.wrap(Database("test").delete), memory.wrap(Database("prod").delete)
        assert (of_test(7), of_prod(7)) == ("deleted 7 from test", "deleted 7 from prod")
        one, two = memory.wrap(lambda: "one"), memory.wrap(lambda: "two")
        assert (one(), two()) == ("one", "two")
        memory.wrap(Database("third").delete)
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2, "one warning a name"
    assert "memory.wrap(function, name=...)" in caplog.text


async def test_a_sync_and_an_async_function_of_one_name_stay_what_they_are() -> None:
    async def find(number: int) -> int:
        return number

    def also(number: int) -> int:
        return -number

    with memory_of(fallback_map=NO_MAP) as memory:
        first, second = memory.wrap(also, name="find"), memory.wrap(find)
        assert first(1) == -1
        assert await second(1) == 1


def test_a_function_that_is_wrapped_again_or_written_anew_is_no_clash(
    caplog: pytest.LogCaptureFixture,
) -> None:
    code = "def find(number):\n    return number"
    names: dict[str, Any] = {"__name__": "notebook"}
    with memory_of(fallback_map=NO_MAP) as memory:
        for _ in range(2):
            exec(code, names)
            assert memory.wrap(names["find"])(1) == 1
            memory.wrap(names["find"])
        database = Database("test")
        memory.wrap(database.delete)
        memory.wrap(database.delete)
        memory.wrap(Database("prod").delete, name="delete_prod")
    assert caplog.text == ""


STAND_IN = FallbackMap.from_text("""
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks: [{tool: find_order, coverage: full, arguments: {number: "{{ call.number }}"}}]
  find_order: {effect: read}
""")


def test_of_two_functions_of_one_name_neither_stands_in_for_another() -> None:
    def get_order(number: int) -> str:
        raise PermissionError("403 Forbidden")

    def made(answer: str) -> Callable[[int], str]:
        def find_order(number: int) -> str:
            return answer

        return find_order

    with memory_of(mode="act", fallback_map=STAND_IN) as memory:
        get = memory.wrap(get_order)
        memory.wrap(made("mine"))
        assert get(1) == "mine"
        memory.wrap(made("theirs"))
        with pytest.raises(PermissionError):
            get(1)


def test_a_method_out_of_its_class_does_not_stand_in() -> None:
    def get_order(number: int) -> str:
        raise PermissionError("403 Forbidden")

    with memory_of(mode="act", fallback_map=STAND_IN) as memory:

        class Shop:
            @memory.wrap
            def find_order(self, number: int) -> str:
                return "found"

        with pytest.raises(PermissionError):
            memory.wrap(get_order)(1)
        assert Shop().find_order(1) == "found"
        assert ("find_order", "invalid_arguments") not in learned(memory)


def test_what_is_around_a_method_stays_around_it() -> None:
    with memory_of(fallback_map=NO_MAP) as memory:

        class Shop:
            @memory.wrap
            @staticmethod
            def find(number: int) -> int:
                return number

            @memory.wrap
            @classmethod
            def kind(cls, number: int) -> tuple[str, int]:
                return cls.__name__, number

        assert (Shop().find(1), Shop.find(1), Shop.kind(2), Shop().kind(3)) == (
            1,
            1,
            ("Shop", 2),
            ("Shop", 3),
        )
        with pytest.raises(TypeError, match="not int"):
            memory.wrap(3)  # type: ignore[arg-type]


# -- how a function is called --------------------------------------------------------------------------------------


def only_named(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(**named: Any) -> Any:
        return function(**named)

    return inner


def for_a_tenant(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **named: Any) -> Any:
        if "tenant" not in named:
            raise PermissionError("no tenant")
        return function(*args, **named)

    return inner


def with_session(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **named: Any) -> Any:
        return function("session", *args, **named)

    return inner


def plain(order: Any, tenant: Any = None) -> Any:
    return order, tenant


def told(session: str, order: Any, /, *more: Any, **rest: Any) -> Any:
    return session, order, more, rest


@MODES
@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (only_named(plain), (), {"order": 1}),
        (for_a_tenant(plain), (1,), {"tenant": "a"}),
        (with_session(told), (1, 2, 3), {"session": 4}),
        (max, (1, 2), {}),
        (max, ([3, 1],), {"key": abs}),
        (int, ("3",), {}),
        (getattr, (3, "real"), {}),
        ({"a": 1}.get, ("b", 2), {}),
        (partial(plain, tenant=3), (2,), {}),
        (partial(plain, 1), (2,), {}),
        (Database("x").delete, (2,), {}),
        (Database, ("n",), {}),
    ],
)
def test_a_function_is_called_as_it_was_called(mode: str, function: Any, args: Any, kwargs: Any) -> None:
    with memory_of(mode=mode, fallback_map=NO_MAP) as memory:
        expected, got = function(*args, **kwargs), memory.wrap(function)(*args, **kwargs)
    assert type(got) is type(expected)
    assert vars(got) == vars(expected) if isinstance(got, Database) else got == expected


def test_a_retry_repeats_the_call_as_it_was_made() -> None:
    seen: list[Any] = []

    @only_named
    def get_order(**named: Any) -> Any:
        seen.append(named)
        if len(seen) < 3:
            raise SLOW
        return "found"

    with memory_of(mode="act", fallback_map=NO_MAP) as memory:
        assert memory.wrap(get_order)(number=1, args=[2]) == "found"
    assert seen == [{"number": 1, "args": [2]}] * 3


def test_a_decorated_function_works_when_called_from_json() -> None:
    get_order = only_named(plain)
    get_order.__name__ = "get_order"
    with memory_of(fallback_map=NO_MAP) as memory:
        call = {"id": "c1", "function": {"name": "get_order", "arguments": '{"order": 1}'}}
        [answer] = ChatLoop(memory, [get_order]).run([call])
    assert answer["content"] == "[1,null]"


# -- methods -------------------------------------------------------------------------------------------------------


class Crm:
    def __init__(self, region: str) -> None:
        self.region = region
        self.asked = 0

    def get_order(self, number: int) -> str:
        self.asked += 1
        raise TimeoutError("timed out")


def test_the_object_of_a_method_is_not_shown() -> None:
    with memory_of(fallback_map=NO_MAP) as memory:

        class Shop:
            @memory.wrap
            def get_order(self, number: int) -> str:
                raise TimeoutError("timed out")

        for get in (Shop().get_order, memory.wrap(Crm("eu").get_order)):
            with pytest.raises(TimeoutError) as raised:
                get(1)
            [note] = raised.value.__notes__
            assert 'retry get_order {"number":1}' in note
            assert "self" not in note
            assert "0x" not in note


@pytest.mark.parametrize("bound", [True, False])
def test_the_same_call_is_one_on_the_same_object(bound: bool) -> None:
    with memory_of(mode="guard", fallback_map=NO_MAP, breaker=None) as memory:

        class Shop(Crm):
            get_order = memory.wrap(Crm.get_order)

        def get(shop: Shop) -> None:
            (memory.wrap(Crm("x" + shop.region).get_order) if bound else shop.get_order)(1)

        for region in ("eu", "us", "asia", "uk", "au"):
            with pytest.raises(TimeoutError):
                get(Shop(region))
        same = Shop("eu")
        for _ in range(2):
            with pytest.raises(TimeoutError):
                get(same)
        with pytest.raises(RefusedCallError):
            get(same)
        with pytest.raises(RefusedCallError):
            get(Shop("eu"))  # made anew for every call


# -- what has not run yet ------------------------------------------------------------------------------------------


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return inner


def in_a_task(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, **named: Any) -> Any:
        return asyncio.ensure_future(function(*args, **named))

    return inner


@pytest.mark.parametrize("around", [traced, in_a_task])
@pytest.mark.parametrize("timeout_s", [None, 5.0])
async def test_an_async_function_behind_a_plain_decorator_is_followed_to_its_end(
    around: Any, timeout_s: float | None
) -> None:
    async def get_order(number: int) -> int:
        await asyncio.sleep(0)
        if number < 0:
            raise TimeoutError("timed out")
        return number

    with memory_of(fallback_map=NO_MAP) as memory:
        get = memory.wrap(
            around(get_order), name="get_order", timeout_s=timeout_s if around is traced else None
        )
        with pytest.raises(TimeoutError) as raised:
            await get(-1)
        assert raised.value.__notes__[0].startswith("<recovery")
        assert await get(2) == 2
        assert learned(memory) == [("get_order", "timeout"), ("get_order", None)]


async def test_a_task_stays_a_task_that_can_be_cancelled() -> None:
    ended = []

    async def get_order() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append(True)

    with memory_of(fallback_map=NO_MAP) as memory:
        task: Any = memory.wrap(in_a_task(get_order), name="get_order")()
        assert isinstance(task, asyncio.Task)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [True]
        assert learned(memory) == []


async def test_in_act_mode_a_decorated_async_function_is_tried_again() -> None:
    tries: list[int] = []

    @traced
    async def get_order(number: int) -> str:
        tries.append(number)
        if len(tries) < 3:
            raise TimeoutError("timed out")
        return "found"

    with memory_of(mode="act", fallback_map=NO_MAP) as memory:
        assert await memory.wrap(get_order)(1) == "found"
        assert [kind for _, kind in learned(memory)] == ["timeout", "timeout", None]


def test_a_sync_face_of_an_async_function_returns() -> None:
    async def get_order(number: int) -> int:
        return number

    @functools.wraps(get_order)
    def face(number: int) -> int:
        return asyncio.run(get_order(number))

    with memory_of(fallback_map=NO_MAP) as memory:
        assert memory.wrap(face)(1) == 1
        assert memory.wrap(face, timeout_s=5.0)(1) == 1
        assert learned(memory) == [("get_order", None)] * 2


async def test_generators_are_handed_over_and_teach_nothing() -> None:
    def rows(count: int) -> Iterator[int]:
        yield from range(count)
        raise TimeoutError("timed out")

    async def arows(count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield number

    async def later(count: int) -> Iterator[int]:
        return rows(count)

    with memory_of(fallback_map=NO_MAP) as memory:
        assert next(memory.wrap(rows)(2)) == 0
        assert next(memory.wrap(traced(rows))(2)) == 0
        assert next(await memory.wrap(later)(2)) == 0
        assert [n async for n in memory.wrap(arows)(2)] == [0, 1]
        assert [n async for n in memory.wrap(traced(arows))(2)] == [0, 1]
        assert inspect.isgeneratorfunction(memory.wrap(rows))
        assert learned(memory) == []


async def test_what_can_be_awaited_and_more_is_handed_over_as_it_is() -> None:
    class Request:
        def __await__(self) -> Any:
            return asyncio.sleep(0, "answer").__await__()

    request = Request()
    with memory_of(fallback_map=NO_MAP) as memory:
        got = memory.wrap(lambda: request, name="get_page")()
        assert got is request
        assert await got == "answer"
        assert learned(memory) == []


# -- control flow, waits, limits -----------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize(
    "signal",
    [
        CancelledError(),
        asyncio.CancelledError(),
        ExceptionGroup("g", [ValueError("x"), ExceptionGroup("h", [CancelledError()])]),
        BaseExceptionGroup("g", [asyncio.CancelledError()]),
    ],
    ids=repr,
)
async def test_control_flow_is_neither_learned_nor_repeated(mode: str, signal: BaseException) -> None:
    calls: list[str] = []

    def get_order() -> None:
        calls.append("sync")
        raise signal

    async def get_user() -> None:
        calls.append("async")
        raise signal

    with memory_of(mode=mode, fallback_map=NO_MAP) as memory:
        for timeout_s in (None, 5.0):
            with pytest.raises(type(signal)) as raised:
                memory.wrap(get_order, timeout_s=timeout_s)()
            assert raised.value is signal
            with pytest.raises(type(signal)):
                await memory.wrap(get_user)()
        assert calls == ["sync", "async"] * 2
        assert learned(memory) == []


async def test_a_wait_that_fails_leaves_the_agent_its_tools_own_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(seconds: float) -> None:
        raise RuntimeError("the clock stands still")

    async def abroken(seconds: float) -> None:
        raise RuntimeError("the clock stands still, awaited")

    error = TimeoutError("timed out")

    def get_order() -> None:
        raise error

    async def get_user() -> None:
        raise error

    with ToolMemory.open(None, mode="act", sleep=broken, asleep=abroken) as memory:
        with pytest.raises(TimeoutError) as raised:
            memory.wrap(get_order)()
        assert raised.value is error
        assert raised.value.__notes__[0].startswith("<recovery")
        with pytest.raises(TimeoutError):
            await memory.wrap(get_user)()
        assert learned(memory) == [("get_order", "timeout"), ("get_user", "timeout")]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


@pytest.mark.parametrize("wrapped", [lambda it: it, lambda it: [it], lambda it: {"rows": it}])
def test_a_call_whose_argument_is_used_up_is_not_repeated(wrapped: Any) -> None:
    tries: list[Any] = []

    def get_total(numbers: Any) -> Any:
        tries.append(1)
        raise TimeoutError("timed out")

    with memory_of(mode="act", fallback_map=NO_MAP) as memory:
        total = memory.wrap(get_total)
        with pytest.raises(TimeoutError):
            total(wrapped(iter([1, 2, 3])))
        assert len(tries) == 1
        with pytest.raises(TimeoutError):
            total(wrapped([1, 2, 3]))
        assert len(tries) > 2


@pytest.mark.parametrize("wrong", [-1, -0.5, math.nan, -math.inf, "14", True, [1]])
def test_a_wrong_time_limit_is_refused_where_it_is_stated(wrong: Any) -> None:
    with memory_of(fallback_map=NO_MAP) as memory:
        with pytest.raises(ValueError, match="time limit"):
            memory.wrap(plain, timeout_s=wrong)
        with pytest.raises(ValueError, match="time limit"):
            ChatLoop(memory, [plain], timeouts={"plain": wrong})


@pytest.mark.parametrize("none", [None, 0, 0.0, math.inf])
def test_no_time_limit_can_be_stated(none: Any) -> None:
    limited = FallbackMap.from_text(
        "{version: 1, domain: d, tools: {get_slow: {effect: read, timeout: 10ms}, get_free: {effect: read}}}"
    )

    def get_slow() -> int:
        time.sleep(0.05)
        return 1

    with memory_of(fallback_map=limited) as memory:
        assert memory.wrap(get_slow, name="get_free", timeout_s=none)() == 1
        if none is not None:  # then the map's holds
            assert memory.wrap(get_slow, timeout_s=none)() == 1
        assert memory.wrap(get_slow, name="get_free", timeout_s=1e300)() == 1


async def test_the_stated_effect_decides_whether_a_late_call_goes_on() -> None:
    done: list[bool] = []

    async def get_and_delete() -> None:
        await asyncio.sleep(0.05)
        done.append(True)

    with memory_of(fallback_map=NO_MAP) as memory:
        with pytest.raises(TimeoutError):
            await memory.wrap(get_and_delete, effect="write", timeout_s=0.01)()
        await asyncio.sleep(0.2)
    assert done == [True], "a write is not stopped on its way"


def test_calls_with_different_arrays_are_different_calls() -> None:
    def get_fit(values: Any) -> None:
        raise TimeoutError("timed out")

    with memory_of(mode="guard", fallback_map=NO_MAP, breaker=None) as memory:
        fit = memory.wrap(get_fit)
        for number in range(6):
            values = np.zeros(5_000)
            values[2_500] = number
            with pytest.raises(TimeoutError):
                fit(values)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                fit(values.copy())
        with pytest.raises(RefusedCallError):
            fit(values.copy())


# -- as a decorator ------------------------------------------------------------------------------------------------


def test_wrap_is_a_decorator_with_and_without_options() -> None:
    with memory_of(fallback_map=NO_MAP) as memory:

        @memory.wrap
        def plain(text: str) -> str:
            return text

        @memory.wrap(name="search", effect="read")
        def find(text: str) -> str:
            return text

        @memory.wrap()
        async def later(text: str) -> str:
            return text

        assert (plain("a"), find("b"), asyncio.run(later("c"))) == ("a", "b", "c")
        assert find.__name__ == "find"
        assert learned(memory) == [("plain", None), ("search", None), ("later", None)]
