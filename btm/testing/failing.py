"""Tools that fail a few times and then work."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


class Failures:
    """Counts failures that are left; thread-safe."""

    def __init__(self, times: int, error: Exception | type[Exception]) -> None:
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise ValueError(f"times is a whole number from 0 on, not {times!r}")
        is_class = isinstance(error, type) and issubclass(error, Exception)
        if not is_class and not isinstance(error, Exception):
            raise TypeError(f"error is an exception or its class, not {error!r}")
        self._left = times
        self._error = error
        self._lock = threading.Lock()

    def next(self) -> None:
        """Raise, as long as a failure is left."""
        with self._lock:
            if self._left <= 0:
                return
            self._left -= 1
        raise self._error


def fail(tool: T, *, times: int = 1, error: Exception | type[Exception] = TimeoutError) -> T:
    """Return ``tool`` failing ``times`` times with ``error`` before it works. The tool itself is left as it is.

    Takes a function, sync or async, or a LangChain tool; what comes back has the same name and signature. While it
    fails, the tool's own code does not run.

    Raises ValueError for a ``times`` that is no count, TypeError for an ``error`` that is none and for what is no tool.
    """
    failures = Failures(times, error)
    made: Any
    if _is_langchain_tool(tool):
        from btm.testing.langchain import failing_tool  # noqa: PLC0415 - loads langchain-core

        original: Any = tool
        made = failing_tool(original, failures)
        return made  # type: ignore[no-any-return]
    if not callable(tool):
        raise TypeError(f"a tool is a function or a LangChain tool, not {type(tool).__name__}")
    if inspect.iscoroutinefunction(tool):

        @functools.wraps(tool)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            failures.next()
            return await tool(*args, **kwargs)

        made = awaited
    else:

        @functools.wraps(tool)
        def returned(*args: Any, **kwargs: Any) -> Any:
            failures.next()
            return tool(*args, **kwargs)

        made = returned
    return made  # type: ignore[no-any-return]


def _is_langchain_tool(value: object) -> bool:
    return any(c.__module__ == "langchain_core.tools.base" for c in type(value).__mro__)
