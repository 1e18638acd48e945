"""Strands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance_kit import FINAL, REQUEST, FrameworkDriver, Script, Seen

from btm import ToolMemory


class StrandsDriver(FrameworkDriver):
    name = "Strands"
    package = "strands"
    extra = "strands"

    async def run(self, tools: list[Callable[..., Any]], script: Script, memory: ToolMemory) -> Seen:
        from strands import Agent, tool
        from strands.models import Model

        from btm.adapters.strands import RecoveryHooks

        seen = Seen()

        class Scripted(Model):
            async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
                turn = len(seen.requests)
                seen.requests.append(
                    "\n".join(_text(part) for message in messages for part in message["content"])
                )
                asked = script[turn] if turn < len(script) else ()
                yield {"messageStart": {"role": "assistant"}}
                for one in asked:
                    use = {"name": one.tool, "toolUseId": one.call_id}
                    yield {"contentBlockStart": {"start": {"toolUse": use}}}
                    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": one.text}}}}
                    yield {"contentBlockStop": {}}
                if not asked:
                    yield {"contentBlockStart": {"start": {}}}
                    yield {"contentBlockDelta": {"delta": {"text": FINAL}}}
                    yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use" if asked else "end_turn"}}

            def update_config(self, **_: Any) -> None:
                """Nothing to set."""

            def get_config(self) -> Any:
                return {}

            def structured_output(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

        agent = Agent(
            model=Scripted(),
            tools=[tool(function) for function in tools],
            hooks=[RecoveryHooks(memory)],
            callback_handler=None,
        )
        return await seen.end_of(agent.invoke_async(REQUEST))

    def signal(self) -> Exception:
        from strands.interrupt import Interrupt, InterruptException

        return InterruptException(Interrupt(id="i1", name="approve"))


def _text(part: Any) -> str:
    if "toolResult" not in part:
        return str(part.get("text", ""))
    return "\n".join(str(item.get("text") or item.get("json")) for item in part["toolResult"]["content"])


DRIVER = StrandsDriver()
