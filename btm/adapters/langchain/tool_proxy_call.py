"""One call of a wrapped LangChain tool, from the executor's arguments to the executor's answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool

from btm.adapters.langchain.results import Address
from btm.adapters.langchain.run_context import conversation_of, handled_already, task_of
from btm.adapters.langchain.tool_call import KitCall
from btm.model import ToolCall
from btm.planning.closing import in_result
from btm.runtime.drivers import Handled, Reply
from btm.support.call_ids import Turn
from btm.support.failsafe import safely

if TYPE_CHECKING:
    from btm.adapters.langchain.tool_proxy import Binding

Runner = Callable[[Any, Any, tuple[Any, ...], Mapping[str, Any]], Reply]
AsyncRunner = Callable[[Any, Any, tuple[Any, ...], Mapping[str, Any]], Awaitable[Reply]]

# What belongs to the first run alone: LangChain's tracers refuse a second run with the same id.
_ONCE = ("run_id", "run_name")


@dataclass(kw_only=True)
class Visit(KitCall):
    """A call through btm. ``injected`` are the arguments that the framework handed in, kept for substitutes."""

    tool: BaseTool
    binding: Binding
    given: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    injected: Mapping[str, Any]
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
        """Return the visit, or None when an outer tool or the middleware handles this call."""
        call_id = kwargs.get("tool_call_id")
        task = safely(task_of, kwargs.get("config")) or ""
        if call_id is not None and handled_already(binding.memory, call_id, task):
            return None
        handed: Mapping[str, Any] = {}
        arguments = given
        if not isinstance(given, dict):
            arguments = {next(iter(tool.args), "input"): given}
        elif injected:
            handed = {k: v for k, v in given.items() if k in injected}
            arguments = {k: v for k, v in given.items() if k not in injected}
        conversation = conversation_of(binding.memory, kwargs.get("config"))
        call = ToolCall(tool.name, arguments, binding.effect(tool.name), conversation, call_id or "")
        return cls(
            kit=binding,
            call=call,
            to=Address(tool.name, call_id, direct=tool.return_direct),
            task=task,
            turn=Turn(task),
            tool=tool,
            binding=binding,
            given=given,
            args=args,
            kwargs=kwargs,
            injected=handed,
        )

    def run(self, runner: Runner) -> Any:
        def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            tool, given, kwargs = self._attempt(name, arguments)
            reply = runner(tool, given, self.args, kwargs)
            return self.exchange.show(reply.result, reply.error)

        return self.make(invoke, self.binding.available(self.injected))

    async def arun(self, runner: AsyncRunner) -> Any:
        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            tool, given, kwargs = self._attempt(name, arguments)
            reply = await runner(tool, given, self.args, kwargs)
            return self.exchange.show(reply.result, reply.error)

        return await self.amake(invoke, self.binding.available(self.injected))

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

    def tell(self, handled: Handled) -> tuple[str, ...]:
        """Return the context and what came too late: this is the only place that tells the model."""
        if handled.context is None:
            return ()
        return (in_result(handled.context), *self.binding.notes.take_late(self.call.conversation))
