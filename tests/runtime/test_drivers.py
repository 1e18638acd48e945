"""The two drivers: what is asked for is carried out, and control flow passes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import CancelledError
from typing import Any

import pytest

from btm import ToolMemory
from btm.errors import RefusedCallError
from btm.model import SUCCESS, ErrorKind, Outcome, ToolCall
from btm.planning.plan import RecoveryContext, RecoveryPlan
from btm.runtime.drivers import (
    ComesAgain,
    Handled,
    Reply,
    Request,
    Steps,
    Wait,
    adrive,
    drive,
    is_control_flow,
)

CALL = ToolCall("t", {"a": 1})


def bubble_up() -> Exception:
    """langgraph's signal, by its full name: the framework need not be installed."""
    made = type("GraphBubbleUp", (Exception,), {"__module__": "langgraph.errors"})
    interrupt = type("GraphInterrupt", (made,), {"__module__": "langgraph.errors"})
    return interrupt("wait for a person")  # type: ignore[no-any-return]


class Script:
    """Steps that ask for a wait and two calls, and note how they ended."""

    def __init__(self) -> None:
        self.replies: list[Reply | None] = []
        self.ended = ""

    def __call__(self) -> Steps:
        return self._steps()

    def _steps(self) -> Generator[Request, Reply | None, Handled]:
        try:
            self.replies.append((yield CALL))
            self.replies.append((yield Wait(2.0)))
            self.replies.append((yield CALL))
        except GeneratorExit:
            self.ended = "closed"
            raise
        except ComesAgain:
            self.ended = "put off"
            raise
        self.ended = "finished"
        return Handled(CALL, SUCCESS, "answer")


Drive = Callable[[Steps, Callable[[str, Mapping[str, Any]], Any], list[float]], Handled]


def _sync(steps: Steps, invoke: Callable[..., Any], slept: list[float]) -> Handled:
    return drive(steps, invoke, slept.append)


def _async(steps: Steps, invoke: Callable[..., Any], slept: list[float]) -> Handled:
    async def awaited(tool: str, arguments: Mapping[str, Any]) -> Any:
        await asyncio.sleep(0)
        return invoke(tool, arguments)

    async def asleep(seconds: float) -> None:
        slept.append(seconds)

    return asyncio.run(adrive(steps, awaited, asleep))


both = pytest.mark.parametrize("run", [_sync, _async], ids=["sync", "async"])


@both
def test_steps_get_results_and_errors_as_replies(run: Drive) -> None:
    script, answers, error = Script(), iter(["first"]), ValueError("second")

    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        assert (tool, arguments) == ("t", {"a": 1})
        try:
            return next(answers)
        except StopIteration:
            raise error from None

    slept: list[float] = []
    assert run(script(), invoke, slept).result == "answer"
    assert script.replies == [Reply("first"), None, Reply(error=error)]
    assert script.replies[2] is not None
    assert script.replies[2].error is error
    assert slept == [2.0]


@both
@pytest.mark.parametrize(
    "signal",
    [
        *(KeyboardInterrupt(), SystemExit(3), GeneratorExit(), asyncio.CancelledError(), bubble_up()),
        *(CancelledError(), ExceptionGroup("g", [ValueError(), bubble_up()])),
    ],
    ids=repr,
)
def test_control_flow_passes_and_ends_the_steps(run: Drive, signal: BaseException) -> None:
    script = Script()

    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise signal

    with pytest.raises(type(signal)) as passed:
        run(script(), invoke, [])
    if not isinstance(signal, asyncio.CancelledError):  # asyncio.run raises its own
        assert passed.value is signal
    assert script.replies == []
    # A framework that interrupts a call makes it again later; whatever else ends it does not.
    comes_again = "GraphInterrupt" in repr(signal)
    assert script.ended == ("put off" if comes_again else "closed")


