"""langchain-mcp-adapters: ``MultiServerMCPClient(servers, tool_interceptors=[recovering(memory)])``.

Needs the extra ``langchain-mcp``. For tools that are called outside of an agent with btm in it: ``BTMMiddleware`` and
``wrap_tools`` see these calls anyway. The recovery context is one more text block of the failed call's result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from btm.adapters.framework import FrameworkCalls
from btm.memory import ToolMemory
from btm.support.imitations import disarmed


def recovering(memory: ToolMemory) -> Callable[..., Awaitable[Any]]:
    """Return an interceptor that takes every tool call of a client through ``memory``.

    In act mode the tools of one server stand in for each other.
    """
    calls = FrameworkCalls(memory)

    async def intercept(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call_id = getattr(request.runtime, "tool_call_id", None)
        call = calls.tool_call(request.name, request.args, "", call_id)

        async def invoke(name: str, arguments: Mapping[str, Any]) -> Any:
            return await handler(request.override(name=name, args=dict(arguments)))

        answer = await calls.acall(call, invoke)
        if not answer.said and not answer.failed:
            return answer.value
        from mcp.types import CallToolResult, TextContent  # noqa: PLC0415 - the client has loaded it

        if not isinstance(answer.value, CallToolResult):
            said = {"content": [{"type": "text", "text": answer.text()}], "isError": answer.failed}
            return CallToolResult.model_validate(said)
        own = [
            block.model_copy(update={"text": disarmed(block.text)})
            if isinstance(block, TextContent)
            else block
            for block in answer.value.content
        ]
        said = TextContent(type="text", text=answer.said)
        return answer.value.model_copy(update={"content": [*own, said]})

    return intercept
