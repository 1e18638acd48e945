"""Time limits for tools that may never answer, and what becomes of an answer that comes too late.

A tool that is over its limit ends as a ``TimeoutError``. A read is abandoned. A write cannot be stopped, because it
may be half done: it goes on, and what it gives in the end is handed to ``late``.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from btm.fallback import FallbackMap
from btm.model import Effect
from btm.runtime.drivers import AsyncInvoker, Invoker, Reply, is_control_flow
from btm.support.process_state import follows_the_living
from btm.support.untrusted import text_of

_log = logging.getLogger("btm")

Late = Callable[[str, Mapping[str, Any], Reply], None]
"""Told about a write that ended after its limit: its tool, its arguments, and what came of it."""


def limit_s(seconds: object) -> float | None:
    """Return a time limit in seconds as it was stated; None, 0 and infinity mean that there is none.

    Raises ValueError for anything else that is not a positive number.
    """
    if seconds is None:
        return None
    try:
        value = float(seconds) if isinstance(seconds, Real) and not isinstance(seconds, bool) else math.nan
    except OverflowError:
        value = math.inf
    if math.isnan(value) or value < 0:
        raise ValueError(
            f"a time limit is a positive number of seconds, or None for none, not {text_of(seconds, 50)}"
        )
    # What a lock can wait for at most is some 300 years.
    return min(value, threading.TIMEOUT_MAX) if 0 < value < math.inf else None


@dataclass(frozen=True)
class Timeouts:
    """How many seconds each tool has: those ``stated`` by tool name, else the fallback map's.

    A tool whose limit is stated as None, 0 or infinity has none, whatever the map says. Raises ValueError for what is
    no time limit.
    """

    fallback_map: FallbackMap
    stated: Mapping[str, float | None]

    def __post_init__(self) -> None:
        """Check what was stated, so that a wrong limit is found where it was written."""
        checked = {tool: limit_s(seconds) for tool, seconds in self.stated.items()}
        object.__setattr__(self, "stated", checked)

    def seconds(self, tool: str) -> float | None:
        """Return a tool's time limit, None when it has none."""
        return self.stated[tool] if tool in self.stated else limit_s(self.fallback_map.entry(tool).timeout)

    @property
    def any(self) -> bool:
        """Whether any tool has a time limit."""
        return not all(seconds is None for seconds in self.stated.values()) or self.fallback_map.has_timeouts


@dataclass(frozen=True)
class Limits:
    """How long to wait for each tool. ``seconds`` gives a tool's limit (None: for ever), ``effect`` its effect."""

    seconds: Callable[[str], float | None]
    effect: Callable[[str], Effect]
    late: Late

    def over(self, invoke: Invoker) -> Invoker:
        """Return ``invoke`` with limits; a tool that has one runs in a thread of its own."""

        def limited(tool: str, arguments: Mapping[str, Any]) -> Any:
            seconds = self.seconds(tool)
            if seconds is None:
                return invoke(tool, arguments)
            return self._wait(_Running(invoke, tool, arguments), seconds)

        return limited

    def over_async(self, invoke: AsyncInvoker) -> AsyncInvoker:
        """Return an awaited ``invoke`` with limits."""

        async def limited(tool: str, arguments: Mapping[str, Any]) -> Any:
            seconds = self.seconds(tool)
            if seconds is None:
                return await invoke(tool, arguments)
            task: asyncio.Task[Any] = asyncio.ensure_future(_awaited(invoke, tool, arguments))
            try:
                done, _ = await asyncio.wait({task}, timeout=seconds)
            except BaseException:
                task.cancel()  # the agent itself was cancelled: its tool goes with it
                raise
            if done:
                return task.result()
            self._leave(task, tool, arguments)
            raise _too_slow(tool, seconds)

        return limited

    def _wait(self, running: _Running, seconds: float) -> Any:
        if running.join(seconds):
            return running.outcome()
        if self.effect(running.tool) is Effect.WRITE:
            running.when_done(lambda reply: self._tell(running.tool, running.arguments, reply))
        raise _too_slow(running.tool, seconds)

    def _leave(self, task: asyncio.Task[Any], tool: str, arguments: Mapping[str, Any]) -> None:
        if self.effect(tool) is not Effect.WRITE:
            task.cancel()
            task.add_done_callback(_forget)
            return
        _left.add(task)  # the event loop itself keeps only weak references

        def ended(finished: asyncio.Task[Any]) -> None:
            _left.discard(finished)
            if finished.cancelled():
                return
            error = finished.exception()
            if error is None:
                self._tell(tool, arguments, Reply(finished.result()))
            elif isinstance(error, Exception) and not is_control_flow(error):
                self._tell(tool, arguments, Reply(error=error))

        task.add_done_callback(ended)

    def _tell(self, tool: str, arguments: Mapping[str, Any], reply: Reply) -> None:
        try:
            self.late(tool, arguments, reply)
        except Exception:  # noqa: BLE001 - the caller has gone on without this thread or callback
            _log.warning("noting a late answer of %s failed", tool, exc_info=True)


async def in_own_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Await a plain function that may never end: in a daemon thread, not one of asyncio's pool.

    ``asyncio.run`` waits for the threads of its pool before it returns, also for one that hangs.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)

    def settle(result: Any, error: BaseException | None) -> None:
        if ended.done():  # cancelled meanwhile
            return
        if error is None:
            ended.set_result(result)
        elif isinstance(error, StopIteration):  # a future cannot hold one
            ended.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
        else:
            ended.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:  # noqa: BLE001 - it is raised again where it is awaited
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop was closed: the caller is gone
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="btm-awaited", daemon=True).start()
    return await ended


def log_late(tool: str, _: Mapping[str, Any], reply: Reply) -> None:
    """Note a late answer in the log, for callers that have no other place for it."""
    _log.warning("%s, a write, %s after its time limit", tool, "failed" if reply.error else "went through")


_left: set[asyncio.Task[Any]] = follows_the_living(__name__, set())


async def _awaited(invoke: AsyncInvoker, tool: str, arguments: Mapping[str, Any]) -> Any:
    return await invoke(tool, arguments)


def _forget(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()  # looked at, so that asyncio does not complain about it


def _too_slow(tool: str, seconds: float) -> TimeoutError:
    return TimeoutError(f"{tool} timed out: no answer within {seconds:g} s")


class _Running:
    """A tool in a daemon thread (one that hangs must not keep the process from ending), in the caller's context."""

    def __init__(self, invoke: Invoker, tool: str, arguments: Mapping[str, Any]) -> None:
        self.tool, self.arguments = tool, arguments
        self._result: Any = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._callback: Callable[[Reply], None] | None = None
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._run, invoke), name=f"btm-{tool}", daemon=True
        ).start()

    def _run(self, invoke: Invoker) -> None:
        try:
            self._result = invoke(self.tool, self.arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            self._error = error
        with self._lock:
            self._done.set()
            callback = self._callback
        if callback is not None:
            self._report(callback)

    def join(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def outcome(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def when_done(self, callback: Callable[[Reply], None]) -> None:
        with self._lock:
            if not self._done.is_set():
                self._callback = callback
                return
        self._report(callback)

    def _report(self, callback: Callable[[Reply], None]) -> None:
        if self._error is None:
            callback(Reply(self._result))
        elif isinstance(self._error, Exception) and not is_control_flow(self._error):
            callback(Reply(error=self._error))
