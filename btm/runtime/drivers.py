"""How decisions meet the world: a generator asks for calls and waits, a driver carries them out.

The deciding code (:mod:`btm.runtime.call_handler`) is one generator that yields the calls to make and the waits. So only
the drivers are twins: one for functions that return, one for functions that must be awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from btm.errors import RefusedCallError
from btm.model import Action, ErrorKind, Outcome, ToolCall
from btm.planning.closing import in_result
from btm.planning.plan import RecoveryContext
from btm.support.untrusted import harmless, tool_name

Invoker = Callable[[str, Mapping[str, Any]], Any]
"""Runs a tool by name with arguments; returns its result or raises its error."""

NOT_MADE = "breaker"
"""The rule of an outcome of a call that was not made: its tool is down for everyone."""

AsyncInvoker = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Wait:
    """A request to wait. One that is not ``needed`` is left out where it would hold up an event loop."""

    seconds: float
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool gave: a result, or the exception it raised."""

    result: Any = None
    error: Exception | None = None


Request = ToolCall | Wait
"""What the steps of a decision ask for: a tool to be run, or a wait."""


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happened while a call was handled: ``action`` is None for the agent's own call.

    ``problem`` says why a good answer was none to the agent's call: it holds nothing about what was asked for, say.
    """

    action: Action | None
    call: ToolCall
    outcome: Outcome
    waited_s: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Handled:
    """What came of handing a call to btm.

    ``result`` or ``error`` is what the tool gave, unchanged, unless btm acted: then it is what the last move gave, and
    ``served_by`` names the tool it came from. ``refused`` means that no tool was run: a policy forbids the call, and
    ``context`` says why. ``trail`` is everything that was done, in order. Where btm acted, ``done`` says in a line for
    the model how the answer came about (``served by list_orders in place of get_order after a timeout, lacks:
    history``), and ``lacks`` names the fields that a substitute's answer does not have.
    """

    call: ToolCall
    outcome: Outcome
    result: Any = None
    error: Exception | None = None
    served_by: str = ""
    context: RecoveryContext | None = None
    refused: bool = False
    trail: tuple[Move, ...] = ()
    lacks: tuple[str, ...] = ()
    done: str = ""

    def unwrap(self) -> Any:
        """Return the result, or raise the tool's own exception.

        Raises :class:`~btm.errors.RefusedCallError` for a call that was refused.
        """
        if self.error is not None:
            raise self.error
        if self.refused:
            raise RefusedCallError(in_result(self.context) or "the call was refused")
        return self.result


def what_was_done(trail: Sequence[Move], lacks: Sequence[str] = ()) -> str:
    """Return a line for the model on how the answer that the last of these moves gave came about."""
    first, last = trail[0], trail[-1]
    tool, named = tool_name(first.call.tool), tool_name(last.call.tool)
    after = f"after {_a(first.outcome.kind)}" if first.outcome.kind is not None else "after a doubtful answer"
    if first.outcome.rule == NOT_MADE:
        after = "which is down"
    match last.action:
        case Action.VERIFY:
            return f"verified with {named} {after}: {tool} went through"
        case Action.SWITCH:
            missing = f", lacks: {harmless(', '.join(lacks))}" if lacks else ""
            comma = "," if first.outcome.rule == NOT_MADE else ""
            return f"served by {named} in place of {tool}{comma} {after}{missing}"
    retries = sum(1 for move in trail[1:] if move.call.tool == first.call.tool)
    repairs = dict.fromkeys(tool_name(m.call.tool) for m in trail[1:] if m.action is Action.REPAIR)
    by = [name for name in repairs if name != tool]
    times = "1 retry" if retries == 1 else f"{retries} retries"
    return f"{after}, {times}" + (f" and {', '.join(by)}" if by else "")


def _a(kind: ErrorKind) -> str:
    """Return an error kind as words: ``a timeout``, ``an auth error``."""
    words = kind.replace("_", " ")
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


Steps = Generator[Request, Reply | None, Handled]

# By name: nothing but an adapter imports a framework.
_CONTROL_FLOW = frozenset(
    {
        "agent_framework._middleware.MiddlewareFailure",
        "agent_framework._middleware.MiddlewareTermination",
        "agent_framework.exceptions.UserInputRequiredException",
        "ag2.exceptions.HumanInputError",
        "agno.exceptions.AgentRunException",
        "agno.exceptions.RunCancelledException",
        "btm.adapters.framework.PutOff",
        "crewai.flow.async_feedback.types.HumanFeedbackPending",
        "langgraph.errors.GraphBubbleUp",
        "pydantic_ai.exceptions.ApprovalRequired",
        "pydantic_ai.exceptions.CallDeferred",
        "pydantic_ai.exceptions.RunCancelled",
        "pydantic_ai.exceptions.SkipToolExecution",
        "pydantic_ai.exceptions.UsageLimitExceeded",
        "strands.interrupt.InterruptException",
        "workflows.runtime.types.results.WaitingForEvent",
    }
)
_MOST_LEAVES = 10_000


def is_control_flow(error: BaseException) -> bool:
    """Whether an exception is a framework's signal and not a failure: it passes untouched and teaches nothing.

    A group is one when anything in it is: a task group around an interrupted tool raises such groups.
    """
    return any(_is_signal(leaf) for leaf in _leaves(error))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    for _ in range(_MOST_LEAVES):
        if not waiting:
            return
        found = waiting.pop()
        # Its type, and the class of a group, are true where its own attributes are of its making.
        if issubclass(type(found), BaseExceptionGroup):
            waiting += BaseExceptionGroup.exceptions.__get__(found)
        else:
            yield found


def _is_signal(error: BaseException) -> bool:
    # The cancelled future of a thread pool is an Exception, unlike that of an event loop.
    if not issubclass(type(error), Exception) or issubclass(type(error), CancelledError):
        return True
    # A person's answer that is wrong says nothing about the tool.
    if _is_wrong_resume(error):
        return True
    return any(f"{c.__module__}.{c.__qualname__}" in _CONTROL_FLOW for c in type(error).__mro__)


def _is_wrong_resume(error: BaseException) -> bool:
    try:
        return getattr(error, "_langgraph_invalid_resume", False) is True
    except Exception:  # noqa: BLE001 - a tool's own exception may raise anything from __getattr__
        return False


def drive(steps: Steps, invoke: Invoker, sleep: Callable[[float], None]) -> Handled:
    """Carry out what ``steps`` asks for with functions that return."""
    with closing(steps):  # whatever interrupts a tool or a wait ends the steps as well
        go_on: Callable[[], Request] = partial(next, steps)
        while True:
            try:
                request = go_on()
            except StopIteration as stop:
                handled: Handled = stop.value
                return handled
            try:
                if isinstance(request, Wait):
                    if request.needed or not _beside_event_loop():
                        sleep(request.seconds)
                    go_on = partial(steps.send, None)
                else:
                    go_on = partial(steps.send, Reply(invoke(request.tool, request.arguments)))
            except Exception as error:
                if is_control_flow(error):
                    _end(steps, error)
                    raise
                go_on = _after(error, request, steps)


def _beside_event_loop() -> bool:
    """Whether this thread runs an event loop, which a sleep would hold up."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def adrive(steps: Steps, invoke: AsyncInvoker, sleep: Callable[[float], Awaitable[None]]) -> Handled:
    """Carry out what ``steps`` asks for with functions that must be awaited."""
    with closing(steps):
        go_on: Callable[[], Request] = partial(next, steps)
        while True:
            try:
                request = go_on()
            except StopIteration as stop:
                handled: Handled = stop.value
                return handled
            try:
                if isinstance(request, Wait):
                    await sleep(request.seconds)
                    go_on = partial(steps.send, None)
                else:
                    result = await invoke(request.tool, request.arguments)
                    go_on = partial(steps.send, Reply(result))
            except Exception as error:
                if is_control_flow(error):
                    _end(steps, error)
                    raise
                go_on = _after(error, request, steps)


class ComesAgain(BaseException):
    """Ends the steps of a call that a framework put off: it will be made again, from its beginning."""


def _end(steps: Steps, error: Exception) -> None:
    if not any(isinstance(leaf, CancelledError) for leaf in _leaves(error)):
        with suppress(ComesAgain):
            steps.throw(ComesAgain())


def _after(error: Exception, request: Request, steps: Steps) -> Callable[[], Request]:
    """Return how the steps go on after an exception.

    A tool's is its reply. That of a wait is a failure of btm's own: it goes where the steps wait, which end there
    (see :func:`~btm.support.failsafe.carefully`), so that the agent gets its tool's own error.
    """
    if isinstance(request, Wait):
        return partial(steps.throw, error)
    return partial(steps.send, Reply(error=error))
