"""LangChain's part of :mod:`btm.testing`."""

from __future__ import annotations

import functools
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool

from btm.adapters.langchain.tool_copy import facade
from btm.testing.failing import Failures
from btm.testing.scripted import decide


class ScriptedChatModel(BaseChatModel):
    """A chat model that plays ``plan``, its calls as (tool, arguments), and follows a recovery note when there is one.

    ``gives_up`` False: a failed call without a note is left behind, and the plan goes on.
    """

    plan: list[tuple[str, dict[str, Any]]]
    gives_up: bool = True

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:  # noqa: ARG002
        """The script knows its tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        results = [m for m in messages if m.type == "tool"]
        worked = sum(1 for m in results if getattr(m, "status", "") == "success")
        failed = messages[-1].type == "tool" and getattr(messages[-1], "status", "") == "error"
        made = worked if self.gives_up else len(results)
        decision = decide(self.plan, made, messages[-1].text, failed and self.gives_up)
        if isinstance(decision, str):
            message = AIMessage(content=decision)
        else:
            name, arguments = decision
            call = {"name": name, "args": arguments, "id": f"call_{len(results) + 1}", "type": "tool_call"}
            message = AIMessage(content="", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def failing_tool(tool: BaseTool, failures: Failures) -> BaseTool:
    """Return a copy of a tool whose own code is not reached while ``failures`` raise."""
    base = type(tool)
    run, arun = base._run, base._arun

    # Wrapped, so that LangChain finds the signatures in which it looks for what to hand in.
    @functools.wraps(run)
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        failures.next()
        return run(self, *args, **kwargs)

    @functools.wraps(arun)
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        if arun is not BaseTool._arun:  # that one ends in _run
            failures.next()
        return await arun(self, *args, **kwargs)

    names = {"__module__": base.__module__, "__doc__": base.__doc__, "_run": _run, "_arun": _arun}
    return facade(tool, type(base.__name__, (base,), names))
