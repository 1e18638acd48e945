"""BTMMiddleware: btm inside ``langchain.agents.create_agent``. The only module that imports ``langchain.agents``."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from btm.adapters.budget import Budget
from btm.adapters.langchain import transcript
from btm.adapters.langchain.middleware_model_call import ModelTurn
from btm.adapters.langchain.middleware_order import warn_about_neighbours
from btm.adapters.langchain.middleware_tool_call import ToolStep
from btm.adapters.langchain.tool_copy import describe
from btm.adapters.notes import Notes
from btm.adapters.wording import Placement
from btm.memory import ToolMemory
from btm.model import Effect
from btm.runtime.drivers import AsyncInvoker, Invoker
from btm.runtime.timeouts import Timeouts
from btm.support.bounded import BoundedDict
from btm.support.call_ids import NO_TURN, Turn
from btm.support.failsafe import is_active, safely

ToolAnswer = ToolMessage | Command[Any]
ModelHandler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
ToolHandler = Callable[[ToolCallRequest], ToolAnswer]
AsyncToolHandler = Callable[[ToolCallRequest], Awaitable[ToolAnswer]]

_MAX_TRIES = 1_024


class BTMMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent btm: ``create_agent(model, tools, middleware=[BTMMiddleware(memory)])``.

    * A tool that fails answers with an error message for its own call; its siblings go on. (Observe mode, and
      ``raises``: exceptions stay as they are.)
    * After a failure the model's next request ends with the recovery context (see ``placement``). The request alone:
      the stored history stays as the framework wrote it. The standing rules stand once in the system message.
    * Calls whose arguments are no JSON, which otherwise end the loop in silence, come back to the model as errors.

    ``tools`` limits btm to these tools, given by name or as objects: calls of others pass as if btm were not there, so
    it learns nothing from them (None: all tools). ``timeouts`` are seconds by tool name, before those of the fallback
    map. ``budget`` is told to the model before
    it is spent, and in guard and act mode kept. ``repair_history`` answers calls that a crash left without a result,
    in the request. ``rules`` off leaves the system message alone. ``bridge`` puts an assistant's turn between a tool's
    result and the reminder, which Mistral's API asks for (None: where the model is one of theirs). ``hide_open`` leaves
    tools that are down for everyone out of the request, until they are to be tried again.

    Order: put it last (innermost) beside ``HumanInTheLoopMiddleware``, ``ToolCallLimitMiddleware``,
    ``ModelFallbackMiddleware`` and ``SummarizationMiddleware``; any order with those works. With
    ``ToolRetryMiddleware`` either use act mode instead, or list the retry before this one and pass ``raises=True``:
    then every try is seen and counted. A retry listed after this one hides its tries, and a warning says so.
    """

    def __init__(
        self,
        memory: ToolMemory,
        *,
        tools: Iterable[BaseTool | str] | None = None,
        placement: Placement | str = Placement.USER_REMINDER,
        timeouts: Mapping[str, float] | None = None,
        budget: Budget | None = None,
        repair_history: bool = False,
        raises: bool = False,
        rules: bool = True,
        bridge: bool | None = None,
        hide_open: bool = False,
    ) -> None:
        super().__init__()
        self.tools = []
        self.memory = memory
        self._named = None if tools is None else _names_of(tools)
        self.placement = Placement(placement)
        self.budget = budget
        self.repair_history = repair_history
        self.raises = raises
        self.rules = rules
        self.bridge = bridge
        self.hide_open = hide_open
        self.notes = Notes()
        self.tries = Tries()
        self.timeouts = Timeouts(memory.fallback_map, dict(timeouts or {}))
        self._effects: dict[str, Effect] = {}
        self._warned = False
        self._tools: dict[str, BaseTool] = {}
        self._system: tuple[SystemMessage | None, str, SystemMessage | None] = (None, "", None)

    # -- tools --------------------------------------------------------------------------------------------------------

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Any:
        step = self._step(request, handler)
        return handler(request) if step is None else step.run(handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> Any:
        step = self._step(request, handler)
        return await handler(request) if step is None else await step.arun(handler)

    def _step(self, request: ToolCallRequest, handler: Any) -> ToolStep | None:
        if not is_active() or not self.covers(request.tool_call["name"]):
            return None
        if not self._warned:
            self._warned = True
            answers = self.memory.mode.advises and not self.raises
            safely(functools.partial(warn_about_neighbours, self, handler, answers=answers))
        return safely(ToolStep.of, self, request)

    def covers(self, tool: str) -> bool:
        """Whether calls of this tool go through btm."""
        return self._named is None or tool in self._named

    def effect(self, tool: str) -> Effect:
        """Return a tool's effect."""
        found = self._effects.get(tool)
        if found is None:
            found = self._effects[tool] = self.memory.effect_of(tool)
        return found

    def toolbox(self, tools: Sequence[BaseTool]) -> Mapping[str, BaseTool]:
        """Return the agent's tools by name: the same object as long as the tools are the same."""
        known = self._tools
        if len(known) != len(tools) or any(known.get(tool.name) is not tool for tool in tools):
            known = self._tools = {tool.name: tool for tool in tools}
            for tool in tools:
                describe(self.memory, tool)
            self._effects.clear()
        return known

    # -- the model ----------------------------------------------------------------------------------------------------

    def with_rules(self, system: SystemMessage | None, rules: str) -> SystemMessage | None:
        """Return the system message with the standing rules: the same object for the same ones."""
        known = self._system
        if known[0] is not system or known[1] != rules:
            known = self._system = (system, rules, transcript.with_rules(system, rules))
        return known[2]

    def wrap_model_call(self, request: ModelRequest[Any], handler: ModelHandler) -> Any:
        """Call the model with what btm has to say, and again if none of its tool calls could be read."""
        if not is_active():
            return handler(request)
        turn = ModelTurn(self, request)
        while True:
            response = handler(turn.request)
            for call, error in turn.unread(response):
                asked = _turn(turn.request, response, call.call_id)
                turn.counted(self.memory.call(call, _raising(error), available=(), turn=asked))
            if not turn.again(response):
                return turn.whole(response)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncModelHandler) -> Any:
        if not is_active():
            return await handler(request)
        turn = ModelTurn(self, request)
        while True:
            response = await handler(turn.request)
            for call, error in turn.unread(response):
                asked = _turn(turn.request, response, call.call_id)
                turn.counted(await self.memory.acall(call, _araising(error), available=(), turn=asked))
            if not turn.again(response):
                return turn.whole(response)


