"""A scripted model behind OpenAI's interface, and the script that it shares with LangChain's. It is no language model.

It makes the calls of its plan one by one. When the last message holds a recovery note, it does what the note's first
line says (a good model does the same); when a tool fails and no note comes, it tells the user that it failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

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
