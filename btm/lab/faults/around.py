"""One line around tools of your own: ``tools = inject(tools, FaultSettings(rate=0.3))``."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from btm.lab.faults.injector import Injector
from btm.lab.faults.plan import FaultPlan, RandomFaults
from btm.lab.faults.settings import FaultSettings
from btm.support.function_arguments import binder, is_async

_DEFAULT = FaultSettings()
_NOT_ARGUMENTS = frozenset(
    {"self", "config", "run_manager", "callbacks"}
)  # LangChain's own, other at every call


def inject(
    tools: Iterable[Any], settings: FaultSettings = _DEFAULT, *, episode: str = "episode"
) -> list[Any]:
    """Return the same tools with faults, in order: functions (sync or async) and LangChain tools.

    Another ``episode``, other faults. ``settings.delay_s`` is really waited. A fault that an answer has no place for is
    left out, and said in a warning. Raises TypeError for what is neither a function nor a LangChain tool.
    """
    plan = RandomFaults(settings, episode)
    return [around_tool(tool, plan) for tool in tools]


def around_tool(tool: Any, plan: FaultPlan, keep: Callable[[Injector], None] = lambda _: None) -> Any:
    """Return one tool with a plan's faults; ``keep`` is shown its injector. Raises TypeError as ``inject`` does."""
    if any(base.__module__.startswith("langchain_core.") for base in type(tool).__mro__):
        from btm.adapters.langchain.tool_copy import with_function  # noqa: PLC0415 - only these need LangChain

        return with_function(tool, lambda function: _around(function, tool.name, plan, keep))
    if not callable(tool) or isinstance(tool, type):
        raise TypeError(f"inject takes functions and LangChain tools, not {type(tool).__name__}")
    return _around(tool, getattr(tool, "__name__", type(tool).__name__), plan, keep)


def between(
    plan: FaultPlan, keep: Callable[[Injector], None] = lambda _: None
) -> Callable[[str, Mapping[str, Any], Callable[[], Any]], Any]:
    """Return a function that makes a call by name, with a plan's faults: it gets the arguments and what runs the tool."""
    run_now: ContextVar[Callable[[], Any]] = ContextVar("btm_injected")
    injector = Injector(lambda *_: run_now.get()(), plan, wait=time.sleep)
    keep(injector)

    def made(tool: str, arguments: Mapping[str, Any], run: Callable[[], Any]) -> Any:
        token = run_now.set(run)
        try:
            return injector(tool, arguments)
        finally:
            run_now.reset(token)

    return made


def _around(
    function: Callable[..., Any], name: str, plan: FaultPlan, keep: Callable[[Injector], None]
) -> Callable[..., Any]:
    """Return a function whose calls meet the plan's faults, with the same name and signature."""
    bound, through = binder(function), between(plan, keep)

    def made(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = {k: v for k, v in bound(*args, **kwargs).items() if k not in _NOT_ARGUMENTS}
        return through(name, arguments, lambda: run(*args, **kwargs))

    if is_async(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            loop = asyncio.get_running_loop()

            def run(*given: Any, **named: Any) -> Any:
                return asyncio.run_coroutine_threadsafe(function(*given, **named), loop).result()

            return await asyncio.to_thread(made, run, args, kwargs)

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return made(function, args, kwargs)

    return called
