"""One tool call of a ``create_agent`` agent, from LangGraph's request to the message that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from btm.adapters.langchain.exception_origin import PassedOn, RefusedByPerson, tools_own
from btm.adapters.langchain.injection import require_sync
from btm.adapters.langchain.results import Address, is_refused_by_person
from btm.adapters.langchain.run_context import conversation_of, task_of
from btm.adapters.langchain.tool_call import KitCall
from btm.adapters.langchain.tool_copy import detached
from btm.adapters.langchain.transcript import messages_of, outline, turn_of
from btm.adapters.outline import asked_since_request
from btm.model import ToolCall
from btm.planning.instructions import call_text
from btm.runtime.drivers import Handled, is_control_flow
from btm.support.call_ids import Turn
from btm.support.failsafe import safely

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from btm.adapters.langchain.middleware import BTMMiddleware


@dataclass(kw_only=True)
class ToolStep(KitCall):
    """A call through btm. ``tools`` are all that the agent has, for act mode."""

    middleware: BTMMiddleware
    request: ToolCallRequest
    tools: Mapping[str, BaseTool]
    # A tool's failure, and what middleware inside raised in its place: that is learned, and this goes on.
    instead: tuple[Exception, Exception] | None = None

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
        # An outer retry sends the same call again: a try of its own. (A resumed run does not come here.)
        own_id = f"{call_id}~again{tries}" if tries else call_id
        tools = middleware.toolbox(getattr(runtime, "tools", None) or ())
        return cls(
            kit=middleware,
            call=ToolCall(name, asked["args"], middleware.effect(name), conversation, own_id),
            to=Address(name, call_id, direct=getattr(request.tool, "return_direct", False) is True),
            task=task,
            turn=turn if turn.name else Turn(task),
            middleware=middleware,
            request=request,
            tools=tools,
        )

    def run(self, handler: Callable[[ToolCallRequest], Any]) -> Any:
        over = safely(self._over_budget)
        if over is not None:
            return over
        if self.request.tool is not None:
            require_sync(self.request.tool)

        def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            try:
                raw = handler(self._for(tool, arguments))
            except Exception as error:  # noqa: BLE001 - it is raised below, or passed on
                failure = self._failure(error, tool)
            else:
                return self._shown(raw, tool)
            raise failure

        return self.make(invoke, self.tools)

    async def arun(self, handler: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        over = safely(self._over_budget)
        if over is not None:
            return over
        timeouts = self.middleware.timeouts

        async def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            request = self._for(tool, arguments)
            if request.tool is not None and timeouts.any and timeouts.seconds(tool) is not None:
                request = request.override(tool=detached(request.tool))
            try:
                raw = await handler(request)
            except Exception as error:  # noqa: BLE001 - it is raised below, or passed on
                failure = self._failure(error, tool)
            else:
                return self._shown(raw, tool)
            raise failure

        return await self.amake(invoke, self.tools)

    def _for(self, tool: str, arguments: Mapping[str, Any]) -> ToolCallRequest:
        """Return the request for a tool: name and tool together, so that the tool node injects what it wants."""
        if tool == self.to.tool:
            if arguments is self.call.arguments:
                return self.request
            return self.request.override(tool_call={**self.request.tool_call, "args": dict(arguments)})
        other = self.request.tool_call.copy()
        other["name"], other["args"] = tool, dict(arguments)
        return self.request.override(tool_call=other, tool=self.tools[tool])

    def _shown(self, raw: Any, tool: str) -> Any:
        if is_refused_by_person(raw, tool):
            raise RefusedByPerson(raw)
        return self.exchange.show(raw)

    def _failure(self, error: Exception, tool: str) -> Exception:
        """Return the tool's own exception behind what came out of the middleware inside; pass on what is none."""
        if is_control_flow(error):
            return error
        own = tools_own(error, tool, self.to.call_id)
        if own is None:
            raise PassedOn(error)
        if own is not error:
            self.instead = own, error
        return own

    def answer(self, handled: Handled) -> Any:
        """Return what the agent gets, unless middleware inside has raised something in place of the tool's failure."""
        if handled.error is not None and self.instead is not None and handled.error is self.instead[0]:
            self.note(handled)
            raise self.instead[1]
        return super().answer(handled)

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

    def note(self, handled: Handled) -> None:
        """Keep the context for the model's next turn, and whether an outer retry may send the call again."""
        call_id = self.to.call_id or ""
        self.middleware.notes.keep(handled, call_id, self.turn.name)
        if not handled.outcome.ok:
            self.middleware.tries.failed(self.call.conversation, call_id, self.request.runtime)
