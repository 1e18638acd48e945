"""LlamaIndex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class LlamaIndexDriver(FrameworkDriver):
    name = "LlamaIndex"
    package = "llama_index.core"
    extra = "llama-index"
    impossible = {
        "bad JSON": "the model's integration reads the arguments, before btm sees a call",
        "replayed": "tools get no id of the call",
    }

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from llama_index.core.agent.workflow import FunctionAgent
        from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
        from llama_index.core.llms.mock import MockFunctionCallingLLM

        from btm.adapters.llama_index import wrap_tools

        seen = Seen()

        def scripted(messages: Any, **_: Any) -> ChatMessage:
            turn = len(seen.requests)
            seen.requests.append("\n".join(str(message.content) for message in messages))
            asked = script[turn] if turn < len(script) else ()
            if not asked:
                return ChatMessage(role="assistant", content=FINAL)
            blocks = [
                ToolCallBlock(
                    tool_call_id=a.call_id, tool_name=a.tool, tool_kwargs=a.raw or dict(a.arguments)
                )
                for a in asked
            ]
            return ChatMessage(role="assistant", blocks=blocks)

        model = MockFunctionCallingLLM(response_generator=scripted, is_chat_model=True)
        agent = FunctionAgent(tools=wrap_tools(tools, memory), llm=model, streaming=False)

        async def run() -> Any:
            return await agent.run(REQUEST)

        return await seen.end_of(run())

    def signal(self) -> Exception:
        from workflows.runtime.types.results import WaitingForEvent

        return WaitingForEvent.__new__(WaitingForEvent)


DRIVER = LlamaIndexDriver()
