"""A LangChain tool with btm around it: the same class, the same state, another ``run``.

The wrapped tool shares its attributes with the original: what is set on one is seen on the other, and counters that
a tool keeps in itself stay true. Only ``run`` and ``arun`` differ, the two doors that every executor goes through.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

from langchain_core.tools import BaseTool, ToolException
from pydantic import ValidationError

from btm.adapters.langchain.injection import injected_names, needed_names, require_sync
from btm.adapters.langchain.tool_copy import describe, described, facade, has_own_await, run_aside
from btm.adapters.langchain.tool_proxy_call import Visit
from btm.adapters.notes import Notes
from btm.memory import ToolMemory
from btm.model import Effect
from btm.runtime.drivers import Reply
from btm.runtime.timeouts import Timeouts
from btm.support.failsafe import is_active, safely

# Exceptions that a tool raised and its own handle_tool_error is about to turn into an ordinary result.
_noted: ContextVar[list[Exception] | None] = ContextVar("btm_noted", default=None)


@dataclass(frozen=True)
class Binding:
    """What the tools of one ``wrap_tools`` have in common. ``raises``: a failing tool raises instead of answering."""

    memory: ToolMemory
    timeouts: Timeouts
    raises: bool = False
    toolbox: dict[str, BaseTool] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    needs: dict[str, frozenset[str]] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    _classes: dict[type[BaseTool], type[WrappedTool]] = field(default_factory=dict)

    def aside(self, tool: BaseTool) -> bool:
        """Whether a tool, awaited, runs in a thread of its own: a sync one that has a time limit."""
        limited = is_active() and self.timeouts.any and self.timeouts.seconds(tool.name) is not None
        return limited and not has_own_await(original_of(tool))

    def effect(self, tool: str) -> Effect:
        """Return a tool's effect."""
        found = self.effects.get(tool)
        if found is None:
            found = self.effects[tool] = self.memory.effect_of(tool)
        return found

    def wrap(self, tool: BaseTool) -> BaseTool:
        """Return ``tool`` with this binding's memory around it, and put it into the toolbox of act mode."""
        original = original_of(tool)
        wrapped = _facade(original, self._class_for(type(original)))
        self.toolbox[original.name] = wrapped
        describe(self.memory, original)
        needed = needed_names(original)
        if needed:
            self.needs[original.name] = needed
        return wrapped

    def available(self, given: Collection[str]) -> Collection[str]:
        """Return the tools that can be called with these injected arguments at hand."""
        if not self.needs:
            return self.toolbox
        return [name for name in self.toolbox if self.needs.get(name, frozenset()) <= set(given)]

    def _class_for(self, base: type[BaseTool]) -> type[WrappedTool]:
        if base not in self._classes:
            # The same name and module: errors and traces name the user's class.
            names = {"__module__": base.__module__, "__doc__": base.__doc__, "__slots__": ()}
            made = type(base.__name__, (WrappedTool, base), {**names, **_noting(base), "_btm_binding": self})
            self._classes[base] = made
        return self._classes[base]


class WrappedTool(BaseTool):
    """The two doors. Made by :meth:`Binding.wrap` only, always together with the tool's own class."""

    __slots__ = ("_btm_injected", "_btm_original", "_btm_schema")

    _btm_binding: ClassVar[Binding]
    if TYPE_CHECKING:  # slots, not fields: pydantic must not see them
        _btm_original: BaseTool
        _btm_injected: frozenset[str]
        _btm_schema: Any

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        visit = self._btm_visit(tool_input, args, kwargs)
        if visit is None:
            return super().run(tool_input, *args, **kwargs)
        require_sync(self)
        return visit.run(WrappedTool._btm_invoke)

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        visit = self._btm_visit(tool_input, args, kwargs)
        if visit is None:
            return await super().arun(tool_input, *args, **kwargs)
        return await visit.arun(WrappedTool._btm_ainvoke)

    def _btm_visit(self, tool_input: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Visit | None:
        if not is_active():
            return None
        return safely(Visit.begin, self, self._btm_binding, self._btm_injected, tool_input, args, kwargs)

    def _btm_invoke(self, given: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Reply:
        if not (self.handle_tool_error or self.handle_validation_error):
            return Reply(super().run(given, *args, **kwargs))
        noted: list[Exception] = []
        token = _noted.set(noted)
        try:
            raw = super().run(given, *args, **kwargs)
        finally:
            _noted.reset(token)
        return Reply(raw, noted[-1] if noted else None)

    async def _btm_ainvoke(self, given: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Reply:
        if not (self.handle_tool_error or self.handle_validation_error):
            return Reply(await super().arun(given, *args, **kwargs))
        noted: list[Exception] = []
        token = _noted.set(noted)
        try:
            raw = await super().arun(given, *args, **kwargs)
        finally:
            _noted.reset(token)
        return Reply(raw, noted[-1] if noted else None)

    def _filter_injected_args(self, tool_input: dict[str, Any]) -> dict[str, Any]:
        # LangChain works this out anew at every call; the answer only changes with the schema.
        if self.args_schema is not self._btm_schema:
            return super()._filter_injected_args(tool_input)
        return {k: v for k, v in tool_input.items() if k not in self._btm_injected}

    def _parse_input(self, tool_input: Any, tool_call_id: str | None) -> Any:
        try:
            return super()._parse_input(tool_input, tool_call_id)
        except ValidationError as error:
            _note(error)
            raise

    def __copy__(self) -> Any:
        return _facade(self._btm_original.__copy__(), type(self))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Any:
        return _facade(self._btm_original.__deepcopy__(memo), type(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A memory stays in its process: what travels is the original tool.
        return _itself, (self._btm_original,)


def _itself(tool: BaseTool) -> BaseTool:
    return tool


def _facade(tool: BaseTool, cls: type[WrappedTool]) -> WrappedTool:
    """Return an object of ``cls`` that shares the state of ``tool``."""
    made = facade(tool, cls)
    object.__setattr__(made, "_btm_original", tool)
    object.__setattr__(made, "_btm_schema", tool.args_schema)
    object.__setattr__(made, "_btm_injected", injected_names(tool))
    return made


def original_of(tool: BaseTool) -> BaseTool:
    """Return the tool inside a wrapped one; any other tool as it is."""
    original: BaseTool = tool._btm_original if isinstance(tool, WrappedTool) else tool
    return original


def _note(error: Exception) -> None:
    noted = _noted.get()
    if noted is not None:
        noted.append(error)


def _noting(base: type[BaseTool]) -> dict[str, Callable[..., Any]]:
    """The tool's own ``_run`` and ``_arun``, noting the exceptions that ``handle_tool_error`` would hide from us.

    Their signatures are kept, because LangChain looks there for what to hand in; it does so at every call, so they
    are kept in the form that is read fastest.
    """
    run, arun = base._run, base._arun

    @functools.wraps(run)
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return run(self, *args, **kwargs)
        except ToolException as error:
            _note(error)
            raise

    @functools.wraps(described(base))
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._btm_binding.aside(self):
                return await run_aside(self, args, kwargs)
            return await arun(self, *args, **kwargs)
        except ToolException as error:
            _note(error)
            raise

    _resolve(_run)
    _resolve(_arun)
    return {"_run": _run, "_arun": _arun}


def _resolve(function: Callable[..., Any]) -> None:
    """Replace annotations that are text by what they name, once; those that cannot be resolved stay."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - a user's annotation may name anything; LangChain copes with it as well
        return
    function.__annotations__ = hints
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
