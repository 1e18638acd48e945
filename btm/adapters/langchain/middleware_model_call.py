"""One turn of the model in a ``create_agent`` agent: what btm adds to the request, and calls that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage

from btm.adapters.langchain import transcript
from btm.adapters.langchain.run_context import conversation_of
from btm.adapters.outline import AnsweredCall, asked_since_request
from btm.adapters.wording import Placement, fitted, note, unreadable_error, wants_bridge
from btm.model import ToolCall
from btm.planning.closing import closing
from btm.planning.context import estimate_tokens
from btm.planning.failure_text import error_text
from btm.runtime.drivers import Handled
from btm.support.failsafe import safely

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

    from btm.adapters.langchain.middleware import BTMMiddleware

MAX_REPEATS = 2
"""How often the model is asked again in one turn when its tool calls cannot be read."""


class ModelTurn:
    """Makes the request, and asks again when every tool call of the answer is broken JSON.

    The broken messages, and the errors that answer them, go into the history together with the answer in the end:
    the history says what happened, and no other middleware sees a half-done step.
    """

    def __init__(self, middleware: BTMMiddleware, original: ModelRequest[Any]) -> None:
        self._middleware = middleware
        self._original = original
        self._before: list[AnyMessage] = []  # earlier answers of this turn, with the errors that answer them
        self._errors: list[ToolMessage] = []  # errors that answer calls of the latest answer
        self._repeats = 0
        self.request: ModelRequest[Any] = safely(self._dressed) or original

    @cached_property
    def _conversation(self) -> str:
        return safely(conversation_of, self._middleware.memory, None, self._original.state) or ""

    def _dressed(self) -> ModelRequest[Any]:
        """Return the request with everything that btm has to say."""
        original, middleware = self._original, self._middleware
        messages: list[AnyMessage] = original.messages
        if self._before:
            messages = [*messages, *self._before]
        if middleware.repair_history:
            messages = transcript.repaired(messages)
        system = original.system_message
        for tool, arguments in transcript.refused_by_person(messages):
            call = ToolCall(tool, arguments, middleware.effect(tool), self._conversation)
            middleware.memory.withdraw(call)
        if middleware.memory.mode.advises:
            messages = transcript.disarmed(messages)
            if middleware.rules:
                system = middleware.with_rules(system, self._rules)
            messages, system = self._told(messages, system)
        tools = self._shown_tools()
        if tools is not original.tools:
            return original.override(messages=messages, system_message=system, tools=tools)
        if messages is original.messages:
            return original if system is original.system_message else original.override(system_message=system)
        return original.override(messages=messages, system_message=system)

    def _told(
        self, messages: list[AnyMessage], system: SystemMessage | None
    ) -> tuple[list[AnyMessage], SystemMessage | None]:
        """Return the messages and the system message with the note, where there is something to say."""
        notes = self._middleware.notes
        notices = self._middleware.memory.notices(self._conversation, available=self._names)
        if notes.empty and self._middleware.budget is None and not notices:
            return messages, system
        answered = transcript.last_answers(messages)
        found = [(i, context) for i in answered for context in notes.contexts(self._conversation, (i,))]
        lines = [
            *notes.take_late(self._conversation),
            *notices,
            self._budget_line(messages) if answered else "",
        ]
        told = [context for _, context in found]
        if not told and not any(lines):
            return messages, system
        request = transcript.request(messages)
        match self._middleware.placement:
            case Placement.USER_REMINDER:
                said = note(told, request, lines, budget=self._room)
                return transcript.with_reminder(messages, said, bridge=self._bridge()), system
            case Placement.TOOL_RESULT if answered:
                ends = [line for line in lines if line] + ([closing(told, request)] if told else [])
                texts: dict[AnsweredCall, list[str]] = {}
                room = self._room - sum(map(estimate_tokens, ends))
                for (answer, _), context in zip(found, fitted(told, room), strict=False):
                    texts.setdefault(answer, []).append(context.text)
                texts.setdefault(answered[-1], []).extend(ends)
                joined = {answer: "\n\n".join(parts) for answer, parts in texts.items() if parts}
                return transcript.with_told_results(messages, joined), system
            case _:
                return messages, transcript.longer_system(
                    system, note(told, request, lines, budget=self._room)
                )

    @cached_property
    def _names(self) -> list[str]:
        """The agent's tools that go through btm. A provider's own tools are dictionaries, and run elsewhere."""
        names = (getattr(tool, "name", None) for tool in self._original.tools)
        return [name for name in names if isinstance(name, str) and self._middleware.covers(name)]

    def _shown_tools(self) -> list[Any]:
        """Return the request's tools without those that are down for everyone, unless none would be left."""
        tools = self._original.tools
        hidden = self._middleware.memory.down_tools(self._names) if self._middleware.hide_open else None
        left = [t for t in tools if getattr(t, "name", None) not in hidden] if hidden else tools
        return left or tools

    @property
    def _room(self) -> int:
        """The tokens that a note may take: what the standing rules leave of the budget."""
        middleware = self._middleware
        return middleware.memory.budget_tokens - (estimate_tokens(self._rules) if middleware.rules else 0)

    @cached_property
    def _rules(self) -> str:
        return self._middleware.memory.standing_rules(self._conversation)

    def _budget_line(self, messages: Sequence[AnyMessage]) -> str:
        budget, memory = self._middleware.budget, self._middleware.memory
        if budget is None:
            return ""
        asked = asked_since_request(transcript.outline(messages))
        return budget.spent_by((a.tool for a in asked), memory.fallback_map.cost).line()

    def _bridge(self) -> bool:
        bridge = self._middleware.bridge
        return wants_bridge(*transcript.model_names(self._original.model)) if bridge is None else bridge

    # -- calls that cannot be read ------------------------------------------------------------------------------------

    def unread(self, response: ModelResponse[Any]) -> list[tuple[ToolCall, Exception]]:
        """Return the answer's calls whose arguments are no JSON, each with its error; count them, then ask again."""
        self._errors = []
        return safely(self._unread, response) or []

    def _unread(self, response: ModelResponse[Any]) -> list[tuple[ToolCall, Exception]]:
        message = _answer(response)
        found: list[tuple[ToolCall, Exception]] = []
        for call_id, tool, arguments, problem in transcript.invalid_calls(message) if message else ():
            if not self._middleware.covers(tool):
                continue
            effect = self._middleware.effect(tool)
            call = ToolCall(tool, {"unreadable": arguments}, effect, self._conversation, call_id)
            found.append((call, unreadable_error(tool, problem)))
        return found

    def counted(self, handled: Handled) -> None:
        """Take in what btm makes of one of those calls: it is answered with its error."""
        if not self._middleware.memory.mode.advises:
            return
        call = handled.call
        self._middleware.notes.keep(handled, call.call_id)
        text = error_text(handled.error) if handled.error is not None else "The call was not run."
        self._errors.append(
            ToolMessage(content=text, name=call.tool, tool_call_id=call.call_id, status="error")
        )

    def again(self, response: ModelResponse[Any]) -> bool:
        """Whether the model is to be asked again: nothing of its answer can be carried out. Makes the next request."""
        message = _answer(response)
        if not self._errors or message is None or message.tool_calls or self._repeats >= MAX_REPEATS:
            return False
        self._repeats += 1
        self._before += [*response.result, *self._errors]  # type: ignore[list-item]
        self._errors = []
        self.request = safely(self._dressed) or self._original
        return True

    def whole(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Return the turn's messages in order: earlier answers with their errors, then this one with its own."""
        message = _answer(response)
        # Where nothing can be carried out and asking again did not help, the run ends as it would without btm.
        errors = self._errors if message is not None and message.tool_calls else []
        if not self._before and not errors:
            return response
        return replace(response, result=[*self._before, *response.result, *errors])


def _answer(response: ModelResponse[Any]) -> AIMessage | None:
    found = [m for m in response.result if isinstance(m, AIMessage)]
    return found[-1] if found else None
