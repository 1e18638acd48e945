"""pydantic-ai."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class PydanticAIDriver(FrameworkDriver):
    name = "pydantic-ai"
    package = "pydantic_ai"
    extra = "pydantic-ai"

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from pydantic_ai import Agent, DeferredToolRequests
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        from btm.adapters.pydantic_ai import Recovering

        seen = Seen()

        def scripted(messages: Any, info: Any) -> ModelResponse:
            turn = len(seen.requests)
            seen.requests.append("\n".join(_text(part) for message in messages for part in message.parts))
            asked = script[turn] if turn < len(script) else ()
            parts = [ToolCallPart(a.tool, a.raw or dict(a.arguments), a.call_id) for a in asked]
            return ModelResponse(parts=parts or [TextPart(FINAL)])

        agent = Agent(
            FunctionModel(scripted),
            tools=tools,
            capabilities=[Recovering(memory)],
            output_type=[str, DeferredToolRequests],
        )
        # A resumed run keeps its id.
        return await seen.end_of(agent.run(REQUEST, run_id=memory.current_conversation or None))

    def signal(self) -> Exception:
        from pydantic_ai import CallDeferred

        return CallDeferred()


def _text(part: Any) -> str:
    rendered = getattr(part, "model_response_str", None)
    return rendered() if rendered is not None else str(getattr(part, "content", ""))


DRIVER = PydanticAIDriver()