@both
def test_a_wait_that_fails_fails_where_the_steps_wait(run: Drive) -> None:
    """Steps that put up with it go on; the others end there, whoever they belong to deciding what then."""
    broken = RuntimeError("the clock stands still")

    class Slept(list[float]):
        def append(self, seconds: float) -> None:
            raise broken

    def patient() -> Steps:
        try:
            yield Wait(1.0)
        except RuntimeError as error:
            reply = yield CALL
            assert reply is not None
            return Handled(CALL, SUCCESS, (error, reply.result))
        raise AssertionError

    assert run(patient(), lambda *_: "answer", Slept()).result == (broken, "answer")
    script = Script()
    with pytest.raises(RuntimeError) as raised:
        run(script(), lambda *_: "first", Slept())
    assert raised.value is broken


def test_an_interrupted_wait_ends_the_steps() -> None:
    script = Script()

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as passed:
        drive(script(), lambda *_: "first", interrupted)
    assert script.ended == "closed", passed


async def test_a_cancelled_wait_ends_the_steps() -> None:
    script = Script()

    async def first(*_: Any) -> str:
        return "first"

    task = asyncio.create_task(adrive(script(), first, asyncio.sleep))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert script.ended == "closed"


@both
def test_a_tool_that_raises_stop_iteration_has_failed_like_any_other(run: Drive) -> None:
    script = Script()

    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise StopIteration("odd")

    if run is _sync:
        assert run(script(), invoke, []).result == "answer"
        assert script.ended == "finished"


class SilentError(Exception):
    """An error of a tool's own that answers no question about itself."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("error", "is_signal"),
    [
        (KeyboardInterrupt(), True),
        (asyncio.CancelledError(), True),
        (GeneratorExit(), True),
        (bubble_up(), True),
        (ValueError(), False),
        (TimeoutError(), False),
        (type("GraphBubbleUp", (Exception,), {"__module__": "elsewhere"})(), False),
        (CancelledError(), True),
        (ExceptionGroup("g", [ValueError(), TimeoutError()]), False),
        (ExceptionGroup("g", [ValueError(), ExceptionGroup("h", [bubble_up()])]), True),
        (ExceptionGroup("g", [CancelledError()]), True),
        (BaseExceptionGroup("g", [ValueError(), KeyboardInterrupt()]), True),
    ],
)
def test_signals_are_told_from_failures(error: BaseException, is_signal: bool) -> None:
    assert is_control_flow(error) is is_signal


def test_an_error_that_cannot_be_asked_anything_still_reaches_the_agent() -> None:
    error = SilentError("mine")

    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise error

    memory = ToolMemory.open()
    with memory, pytest.raises(SilentError) as raised:
        memory.call(CALL, invoke).unwrap()
    assert raised.value is error
    assert not is_control_flow(error)


class _LyingError(Exception):
    @property
    def __class__(self) -> Any:
        raise RuntimeError("the class")


class _MuteError(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize("kind", [_LyingError, _MuteError])
def test_an_error_that_hides_its_class_still_reaches_the_agent(kind: type[Exception]) -> None:
    error = kind("x")

    def tool(name: str, arguments: Mapping[str, Any]) -> Any:
        raise error

    for mode in ("observe", "advise", "act"):
        same = ToolMemory.open(mode=mode).call(CALL, tool).error is error
        assert same  # who is told why asks the error


def test_unwrapping_gives_the_result_the_tools_own_error_or_the_refusal() -> None:
    error = ValueError("mine")
    assert Handled(CALL, SUCCESS, "answer").unwrap() == "answer"
    with pytest.raises(ValueError, match="mine") as raised:
        Handled(CALL, Outcome(ErrorKind.UNKNOWN), error=error).unwrap()
    assert raised.value is error
    plan = RecoveryPlan("i", CALL, SUCCESS, ())
    with pytest.raises(RefusedCallError, match="do not"):
        Handled(CALL, SUCCESS, refused=True, context=RecoveryContext("do not", 2, plan)).unwrap()
    with pytest.raises(RefusedCallError):
        Handled(CALL, SUCCESS, refused=True).unwrap()
