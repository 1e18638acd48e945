"""Google ADK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class GoogleADKDriver(FrameworkDriver):
    name = "Google ADK"
    package = "google.adk"
    extra = "google-adk"
    impossible = {
        "bad JSON": "models of Google answer with objects: arguments that are no JSON never come",
        "interrupted": "tools ask for a confirmation by a result, not by an exception",
    }

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from google.adk.agents import LlmAgent
        from google.adk.apps import App
        from google.adk.models import BaseLlm, LlmResponse
        from google.adk.runners import InMemoryRunner
        from google.genai import types

        from btm.adapters.google_adk import RecoveryPlugin

        seen = Seen()

        class Scripted(BaseLlm):
            async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
                turn = len(seen.requests)
                seen.requests.append("\n".join(_text(part) for c in llm_request.contents for part in c.parts))
                asked = script[turn] if turn < len(script) else ()
                parts = [
                    types.Part(
                        function_call=types.FunctionCall(id=a.call_id, name=a.tool, args=dict(a.arguments))
                    )
                    for a in asked
                ]
                yield LlmResponse(
                    content=types.Content(role="model", parts=parts or [types.Part(text=FINAL)])
                )

        agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=list(tools))
        app = App(name="test", root_agent=agent, plugins=[RecoveryPlugin(memory)])
        runner = InMemoryRunner(app=app)

        async def run() -> Any:
            session = await runner.session_service.create_session(app_name="test", user_id="u")
            message = types.Content(role="user", parts=[types.Part(text=REQUEST)])
            async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                pass
            return FINAL

        return await seen.end_of(run())


def _text(part: Any) -> str:
    if part.function_response is None:
        return part.text or ""
    return "\n".join(f"{name}: {value}" for name, value in part.function_response.response.items())


DRIVER = GoogleADKDriver()
