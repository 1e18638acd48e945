"""The OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class OpenAIAgentsDriver(FrameworkDriver):
    name = "OpenAI Agents SDK"
    package = "agents"
    extra = "openai-agents"
    impossible = {"interrupted": "approvals are asked for before a tool is run: there is no exception for it"}

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from agents import (
            Agent,
            Model,
            ModelResponse,
            RunConfig,
            Runner,
            Usage,
            function_tool,
        )
        from openai.types.responses import (
            ResponseFunctionToolCall,
            ResponseOutputMessage,
            ResponseOutputText,
        )

        from btm.adapters.openai_agents import wrap_tools

        seen = Seen()

        class Scripted(Model):
            async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
                turn = len(seen.requests)
                seen.requests.append(f"{system_instructions}\n{_text(input)}")
                output: list[Any] = []
                for i, asked in enumerate(script[turn] if turn < len(script) else ()):
                    output.append(
                        ResponseFunctionToolCall(
                            id=f"f{turn}-{i}",
                            call_id=asked.call_id,
                            name=asked.tool,
                            arguments=asked.text,
                            type="function_call",
                        )
                    )
                if not output:
                    said = ResponseOutputText(type="output_text", text=FINAL, annotations=[])
                    output.append(
                        ResponseOutputMessage(
                            id="m", type="message", role="assistant", status="completed", content=[said]
                        )
                    )
                return ModelResponse(output=output, usage=Usage(), response_id=None)

            def stream_response(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

        wrapped = wrap_tools([function_tool(tool) for tool in tools], memory)
        agent = Agent(name="test", model=Scripted(), tools=wrapped)
        config = RunConfig(tracing_disabled=True, tool_not_found_behavior="return_error_to_model")
        return await seen.end_of(Runner.run(agent, REQUEST, run_config=config))


def _text(items: Any) -> str:
    if isinstance(items, str):
        return items
    return "\n".join(str(item.get("output") or item.get("content") or item) for item in items)


DRIVER = OpenAIAgentsDriver()
