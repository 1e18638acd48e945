"""pydantic-ai: ``Agent(model, tools=tools, capabilities=[Recovering(memory)])``. Needs the extra ``pydantic-ai``.

A tool that fails no longer ends the run: the model reads the error, and at the end of its next request what to do about
it. That note is in no stored history. ``ModelRetry``, ``ToolFailed``, deferred calls and approvals work as without btm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from btm.adapters.framework import FrameworkCalls
from btm.adapters.outline import OutlinedMessage, RequestedCall
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.support.call_ids import Turn

try:
    from pydantic import ValidationError
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai import messages as sent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed, ToolFailedError, ToolRetryError
    from pydantic_ai.models import ModelRequestContext
except ModuleNotFoundError as error:
    raise MissingExtraError("pydantic-ai-slim", "pydantic-ai", "btm for pydantic-ai") from error

_TO_THE_FRAMEWORK = (ModelRetry, ToolRetryError, ToolFailed, ToolFailedError, ValidationError)


class Recovering(AbstractCapability[Any]):
    """A capability that takes every call of an agent's function tools through ``memory``."""

    def __init__(self, memory: ToolMemory) -> None:
        self._calls = FrameworkCalls(memory, view=_view, passed_on=_TO_THE_FRAMEWORK, in_result=False)

    def get_instructions(self) -> Any:
        """Add the standing rules to the instructions."""
        return lambda ctx: self._calls.rules(_conversation(ctx))

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: sent.ToolCallPart, args: Any, handler: Any, **_: Any
    ) -> Any:
        asked = self._calls.tool_call(call.tool_name, args, _conversation(ctx), call.tool_call_id)

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            if name == call.tool_name:
                return await handler(dict(arguments))
            manager = ctx.tool_manager
            other = manager.tools[name]
            given = other.args_validator.validate_python(dict(arguments))
            return await manager.toolset.call_tool(name, given, replace(ctx, tool_name=name), other)

        answer = await self._calls.acall(asked, invoke, available=_tools(ctx), turn=_turn(ctx))
        if answer.failed:
            raise ToolFailed(answer.text())
        return answer.given()

    async def on_tool_validate_error(
        self, ctx: RunContext[Any], *, call: sent.ToolCallPart, args: Any, error: Any, **_: Any
    ) -> Any:
        """Learn from arguments that do not fit; the model is told of them by pydantic-ai."""
        asked = self._calls.tool_call(call.tool_name, args, _conversation(ctx), call.tool_call_id)

        async def invoke(_: str, __: Mapping[str, Any]) -> Any:
            raise error

        await self._calls.acall(asked, invoke, available=(), turn=_turn(ctx))
        raise error

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put what to do next at the end of a request."""
        said = self._calls.note(_conversation(ctx), _outline(request_context.messages), _tools(ctx))
        if not said:
            return request_context
        told = sent.ModelRequest(parts=[sent.UserPromptPart(said)])
        return replace(request_context, messages=[*request_context.messages, told])


def _conversation(ctx: RunContext[Any]) -> str:
    return getattr(ctx, "conversation_id", None) or ctx.run_id or ""


def _turn(ctx: RunContext[Any]) -> Turn:
    return Turn(f"{ctx.run_id}#{ctx.run_step}")


def _tools(ctx: RunContext[Any]) -> tuple[str, ...]:
    manager = ctx.tool_manager
    return tuple(manager.tools) if manager is not None and manager.tools is not None else ()


def _view(result: Any) -> Any:
    return result.return_value if isinstance(result, sent.ToolReturn) else result


def _outline(messages: list[sent.ModelMessage]) -> list[OutlinedMessage]:
    entries: list[OutlinedMessage] = []
    for message in messages:
        if isinstance(message, sent.ModelResponse):
            asked = [RequestedCall(part.tool_call_id, part.tool_name) for part in message.tool_calls]
            entries.append(OutlinedMessage("assistant", calls=tuple(asked)))
            continue
        for part in message.parts:
            if isinstance(part, sent.ToolReturnPart):
                entries.append(OutlinedMessage("tool", answers=part.tool_call_id))
            elif isinstance(part, sent.UserPromptPart):
                text = part.content if isinstance(part.content, str) else ""
                entries.append(OutlinedMessage("user", text.__str__))
    return entries
