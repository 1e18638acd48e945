"""AutoGen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class AutoGenDriver(FrameworkDriver):
    name = "AutoGen"
    package = "autogen_agentchat"
    extra = "autogen"
    impossible = {"interrupted": "tools have no exception for it: a handoff ends the run instead"}

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from autogen_agentchat.agents import AssistantAgent
        from autogen_core import FunctionCall
        from autogen_core.models import (
            ChatCompletionClient,
            CreateResult,
            ModelFamily,
            ModelInfo,
            RequestUsage,
        )
        from autogen_core.tools import FunctionTool, StaticWorkbench

        from btm.adapters.autogen import recovering

        seen = Seen()

        class Scripted(ChatCompletionClient):
            async def create(self, messages: Any, **_: Any) -> CreateResult:
                turn = len(seen.requests)
                seen.requests.append("\n".join(_text(message.content) for message in messages))
                asked = script[turn] if turn < len(script) else ()
                calls = [FunctionCall(id=a.call_id, name=a.tool, arguments=a.text) for a in asked]
                return CreateResult(
                    finish_reason="function_calls" if calls else "stop",
                    content=calls or FINAL,
                    usage=RequestUsage(0, 0),
                    cached=False,
                )

            model_info = ModelInfo(
                vision=False,
                function_calling=True,
                json_output=False,
                family=ModelFamily.UNKNOWN,
                structured_output=False,
            )
            capabilities = model_info

            def create_stream(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

            async def close(self) -> None:
                """Nothing is open."""

            def actual_usage(self) -> Any:
                return RequestUsage(0, 0)

            total_usage = actual_usage

            def count_tokens(self, *_: Any, **__: Any) -> int:
                return 0

            remaining_tokens = count_tokens

        made = [FunctionTool(function, description=function.__doc__ or "") for function in tools]
        workbench = recovering(StaticWorkbench(made), memory)
        agent = AssistantAgent(
            "clerk",
            model_client=Scripted(),
            workbench=workbench,
            max_tool_iterations=6,
            reflect_on_tool_use=False,
        )
        return await seen.end_of(agent.run(task=REQUEST))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(getattr(item, "content", item)) for item in content)


DRIVER = AutoGenDriver()