def _names_of(tools: Iterable[BaseTool | str]) -> frozenset[str]:
    """Return the tools' names. Raises TypeError for what is neither a tool nor a name, or no list of them."""
    if isinstance(tools, str | BaseTool):
        tools = [tools]
    given = list(tools)
    for tool in given:
        if not isinstance(tool, str | BaseTool):
            raise TypeError(f"tools holds tools or their names, not {type(tool).__name__}")
    return frozenset(tool if isinstance(tool, str) else tool.name for tool in given)


def _turn(request: ModelRequest[Any], response: ModelResponse[Any], call_id: str) -> Turn:
    """Return which message asked for a call of the model's latest answer."""
    found: Turn | None = safely(transcript.turn_of, [*request.messages, *response.result], call_id)
    return found or NO_TURN


def _raising(error: Exception) -> Invoker:
    def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ARG001
        raise error

    return invoke


def _araising(error: Exception) -> AsyncInvoker:
    async def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:  # noqa: ARG001
        raise error

    return invoke


class Tries:
    """Tells a retry by an outer middleware, which sends a failed call again, from a run that was resumed or replayed.

    A retry sends the very runtime object that LangGraph made for the call; a resumed run gets a new one.
    """

    def __init__(self) -> None:
        self._failed: BoundedDict[tuple[str, str], tuple[weakref.ref[Any], int]] = BoundedDict(_MAX_TRIES)
        self._lock = threading.Lock()

    def before(self, conversation: str, call_id: str, runtime: Any) -> int:
        """Return how often this call failed before with the same runtime."""
        known = self._failed.get((conversation, call_id)) if self._failed else None
        return known[1] if known is not None and known[0]() is runtime else 0

    def failed(self, conversation: str, call_id: str, runtime: Any) -> None:
        """Note that a call failed, so that a retry by an outer middleware is known as one."""
        with self._lock:
            tries = self.before(conversation, call_id, runtime) + 1
            self._failed[(conversation, call_id)] = (weakref.ref(runtime), tries)
