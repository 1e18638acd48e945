"""AG2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class AG2Driver(FrameworkDriver):
    name = "AG2"
    package = "ag2"
    extra = "ag2"

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from ag2 import Agent
        from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, ToolCallsEvent
        from ag2.testing import TestConfig

        from btm.adapters.ag2 import wrap_tools

        seen = Seen()

        class Config(TestConfig):
            def create(self) -> Any:
                async def scripted(messages: Any, context: Any, **_: Any) -> ModelResponse:
                    turn = len(seen.requests)
                    seen.requests.append("\n".join(_text(message) for message in messages))
                    asked = script[turn] if turn < len(script) else ()
                    calls = [ToolCallEvent(a.tool, id=a.call_id, arguments=a.text) for a in asked]
                    if calls:
                        return ModelResponse(tool_calls=ToolCallsEvent(calls))
                    message = ModelMessage(FINAL)
                    await context.send(message)
                    return ModelResponse(message)

                return scripted

        agent = Agent("clerk", config=Config(), tools=wrap_tools(tools, memory))

        async def run() -> Any:
            return (await agent.ask(REQUEST)).content

        return await seen.end_of(run())

    def signal(self) -> Exception:
        from ag2.exceptions import HumanInputNotProvidedError

        return HumanInputNotProvidedError()


def _text(event: Any) -> str:
    results = getattr(event, "results", None)
    if results is None:
        return str(event) if type(event).__name__ == "ModelRequest" else ""
    return "\n".join(
        str(getattr(p, "content", None) or getattr(p, "data", p)) for r in results for p in r.result.parts
    )


DRIVER = AG2Driver()
