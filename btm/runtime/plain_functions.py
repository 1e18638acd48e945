"""Plain functions with btm around them: what ``memory.wrap`` returns, for functions that return and that are awaited.

A wrapped function runs its own code, called as it was called. By name functions are only found when one stands in for
another. What a call gives that has not run yet teaches nothing: a coroutine is followed until it is awaited, generators
and other things to be awaited are handed over as they are.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MethodType
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from btm.fallback import FallbackMap
from btm.model import ChoiceEnum, Effect, ToolCall
from btm.planning.closing import in_result
from btm.planning.failure_text import error_text, result_text
from btm.runtime.drivers import AsyncInvoker, Handled, Invoker
from btm.runtime.timeouts import Limits, Timeouts, in_own_thread, log_late
from btm.support.failsafe import is_active
from btm.support.function_arguments import apply, binder, is_async, is_generator, is_unbound, name_of
from btm.support.imitations import disarmed
from btm.support.notes import note_on

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("btm")
_LANGCHAIN_TOOL = ("langchain_core.tools.base", "BaseTool")


class OnFailure(ChoiceEnum):
    """What a wrapped function does when its call failed: raise, or return the error with the context as a text."""

    RAISE = "raise"
    RETURN = "return"


class Caller(Protocol):
    """What a wrapped function asks of a memory."""

    def call(self, call: ToolCall, invoke: Invoker, *, available: Collection[str] | None = None) -> Handled:
        """Make a call through btm."""

    async def acall(
        self, call: ToolCall, invoke: AsyncInvoker, *, available: Collection[str] | None = None
    ) -> Handled:
        """Make a call through btm with a function that must be awaited."""

    def effect_of(self, tool: str, stated: Effect | None = None) -> Effect:
        """Return a tool's effect."""

    def describe(self, tool: str, description: str | None) -> None:
        """Say how a tool is described."""


@dataclass(frozen=True, eq=False)
class _WrappedFunction:
    """A function as it was handed in: the tool it is, and what was stated about it."""

    tool: str
    function: Callable[..., Any]
    effect: Effect | None
    timeouts: Timeouts
    on_failure: OnFailure = OnFailure.RAISE

    @functools.cached_property
    def may_await(self) -> bool:
        """Whether it may have to be awaited: it is async, or was before it was decorated."""
        return is_async(self.function) or is_async(inspect.unwrap(self.function))

    def replaces(self, other: _WrappedFunction) -> bool:
        """Whether this is the function that ``other`` is, or a new edition of it (a cell that was run again)."""
        mine, its = self.function, other.function
        if isinstance(mine, MethodType) and isinstance(its, MethodType):
            return mine.__func__ is its.__func__ and mine.__self__ is its.__self__
        if mine is its or not (inspect.isfunction(mine) and inspect.isfunction(its)):
            return mine is its
        # What is made in a function has no such name of its own: each may hold something else.
        same = (mine.__module__, mine.__qualname__) == (its.__module__, its.__qualname__)
        return same and "<" not in mine.__qualname__


class WrappedFunctions:
    """The wrapped functions of one memory. In act mode they can stand in for each other, by tool name."""

    def __init__(self, memory: Caller, fallback_map: FallbackMap) -> None:
        self._memory = memory
        self._map = fallback_map
        # None: several functions have the name, so a map cannot mean one of them.
        self._by_name: dict[str, _WrappedFunction | None] = {}
        self.present: tuple[str, ...] = ()
        """The tools that can stand in for one that is awaited."""
        self.present_sync: tuple[str, ...] = ()
        """The tools that can stand in for one that returns."""

    def wrap(
        self,
        function: Callable[P, R],
        *,
        name: str | None,
        effect: Effect | None,
        timeout_s: float | None,
        on_failure: OnFailure = OnFailure.RAISE,
    ) -> Callable[P, R]:
        """Return ``function`` with every call made through the memory; a generator function as it is.

        Raises TypeError for what cannot be called and ValueError for a ``timeout_s`` that is no time limit.
        """
        given: Any = function
        if isinstance(given, staticmethod | classmethod):
            inner = self.wrap(
                given.__func__, name=name, effect=effect, timeout_s=timeout_s, on_failure=on_failure
            )
            return cast(Callable[P, R], type(given)(inner))
        if _is_langchain_tool(given):
            raise TypeError(
                f"{type(given).__name__} is a LangChain tool: wrap it with "
                "btm.adapters.langchain.wrap_tools(tool, memory)"
            )
        if not callable(given):
            raise TypeError(f"only what can be called can be wrapped, not {type(given).__name__}")
        tool = name or name_of(given)
        limits = Timeouts(self._map, {} if timeout_s is None else {tool: timeout_s})
        entry = _WrappedFunction(tool, given, effect, limits, on_failure)
        if is_generator(given):
            return function
        self._register(entry)
        self._memory.describe(tool, getattr(given, "__doc__", None))
        calls = _Calls(self._memory, self, entry)
        if is_async(given):

            @functools.wraps(given)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                if not is_active():
                    return await given(*args, **kwargs)
                return await calls.awaited(args, kwargs)

            return cast(Callable[P, R], awaited)

        @functools.wraps(given)
        def returned(*args: Any, **kwargs: Any) -> Any:
            return calls.returned(args, kwargs) if is_active() else given(*args, **kwargs)

        return cast(Callable[P, R], returned)

    def stand_in(self, tool: str) -> _WrappedFunction:
        """Return the function that stands in under a name."""
        entry = self._by_name.get(tool)
        if entry is None:
            raise LookupError(f"no function is wrapped as {tool!r}")
        return entry

    def _register(self, entry: _WrappedFunction) -> None:
        other = self._by_name.get(entry.tool, entry)
        if other is not None and not entry.replaces(other):
            _log.warning(
                "two different functions are wrapped under the name %r: each runs its own code, but btm learns about "
                "both as one tool and lets neither stand in for another one; name them apart with "
                "memory.wrap(function, name=...)",
                entry.tool,
            )
            other = None
        self._by_name[entry.tool] = None if other is None else entry
        # A method that waits for its object cannot be called by a map.
        usable = [e for e in list(self._by_name.values()) if e is not None and not is_unbound(e.function)]
        self.present = tuple(e.tool for e in usable)
        self.present_sync = tuple(e.tool for e in usable if not e.may_await)


