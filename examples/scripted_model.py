"""A scripted chat model, so that the examples run without a key or a network. It is no language model.

It makes the calls of its plan one by one. When the last message holds a recovery note, it does what the note's first
line says (a good model does the same); when a tool fails and no note comes, it tells the user that it failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

Plan = Sequence[tuple[str, dict[str, Any]]]

_NEXT = re.compile(r"^next: (?:retry|switch to|verify with|repair with) (\S+) (\{.*?\})", re.MULTILINE)


def decide(plan: Plan, made: int, last_text: str, last_failed: bool) -> tuple[str, dict[str, Any]] | str:
    """Return the next call, or the closing text. ``made`` is how many calls of the plan went through."""
    note = _NEXT.search(last_text)
    if note is not None:
        return note.group(1), json.loads(note.group(2))
    if last_failed:
        return f"Sorry, that did not work: {last_text}"
    if made < len(plan):
        return plan[made]
    return f"Done: {last_text}"


class ScriptedChatModel(BaseChatModel):
    """The script as a LangChain chat model."""

    plan: list[tuple[str, dict[str, Any]]]
    gives_up: bool = True  # False: a failed call is left behind, and the plan goes on

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


class ScriptedClient:
    """The script behind the face of an OpenAI client: ``client.chat.completions.create(...)``."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, *, messages: list[Any], **_: Any) -> Any:
        read = [m if isinstance(m, dict) else vars(m) for m in messages]
        results = [m for m in read if m["role"] == "tool"]
        worked = sum(1 for m in results if "Error: " not in m["content"])
        failed = read[-1]["role"] == "tool" and "Error: " in read[-1]["content"]
        decision = decide(self._plan, worked, str(read[-1]["content"]), failed)
        if isinstance(decision, str):
            message = SimpleNamespace(role="assistant", content=decision, tool_calls=None)
        else:
            function = SimpleNamespace(name=decision[0], arguments=json.dumps(decision[1]))
            call = SimpleNamespace(id=f"call_{len(results) + 1}", type="function", function=function)
            message = SimpleNamespace(role="assistant", content=None, tool_calls=[call])
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])
