"""Microsoft Agent Framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class AgentFrameworkDriver(FrameworkDriver):
    name = "Microsoft Agent Framework"
    package = "agent_framework"
    extra = "agent-framework"

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from agent_framework import Agent, AgentSession, BaseChatClient, ChatResponse, Content, Message, tool
        from agent_framework._tools import FunctionInvocationLayer

        from btm.adapters.agent_framework import FunctionRecovery

        seen = Seen()

        class Scripted(FunctionInvocationLayer, BaseChatClient):
            async def _inner_get_response(self, *, messages: Any, **_: Any) -> ChatResponse:
                turn = len(seen.requests)
                seen.requests.append("\n".join(_text(c) for message in messages for c in message.contents))
                asked = script[turn] if turn < len(script) else ()
                contents = [Content.from_function_call(a.call_id, a.tool, arguments=a.text) for a in asked]
                return ChatResponse(messages=[Message("assistant", contents or [Content.from_text(FINAL)])])

        agent = Agent(
            client=Scripted(),
            tools=[tool(function, approval_mode="never_require") for function in tools],
            middleware=[FunctionRecovery(memory)],
        )
        session = AgentSession(session_id=memory.current_conversation or None)
        return await seen.end_of(agent.run(REQUEST, session=session))

    def signal(self) -> Exception:
        from agent_framework._middleware import MiddlewareTermination

        return MiddlewareTermination("a person is asked")


def _text(content: Any) -> str:
    return str(content.text if content.type == "text" else content.result or content.exception or "")


DRIVER = AgentFrameworkDriver()
