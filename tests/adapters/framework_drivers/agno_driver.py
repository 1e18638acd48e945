"""Agno."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class AgnoDriver(FrameworkDriver):
    name = "Agno"
    package = "agno"
    extra = "agno"
    impossible = {"replayed": "hooks get no id of the call"}

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from dataclasses import dataclass

        from agno.agent import Agent
        from agno.models.base import Model
        from agno.models.response import ModelResponse

        from btm.adapters.agno import recovering

        seen = Seen()

        @dataclass
        class Scripted(Model):
            id: str = "scripted"

            def invoke(self, messages: Any, *_: Any, **__: Any) -> ModelResponse:
                turn = len(seen.requests)
                seen.requests.append("\n".join(str(message.content) for message in messages))
                asked = script[turn] if turn < len(script) else ()
                calls = [
                    {"id": a.call_id, "type": "function", "function": {"name": a.tool, "arguments": a.text}}
                    for a in asked
                ]
                return ModelResponse(role="assistant", content=None if calls else FINAL, tool_calls=calls)

            async def ainvoke(self, messages: Any, *_: Any, **__: Any) -> ModelResponse:
                return self.invoke(messages)

            def invoke_stream(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

            ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke_stream

        agent = Agent(model=Scripted(), tools=tools, tool_hooks=[recovering(memory, tools)], telemetry=False)

        async def run() -> Any:
            return (await agent.arun(REQUEST)).content

        return await seen.end_of(run())

    def signal(self) -> Exception:
        from agno.exceptions import StopAgentRun

        return StopAgentRun("a person is asked")


DRIVER = AgnoDriver()