class _Calls:
    """The calls of one wrapped function."""

    def __init__(self, memory: Caller, functions: WrappedFunctions, own: _WrappedFunction) -> None:
        self._memory = memory
        self._functions = functions
        self._own = own
        self._bind = binder(own.function)
        self._limits = Limits(self._seconds, self._effect, log_late)

    def returned(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Make a call of a function that returns; what it gives may still have to be awaited."""
        call = self._call(args, kwargs)
        # What starts a task must be called in the thread of the event loop.
        beside_loop = self._own.may_await and _running_loop() is not None
        invoke = self._invoke if beside_loop else self._limits.over(self._invoke)
        try:
            return self._given(self._memory.call(call, invoke, available=self._functions.present_sync))
        except _HandedOver as handed:
            result = handed.result
        if type(result) is CoroutineType:
            return self._await(call, [result])
        if isinstance(result, asyncio.Future) and result.get_loop() is _running_loop():
            return asyncio.ensure_future(self._await(call, [result]))
        return result

    async def awaited(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Make a call of an async function."""
        return await self._await(self._call(args, kwargs), [])

    async def _await(self, call: ToolCall, given: list[Any]) -> Any:
        """Make an awaited call; ``given`` holds what the first try gave already and is awaited for it."""
        invoke = self._limits.over_async(functools.partial(self._ainvoke, given))
        try:
            handled = await self._memory.acall(call, invoke, available=self._functions.present)
        except _HandedOver as handed:
            return handed.result
        finally:
            for left in given:  # the call was refused, or cancelled before it began
                _drop(left)
        return self._given(handled)

    def _given(self, handled: Handled) -> Any:
        """Return or raise what the caller gets."""
        context = handled.context
        if context is not None and self._own.on_failure is OnFailure.RETURN:
            if handled.error is not None:
                return f"{error_text(handled.error, handled.call.arguments)}\n\n{in_result(context)}"
            if handled.refused:
                return in_result(context)
            result = handled.result
            if isinstance(result, str) or not handled.outcome.silent:
                return f"{disarmed(result_text(result))}\n\n{in_result(context)}"
        return _unwrap_with_note(handled)

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolCall:
        return ToolCall(self._own.tool, self._bind(*args, **kwargs), self._effect(self._own.tool))

    def _invoke(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        entry = self._entry(tool)
        return self._has_run(tool, apply(entry.function, arguments))

    async def _ainvoke(self, given: list[Any], tool: str, arguments: Mapping[str, Any]) -> Any:
        entry = self._entry(tool)
        if entry is self._own and given:
            result = given.pop()
        elif entry is self._own or entry.may_await:
            result = apply(entry.function, arguments)
        else:  # a sync one stands in: not on the event loop
            aside = asyncio.to_thread if self._seconds(tool) is None else in_own_thread
            result = await aside(apply, entry.function, arguments)
        return self._has_run(tool, await result if _is_awaitable(type(result)) else result)

    def _has_run(self, tool: str, result: Any) -> Any:
        """Return a result, unless the function has yet to run: then its outcome is unknown."""
        if not _runs_later(result):
            return result
        if tool == self._own.tool:
            raise _HandedOver(result)
        _drop(result)
        raise TypeError(f"{tool} gives what is yet to run, and cannot stand in")

    def _entry(self, tool: str) -> _WrappedFunction:
        return self._own if tool == self._own.tool else self._functions.stand_in(tool)

    def _seconds(self, tool: str) -> float | None:
        return self._entry(tool).timeouts.seconds(tool)

    def _effect(self, tool: str) -> Effect:
        return self._memory.effect_of(tool, self._entry(tool).effect)


def _is_langchain_tool(value: object) -> bool:
    # By name: nothing but an adapter imports a framework.
    return any((c.__module__, c.__qualname__) == _LANGCHAIN_TOOL for c in type(value).__mro__)


class _HandedOver(BaseException):
    """Ends a call whose result is handed over as it is, because it is yet to run. No error: it teaches nothing."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


def _runs_later(result: object) -> bool:
    return issubclass(type(result), GeneratorType | AsyncGeneratorType) or _is_awaitable(type(result))


def _is_awaitable(kind: type) -> bool:
    try:
        return hasattr(kind, "__await__")
    except Exception:  # noqa: BLE001 - a foreign class may raise from its attributes
        return False


def _drop(result: Any) -> None:
    """Close what will not run, so that Python does not warn that it never was awaited."""
    if isinstance(result, asyncio.Future):
        result.cancel()
    elif isinstance(result, CoroutineType | GeneratorType):
        result.close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _unwrap_with_note(handled: Handled) -> Any:
    if handled.error is not None and handled.context is not None:
        note_on(handled.error, in_result(handled.context))
    return handled.unwrap()
