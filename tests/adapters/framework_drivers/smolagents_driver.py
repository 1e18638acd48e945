"""smolagents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class SmolagentsDriver(FrameworkDriver):
    name = "smolagents"
    package = "smolagents"
    extra = "smolagents"
    impossible = {
        "bad JSON": "smolagents hands a text that is no JSON to the tool, as its only argument",
        "cancelled": "runs are synchronous: there is nothing to cancel",
        "interrupted": "there is no exception for it",
        "replayed": "tools get no id of the call",
    }

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from smolagents import LogLevel, Model, ToolCallingAgent, tool
        from smolagents.models import (
            ChatMessage,
            ChatMessageToolCall,
            ChatMessageToolCallFunction,
            MessageRole,
        )

        from btm.adapters.smolagents import wrap_tools

        seen = Seen()

        class Scripted(Model):
            def generate(self, messages: Any, *_: Any, **__: Any) -> ChatMessage:
                turn = len(seen.requests)
                seen.requests.append("\n".join(_text(message.content) for message in messages))
                asked = script[turn] if turn < len(script) else ()
                calls = [
                    ChatMessageToolCall(
                        id=f"{a.call_id}",
                        type="function",
                        function=ChatMessageToolCallFunction(
                            name=a.tool, arguments=a.raw or dict(a.arguments)
                        ),
                    )
                    for a in asked
                ]
                end = ChatMessageToolCallFunction(name="final_answer", arguments={"answer": FINAL})
                return ChatMessage(
                    role=MessageRole.ASSISTANT,
                    content="",
                    tool_calls=calls or [ChatMessageToolCall(id="end", type="function", function=end)],
                )

        wrapped = wrap_tools([tool(function) for function in tools], memory)
        agent = ToolCallingAgent(tools=wrapped, model=Scripted(), verbosity_level=LogLevel.OFF, max_steps=6)
        return await seen.end_of(asyncio.to_thread(agent.run, REQUEST))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


DRIVER = SmolagentsDriver()
