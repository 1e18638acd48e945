"""The bare chat-completions loop: btm for agents that are a ``while`` around a client, without any framework.

::

    loop = ChatLoop(memory, [get_order, list_orders], conversation="c1")
    while True:
        reply = client.chat.completions.create(model=..., tools=..., messages=loop.prepare(messages))
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        messages += loop.run(message.tool_calls)

``prepare`` makes the request from your messages and leaves them as they are; ``run`` makes the calls and answers
each of them, whatever happens. No client is imported: messages may be dictionaries or a client's own objects.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import orjson

from btm.adapters import chat_messages as chat
from btm.adapters.budget import Budget
from btm.adapters.notes import Notes
from btm.adapters.outline import asked_since_request, request
from btm.adapters.place import LoopPosition
from btm.adapters.wording import done_text, late_text, note, refusal_text, unreadable_error
from btm.memory import ToolMemory
from btm.model import ToolCall
from btm.planning.context import estimate_tokens
from btm.planning.failure_text import error_text, result_text
from btm.runtime.drivers import Handled, Reply
from btm.runtime.timeouts import Limits, Timeouts, in_own_thread
from btm.support.call_ids import Turn
from btm.support.failsafe import is_active, safely
from btm.support.function_arguments import apply, is_async
from btm.support.imitations import disarmed
from btm.support.untrusted import tool_name


@dataclass(frozen=True, slots=True)
class _ParsedCall:
    """A tool call as it came, with its arguments read; ``problem`` says why they cannot be."""

    given: Any  # its id: the answer carries the same, whatever it is
    call: ToolCall
    turn: Turn
    problem: Exception | None = None

    def result(self, content: str, call_id: str = "") -> dict[str, Any]:
        """Return the message that answers the call; ``call_id`` is for one that came without an id."""
        return chat.result(call_id if self.given is None or self.given == "" else self.given, content)


class _AwaitableResultError(BaseException):
    """Ends a call that would have to be awaited: the programmer's mistake, of which neither btm nor the model learns."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self.tool = tool


def _needs_arun(tool: str) -> TypeError:
    return TypeError(f"the tool {tool_name(tool)} is async: await loop.arun(...) instead of loop.run(...)")


