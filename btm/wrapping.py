"""Plain functions with btm around them: what ``memory.wrap`` returns, for functions that return and that are awaited."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from btm.driving import AsyncInvoker, Handled, Invoker
from btm.failsafe import safely
from btm.fallback import FallbackMap
from btm.functions import apply, binder, is_async
from btm.limits import Limits, Timeouts, in_own_thread, log_late
from btm.model import Effect, ToolCall

P = ParamSpec("P")
R = TypeVar("R")


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


class WrappedFunctions:
    """The wrapped functions of one memory, by tool name: in act mode they can stand in for each other."""

    def __init__(self, memory: Caller, fallback_map: FallbackMap) -> None:
        self._memory = memory
        self._functions: dict[str, Callable[..., Any]] = {}
        self._timeouts: dict[str, float] = {}
        limits = Timeouts(fallback_map, self._timeouts)
        self._limits = Limits(limits.seconds, memory.effect_of, log_late)

    def wrap(
        self, function: Callable[P, R], *, name: str | None, effect: Effect | None, timeout_s: float | None
    ) -> Callable[P, R]:
        """Return ``function`` with every call made through the memory."""
        tool = name or str(getattr(function, "__name__", type(function).__name__))
        self._functions[tool] = function
        if timeout_s is not None:
            self._timeouts[tool] = timeout_s
        bind = binder(function)

        def tool_call(args: Any, kwargs: Any) -> ToolCall:
            return ToolCall(tool, bind(*args, **kwargs), self._memory.effect_of(tool, effect))

        if is_async(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                return _unwrap_with_note(await self._acall(tool_call(args, kwargs)))

            return cast(Callable[P, R], awaited)

        @functools.wraps(function)
        def returned(*args: Any, **kwargs: Any) -> Any:
            return _unwrap_with_note(self._call(tool_call(args, kwargs)))

        return cast(Callable[P, R], returned)

    def _call(self, call: ToolCall) -> Handled:
        def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            return apply(self._functions[tool], arguments)

        available = [name for name, function in self._functions.items() if not is_async(function)]
        return self._memory.call(call, self._limits.over(invoke), available=available)

    async def _acall(self, call: ToolCall) -> Handled:
        async def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            function = self._functions[tool]
            if not is_async(function):  # a sync one stands in: not on the event loop
                aside = asyncio.to_thread if self._limits.seconds(tool) is None else in_own_thread
                return await aside(apply, function, arguments)
            return await apply(function, arguments)

        available = self._functions.keys()
        return await self._memory.acall(call, self._limits.over_async(invoke), available=available)


class _Note(str):
    """A note of ours on a tool's exception."""

    __slots__ = ()


def _unwrap_with_note(handled: Handled) -> Any:
    if handled.error is not None and handled.context is not None:
        safely(_note, handled.error, handled.context.text)
    return handled.unwrap()


def _note(error: Exception, text: str) -> None:
    """Add a context to an exception. A tool that raises the same object again has the latest one only."""
    others = [note for note in getattr(error, "__notes__", ()) if not isinstance(note, _Note)]
    error.__notes__ = [*others, _Note(text)]
