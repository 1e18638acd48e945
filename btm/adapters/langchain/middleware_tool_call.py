"""One tool call of a ``create_agent`` agent, from LangGraph's request to the message that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from btm.adapters.langchain.injection import require_sync
from btm.adapters.langchain.results import Address, Exchange, answer
from btm.adapters.langchain.run_context import conversation_of, enter, leave, task_of
from btm.adapters.langchain.sync_in_thread import detached
from btm.adapters.langchain.tool_proxy_call import late_answer
from btm.adapters.langchain.transcript import messages_of, outline, turn_of
from btm.adapters.outline import asked_since_request
from btm.adapters.wording import error_text, late_text
from btm.model import ToolCall
from btm.planning.context import call_text
from btm.runtime.drivers import Handled, Reply
from btm.runtime.timeouts import Limits
from btm.support.call_ids import Turn
from btm.support.failsafe import safely

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from btm.adapters.langchain.middleware import BTMMiddleware


@dataclass
class ToolStep:
    """A call through btm. ``tools`` are all that the agent has, for act mode. ``turn`` is the message that asked."""

    middleware: BTMMiddleware
    request: ToolCallRequest
    call: ToolCall
    to: Address
    tools: Mapping[str, BaseTool]
    task: str
    turn: Turn
    exchange: Exchange = field(default_factory=Exchange)

    @classmethod
    def of(cls, middleware: BTMMiddleware, request: ToolCallRequest) -> ToolStep:
        """Return the step for a request."""
        asked, runtime = request.tool_call, request.runtime
        name, call_id = asked["name"], asked["id"] or ""
        config = getattr(runtime, "config", None)
        conversation = conversation_of(middleware.memory, config, request.state)
        task = task_of(config)
        turn = turn_of(messages_of(request.state), call_id)
        tries = middleware.tries.before(conversation, call_id, runtime)
        call = ToolCall(
            name,
            asked["args"],
            middleware.effect(name),
            conversation,
            # A retry further out sends the same call again: a try of its own. (A resumed run does not come here.)
            f"{call_id}~again{tries}" if tries else call_id,
        )
        tools = middleware.toolbox(getattr(runtime, "tools", None) or ())
        turn = turn if turn.name else Turn(task)
        return cls(middleware, request, call, Address(name, call_id), tools, task, turn)

    def run(self, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Make the call."""
        over = safely(self._over_budget)
        if over is not None:
            return over
        if self.request.tool is not None:
            require_sync(self.request.tool)

        def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            return self.exchange.show(handler(self._for(tool, arguments)))

        memory = self.middleware.memory
        token = enter(memory, self.to.call_id, self.task)
        try:
            limited = self._limits.over(invoke) if self.middleware.timeouts.any else invoke
            handled = memory.call(self.call, limited, available=self.tools, turn=self.turn)
        finally:
            leave(token)
        return self._answer(handled)

    async def arun(self, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        """Make the call, awaited."""
        over = safely(self._over_budget)
        if over is not None:
            return over

        timeouts = self.middleware.timeouts

        async def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            request = self._for(tool, arguments)
            if request.tool is not None and timeouts.any and timeouts.seconds(tool) is not None:
                request = request.override(tool=detached(request.tool))
            return self.exchange.show(await handler(request))

        memory = self.middleware.memory
        token = enter(memory, self.to.call_id, self.task)
        try:
            limited = self._limits.over_async(invoke) if timeouts.any else invoke
            handled = await memory.acall(self.call, limited, available=self.tools, turn=self.turn)
        finally:
            leave(token)
        return self._answer(handled)

    def _for(self, tool: str, arguments: Mapping[str, Any]) -> ToolCallRequest:
        """Return the request for a tool: name and tool together, so that the tool node injects what it wants."""
        if tool == self.to.tool:
            if arguments is self.call.arguments:
                return self.request
            return self.request.override(tool_call={**self.request.tool_call, "args": dict(arguments)})
        other = self.request.tool_call.copy()
        other["name"], other["args"] = tool, dict(arguments)
        return self.request.override(tool_call=other, tool=self.tools[tool])

    @property
    def _limits(self) -> Limits:
        return Limits(self.middleware.timeouts.seconds, self.middleware.effect, self._late)

    def _late(self, tool: str, _: Mapping[str, Any], reply: Reply) -> None:
        text = error_text(reply.error) if reply.error is not None else late_answer(reply.result)
        self.middleware.notes.add_late(self.call.conversation, late_text(tool, text))

    def _over_budget(self) -> ToolMessage | None:
        """Refuse a call that goes beyond the budget, where calls may be refused."""
        budget, memory = self.middleware.budget, self.middleware.memory
        if budget is None or not memory.mode.guards:
            return None
        asked = asked_since_request(outline(messages_of(self.request.state)))
        ids = [a.call_id for a in asked]
        # The latest of its id: every turn may number its calls anew.
        before = asked[: -1 - ids[::-1].index(self.to.call_id or "")] if self.to.call_id in ids else asked
        cost = memory.fallback_map.cost
        if budget.spent_by((a.tool for a in before), cost).allows(cost(self.to.tool)):
            return None
        text = f"{call_text(self.call)} was not run: the budget for this request is spent."
        return ToolMessage(
            content=text, name=self.to.tool, tool_call_id=self.to.call_id or "", status="error"
        )

    def _answer(self, handled: Handled) -> Any:
        middleware, call_id = self.middleware, self.to.call_id or ""
        middleware.notes.keep(handled, call_id, self.turn.name)
        if handled.outcome.ok and len(handled.trail) == 1:  # what the tool gave is the answer
            return self.exchange.original(handled)
        if not handled.outcome.ok:
            middleware.tries.failed(self.call.conversation, call_id, self.request.runtime)
        raises = middleware.raises or not middleware.memory.mode.advises
        return answer(handled, self.exchange, self.to, raises=raises)