class ChatLoop:
    """One conversation's tools and requests. It takes them through ``memory``.

    ``tools`` are functions (sync or async), by name or as a list. ``timeouts`` are seconds by tool name, before those
    of the fallback map. ``budget`` is told to the model before it is spent, and in guard and act mode kept.
    ``repair_history`` answers calls that a crash left without a result, in the request. ``bridge`` puts an assistant's
    turn between a tool's result and the note: Mistral's API refuses a user's message there. Leaving the loop used as a
    context manager, or :meth:`end`, ends the conversation.
    """

    def __init__(
        self,
        memory: ToolMemory,
        tools: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]],
        *,
        conversation: str = "",
        timeouts: Mapping[str, float] | None = None,
        budget: Budget | None = None,
        repair_history: bool = False,
        bridge: bool = False,
    ) -> None:
        if not isinstance(tools, Mapping):
            tools = {function.__name__: function for function in tools}
        self.memory = memory
        self.tools: dict[str, Callable[..., Any]] = dict(tools)
        for name, function in self.tools.items():
            memory.describe(name, function.__doc__)
        self.conversation = conversation or memory.current_conversation or f"loop-{uuid4().hex[:12]}"
        self.budget = budget
        self.repair_history = repair_history
        self.bridge = bridge
        self._timeouts = Timeouts(memory.fallback_map, dict(timeouts or {}))
        self._notes = Notes()
        self._asked_before: list[str] = []
        self._place = LoopPosition()

    # -- the request --------------------------------------------------------------------------------------------------

    def prepare(self, messages: Sequence[Any]) -> list[Any]:
        """Return the messages of a request: yours, with the standing rules and, after a failure, what to do next."""
        if not is_active():
            return list(messages)
        made: list[Any] | None = safely(self._prepared, messages)
        return list(messages) if made is None else made

    def _prepared(self, messages: Sequence[Any]) -> list[Any]:
        made = chat.repaired(messages) if self.repair_history else list(messages)
        entries = chat.outline(made)
        self._asked_before = [asked.tool for asked in asked_since_request(entries)]
        answered = self._place.reached(entries)
        if not self.memory.mode.advises:
            return made
        lines = self._notes.take_late(self.conversation)
        lines += self.memory.notices(self.conversation, available=self.tools)
        if answered and self.budget is not None:
            spent = self.budget.spent_by(self._asked_before, self.memory.fallback_map.cost)
            lines.append(spent.line())
        rules = self.memory.standing_rules(self.conversation)
        room = self.memory.budget_tokens - estimate_tokens(rules)
        told = self._notes.contexts(self.conversation, answered)
        said = note(told, request(entries), lines, budget=room)
        made = chat.with_rules(made, rules)
        if not said:
            return made
        return chat.with_note(made, said, bridge=self.bridge)

    # -- the calls ----------------------------------------------------------------------------------------------------

    def run(self, tool_calls: Iterable[Any]) -> list[dict[str, Any]]:
        """Make an assistant's tool calls one after another; return the ``role: tool`` message of each, in order.

        Raises TypeError for a call of an async tool, before any call is made where the function says that it is one:
        :meth:`arun` takes those.
        """
        asked = [self._read(tool_call) for tool_call in tool_calls]
        for one in asked:
            function = self.tools.get(one.call.tool)
            if one.problem is None and function is not None and is_async(function):
                raise _needs_arun(one.call.tool)
        return [self._run(one) for one in asked]

    async def arun(self, tool_calls: Iterable[Any]) -> list[dict[str, Any]]:
        """Make an assistant's tool calls at once; plain functions run in threads. Otherwise as :meth:`run`."""
        return list(await asyncio.gather(*(self._arun(self._read(tool_call)) for tool_call in tool_calls)))

    def _run(self, asked: _ParsedCall) -> dict[str, Any]:
        over = self._over_budget(asked.call)
        if over:
            return asked.result(over)
        limited = self._limits.over(self._invoker(asked))
        usable = [name for name, function in self.tools.items() if not is_async(function)]
        try:
            handled = self.memory.call(asked.call, limited, available=usable, turn=asked.turn)
        except _AwaitableResultError as error:
            raise _needs_arun(error.tool) from None
        return self._answer(asked, handled)

    async def _arun(self, asked: _ParsedCall) -> dict[str, Any]:
        over = self._over_budget(asked.call)
        if over:
            return asked.result(over)
        limited = self._limits.over_async(self._ainvoker(asked))
        handled = await self.memory.acall(asked.call, limited, available=self.tools.keys(), turn=asked.turn)
        return self._answer(asked, handled)

    def _invoker(self, asked: _ParsedCall) -> Callable[[str, Mapping[str, Any]], Any]:
        def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            result = apply(self._function(tool, asked), arguments)
            if inspect.isawaitable(result):
                if inspect.iscoroutine(result):
                    result.close()
                raise _AwaitableResultError(tool)
            return result

        return invoke

    def _ainvoker(self, asked: _ParsedCall) -> Callable[[str, Mapping[str, Any]], Any]:
        async def invoke(tool: str, arguments: Mapping[str, Any]) -> Any:
            function = self._function(tool, asked)
            if is_async(function):
                return await apply(function, arguments)
            aside = asyncio.to_thread if self._seconds(tool) is None else in_own_thread
            answer = await aside(apply, function, arguments)
            return await answer if inspect.isawaitable(answer) else answer

        return invoke

    def _function(self, tool: str, asked: _ParsedCall) -> Callable[..., Any]:
        if asked.problem is not None and tool == asked.call.tool:
            raise asked.problem
        function = self.tools.get(tool)
        if function is None:
            known = ", ".join(sorted(self.tools)[:30])
            raise LookupError(f"unknown tool: {tool_name(tool)} is not a tool of this agent. It has {known}.")
        return function

    def _read(self, tool_call: Any) -> _ParsedCall:
        given, tool, text = chat.asked(tool_call)
        arguments: Any = text if isinstance(text, Mapping) else None
        problem: Exception | None = None
        if arguments is None:
            try:
                arguments = orjson.loads(text or "{}")
            except (orjson.JSONDecodeError, TypeError) as error:
                problem = unreadable_error(tool, str(error))
        if problem is None and not isinstance(arguments, Mapping):
            problem = unreadable_error(tool, "they are not an object")
        if problem is not None:
            arguments = {"unreadable": text}
        effect = self.memory.effect_of(tool)
        call_id = chat.id_text(given)
        call = ToolCall(tool, arguments, effect, self.conversation, call_id)
        return _ParsedCall(given, call, self._place.turn(call_id), problem)

    @property
    def _limits(self) -> Limits:
        return Limits(self._seconds, self.memory.effect_of, self._late)

    def _seconds(self, tool: str) -> float | None:
        return self._timeouts.seconds(tool) if is_active() else None

    def _late(self, tool: str, _: Mapping[str, Any], reply: Reply) -> None:
        text = error_text(reply.error) if reply.error is not None else result_text(reply.result)
        self._notes.add_late(self.conversation, late_text(tool, text))

    def _over_budget(self, call: ToolCall) -> str:
        if not is_active() or self.budget is None or not self.memory.mode.guards:
            return ""
        cost = self.memory.fallback_map.cost
        spent = self.budget.spent_by(self._asked_before, cost)
        if not spent.allows(cost(call.tool)):
            return f"{tool_name(call.tool)} was not run: the budget for this request is spent."
        self._asked_before.append(call.tool)
        return ""

    def _answer(self, asked: _ParsedCall, handled: Handled) -> dict[str, Any]:
        call_id = handled.call.call_id
        self._notes.keep(handled, call_id, self._place.name)
        if handled.refused:
            return asked.result(refusal_text(handled), call_id)
        if handled.error is not None:
            return asked.result(error_text(handled.error, handled.call.arguments), call_id)
        done = done_text(handled)
        text = result_text(handled.result)
        return asked.result(f"{disarmed(text)}\n\n{done}" if done else text, call_id)

    # -- the end ------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """End the conversation: open incidents are abandoned, and nothing is learned about what was not tried."""
        self.memory.end(self.conversation)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
