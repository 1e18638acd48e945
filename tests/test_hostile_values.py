"""Whatever a tool gives, takes or raises: the agent gets it unchanged, in bounded time, and nothing else."""

from __future__ import annotations

import signal
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import pytest
from core_kit import NO_MAP, memory_of

from btm.model import Effect, ErrorKind, ToolCall
from btm.support.untrusted import UnanswerableError, ask, bounded_json, canonical, fingerprint, text_of


class Endless(Mapping[str, Any]):
    """A mapping without an end, as a lazy record of a remote store can be."""

    def __getitem__(self, name: str) -> Any:
        return 1

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            yield f"k{number}"
            number += 1

    def __len__(self) -> int:
        return 3


class Deep(Endless):
    """A mapping that holds itself, each time as another object."""

    def __getitem__(self, name: str) -> Any:
        return Deep()

    def __iter__(self) -> Iterator[str]:
        return iter(("a", "b", "c"))


class EndlessList(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


def raising(error: BaseException) -> Any:
    def fail(self: Any, *_: Any) -> Any:
        raise error

    names = ("__str__", "__repr__", "__len__", "__iter__", "__getitem__", "get", "items", "keys", "values")
    return type("Raising", (), dict.fromkeys(names, fail))()


class RaisingMapping(dict[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise KeyboardInterrupt

    def __iter__(self) -> Iterator[str]:
        raise KeyboardInterrupt

    def get(self, *_: Any) -> Any:
        raise SystemExit(3)


MAKERS: dict[str, Callable[[], Any]] = {
    "endless": Endless,
    "deep": Deep,
    "endless list": lambda: EndlessList([1]),
    "KeyboardInterrupt": lambda: raising(KeyboardInterrupt()),
    "SystemExit": lambda: raising(SystemExit(3)),
    "GeneratorExit": lambda: raising(GeneratorExit()),
    "MemoryError": lambda: raising(MemoryError()),
    "a raising mapping": lambda: RaisingMapping(a=1),
}
VALUES = pytest.mark.parametrize("name", MAKERS)
MODES = pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])


class _HangsError(BaseException):
    pass


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """End a test that would never end."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def hangs(number: int, frame: FrameType | None) -> None:
        raise _HangsError

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@VALUES
@MODES
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda v: v,
        lambda v: {"rows": [v]},
        lambda v: [v],
        lambda v: {"a": {"b": v}},
        lambda v: {"status": "error", "errors": [v]},
    ],
)
def test_a_result_is_handed_on(name: str, mode: str, wrapped: Callable[[Any], Any]) -> None:
    result = wrapped(MAKERS[name]())
    with memory_of(mode=mode, fallback_map=NO_MAP, learn_shapes=True) as memory:
        handled = memory.call(ToolCall("get_x", {"id": 1}, Effect.READ, "c", "1"), lambda tool, given: result)
        assert handled.unwrap() is result


@VALUES
@MODES
@pytest.mark.parametrize("wrapped", [lambda v: v, lambda v: [{"b": v}]])
def test_an_argument_is_handed_over(name: str, mode: str, wrapped: Callable[[Any], Any]) -> None:
    argument = wrapped(MAKERS[name]())
    got: list[Any] = []

    def fail(tool: str, arguments: Mapping[str, Any]) -> Any:
        got.append(arguments["a"])
        raise TimeoutError("timed out")

    with memory_of(mode=mode, fallback_map=NO_MAP, store_arguments=True) as memory:
        handled = memory.call(ToolCall("get_x", {"a": argument}, Effect.READ, "c", "1"), fail)
        assert handled.outcome.kind is ErrorKind.TIMEOUT
        assert all(one is argument for one in got)


@VALUES
@MODES
def test_an_exception_is_handed_on(name: str, mode: str) -> None:
    error = ValueError(MAKERS[name]())

    def fail(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise error

    with memory_of(mode=mode, fallback_map=NO_MAP) as memory:
        handled = memory.call(ToolCall("get_x", {}, Effect.READ, "c", "1"), fail)
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - it is the very one
            handled.unwrap()
        assert caught.value is error


@VALUES
def test_its_text_its_json_and_its_name_are_made_without_a_raise(name: str) -> None:
    assert len(text_of(MAKERS[name](), 100)) <= 100
    assert len(bounded_json({"a": MAKERS[name]()}, 100)) <= 100
    assert canonical({"a": MAKERS[name]()})
    assert fingerprint("tool", {"a": MAKERS[name]()})


def test_a_persons_interrupt_is_not_taken_for_the_objects_own() -> None:
    pressed = iter((KeyboardInterrupt(), None))

    class Slow:
        def __str__(self) -> str:
            if (error := next(pressed)) is not None:
                raise error
            return "slow"

    with pytest.raises(KeyboardInterrupt):
        text_of(Slow())


def test_what_always_ends_the_program_is_an_error_instead() -> None:
    with pytest.raises(UnanswerableError, match="SystemExit"):
        ask(raising(SystemExit(1)).__str__)


@pytest.mark.parametrize(
    "big", ["x" * 20_000_000, b"x" * 20_000_000, {"a": ["é" * 10_000_000]}, ["y" * 1_000] * 20_000]
)
def test_a_huge_argument_costs_no_multiple_of_itself(big: Any) -> None:
    def fail(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise TimeoutError("timed out")

    with memory_of(fallback_map=NO_MAP, store_arguments=True) as memory:
        memory.call(ToolCall("get_x", {"a": 1}, Effect.READ, "c", "0"), fail)  # what is loaded once
        tracemalloc.start()
        memory.call(ToolCall("get_x", {"a": big}, Effect.READ, "c", "1"), fail)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 65_000_000  # one copy as JSON, and what is worked with
