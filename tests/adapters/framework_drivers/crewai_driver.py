"""CrewAI."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class CrewAIDriver(FrameworkDriver):
    name = "CrewAI"
    package = "crewai"
    extra = "crewai"
    impossible = {
        "cancelled": "tools run in threads, which cannot be cancelled",
        "interrupted": "tools have no exception for it: people are asked between tasks",
        "huge result": "CrewAI shows models a preview of large results",
        "replayed": "tools get no id of the call",
    }

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        import os

        os.environ.update({"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"})
        from crewai import Agent, Crew, Task
        from crewai.llms.base_llm import BaseLLM
        from crewai.tools import tool

        from btm.adapters.crewai import wrap_tools

        seen = Seen()

        class Scripted(BaseLLM):
            def call(self, messages: Any, *_: Any, **__: Any) -> Any:
                turn = len(seen.requests)
                texts = [messages] if isinstance(messages, str) else [str(m.get("content")) for m in messages]
                seen.requests.append("\n".join(texts))
                asked = script[turn] if turn < len(script) else ()
                calls = [
                    {"id": a.call_id, "type": "function", "function": {"name": a.tool, "arguments": a.text}}
                    for a in asked
                ]
                return calls or FINAL

            async def acall(self, *args: Any, **kwargs: Any) -> Any:
                return self.call(*args, **kwargs)

            def supports_function_calling(self) -> bool:
                return True

        wrapped = wrap_tools([tool(function) for function in tools], memory)
        for made in wrapped:
            made.cache_function = lambda *_: False
        agent = Agent(
            role="clerk",
            goal="answer",
            backstory="none",
            tools=wrapped,
            llm=Scripted(model="scripted"),
            max_iter=6,
        )
        task = Task(description=REQUEST, expected_output="an answer", agent=agent)
        crew = Crew(agents=[agent], tasks=[task], verbose=False, cache=False)
        return await seen.end_of(asyncio.to_thread(crew.kickoff))


DRIVER = CrewAIDriver()
