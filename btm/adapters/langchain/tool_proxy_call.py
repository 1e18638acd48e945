"""One call of a wrapped LangChain tool, from the executor's arguments to the executor's answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool

from btm.adapters.langchain.results import Address, Exchange, answer, view
from btm.adapters.langchain.run_context import conversation_of, enter, handled_already, leave, task_of
from btm.adapters.wording import error_text, late_text, result_text
from btm.model import ToolCall
from btm.runtime.drivers import Handled, Reply
from btm.runtime.timeouts import Limits
from btm.support.call_ids import Turn
from btm.support.failsafe import safely
from btm.support.untrusted import text_of

if TYPE_CHECKING:
    from btm.adapters.langchain.tool_proxy import Binding

Runner = Callable[[Any, Any, tuple[Any, ...], Mapping[str, Any]], Reply]
AsyncRunner = Callable[[Any, Any, tuple[Any, ...], Mapping[str, Any]], Awaitable[Reply]]

# What belongs to the first run alone: LangChain's tracers refuse a second run with the same id.
_ONCE = ("run_id", "run_name")


@dataclass
class Visit:
    """A call through btm. ``injected`` are the arguments that the framework handed in, kept for substitutes."""

    tool: BaseTool
    binding: Binding
    call: ToolCall
    to: Address
    given: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    injected: Mapping[str, Any]
    task: str = ""
    exchange: Exchange = field(default_factory=Exchange)
    runs: int = 0

    @classmethod
    def begin(
        cls,
        tool: BaseTool,
        binding: Binding,
        injected: frozenset[str],
        given: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Visit | None:
        """Return the visit, or None when this call is being handled further out, or btm itself fails."""
        call_id = kwargs.get("tool_call_id")
        task = safely(task_of, kwargs.get("config")) or ""
        if call_id is not None and handled_already(binding.memory, call_id, task):
            return None
        return safely(cls._made, tool, binding, injected, given, args, kwargs, task)

    @classmethod
    def _made(
        cls,
        tool: BaseTool,
        binding: Binding,
        injected: frozenset[str],
        given: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        task: str,
    ) -> Visit:
        call_id = kwargs.get("tool_call_id")
        handed: Mapping[str, Any] = {}
        arguments = given
        if not isinstance(given, dict):
            arguments = {next(iter(tool.args), "input"): given}
        elif injected:
            handed = {k: v for k, v in given.items() if k in injected}
            arguments = {k: v for k, v in given.items() if k not in injected}
        conversation = conversation_of(binding.memory, kwargs.get("config"))
        call = ToolCall(tool.name, arguments, binding.effect(tool.name), conversation, call_id or "")
        return cls(tool, binding, call, Address(tool.name, call_id), given, args, kwargs, handed, task)

    def run(self, runner: Runner) -> Any:
        """Make the call."""
        memory = self.binding.memory

        def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            tool, given, kwargs = self._attempt(name, arguments)
            return self._shown(runner(tool, given, self.args, kwargs))

        token = enter(memory, self.to.call_id, self.task)
        try:
            limited = self._limits.over(invoke) if self.binding.timeouts.any else invoke
            handled = memory.call(self.call, limited, available=self._available(), turn=Turn(self.task))
        finally:
            leave(token)
        return self._answer(handled)

    async def arun(self, runner: AsyncRunner) -> Any:
        """Make the call, awaited."""
        memory = self.binding.memory

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            tool, given, kwargs = self._attempt(name, arguments)
            return self._shown(await runner(tool, given, self.args, kwargs))

        token = enter(memory, self.to.call_id, self.task)
        try:
            limited = self._limits.over_async(invoke) if self.binding.timeouts.any else invoke
            available = self._available()
            handled = await memory.acall(self.call, limited, available=available, turn=Turn(self.task))
        finally:
            leave(token)
        return self._answer(handled)

    def _available(self) -> Collection[str]:
        return self.binding.available(self.injected)

    def _attempt(self, name: str, arguments: Mapping[str, Any]) -> tuple[BaseTool, Any, Mapping[str, Any]]:
        """Return the tool to run, with its input and options."""
        self.runs += 1
        kwargs: Mapping[str, Any] = self.kwargs
        if self.runs > 1:
            kwargs = {k: v for k, v in kwargs.items() if k not in _ONCE}
        if name == self.tool.name and arguments is self.call.arguments:
            return self.tool, dict(self.given) if isinstance(self.given, dict) else self.given, kwargs
        tool = self.tool if name == self.tool.name else self.binding.toolbox[name]
        needed = self.binding.needs.get(name, frozenset())
        handed = {k: v for k, v in self.injected.items() if k in needed}
        return tool, {**arguments, **handed}, kwargs

    def _shown(self, reply: Reply) -> Any:
        return self.exchange.show(reply.result, reply.error)

    @property
    def _limits(self) -> Limits:
        return Limits(self.binding.timeouts.seconds, self.binding.effect, self._late)

    def _late(self, tool: str, _: Mapping[str, Any], reply: Reply) -> None:
        text = error_text(reply.error) if reply.error is not None else late_answer(reply.result)
        self.binding.notes.add_late(self.call.conversation, late_text(tool, text))

    def _answer(self, handled: Handled) -> Any:
        if handled.outcome.ok and len(handled.trail) == 1:  # what the tool gave is the answer
            return self.exchange.original(handled)
        memory = self.binding.memory
        tell: tuple[str, ...] = ()
        if handled.context is not None:
            late = self.binding.notes.take_late(self.call.conversation)
            tell = (handled.context.text, *late)
        raises = self.binding.raises or not memory.mode.advises
        return answer(handled, self.exchange, self.to, raises=raises, tell=tell)


def late_answer(result: Any) -> str:
    """Return what a late result says, as text."""
    shown = view(result)
    content = getattr(shown, "content", shown)
    return text_of(content if isinstance(content, str) else result_text(content))
