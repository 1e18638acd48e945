"""Arms that other work proposes for a model, here with simulated behaviour: what they can do at best with no model behind.

Each says what it assumes. None reads a map; a real model may do better or worse, and is measured with ``--base-url``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from btm.errors import MissingExtraError
from btm.lab.agent import Call, ToolResponse
from btm.lab.desk import Desk
from btm.lab.forgetful import Forgetful

TRIALS = 3
ASKED = 3
_FIRST_WAIT_S, _LONGEST_S, _FACTOR = 1.0, 60.0, 2.0


class ToolRetry(Forgetful):
    """LangChain's own ``ToolRetryMiddleware`` with three retries; its waits (1, 2, 4 s) pass on the simulated clock."""

    def calls(self, desk: Desk) -> Call:
        """Return the tools behind the middleware. Raises MissingExtraError where langchain is absent."""
        try:
            kit = import_module("langchain.agents.middleware")
            messages = import_module("langchain_core.messages")
            requests = import_module("langgraph.prebuilt.tool_node")
        except ImportError as missing:
            raise MissingExtraError("langchain", "langchain", "the arm toolretry") from missing
        middleware = kit.ToolRetryMiddleware(max_retries=ASKED, initial_delay=0.0, jitter=False)

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            made: list[ToolResponse] = []

            def handler(_: Any) -> Any:
                if made:
                    desk.clock.sleep(min(_LONGEST_S, _FIRST_WAIT_S * _FACTOR ** (len(made) - 1)))
                made.append(ToolResponse(None, is_error=True))
                made[-1] = ToolResponse(desk.call(tool, arguments))
                return messages.ToolMessage(content="", name=tool, tool_call_id="1")

            asked = {"name": tool, "args": dict(arguments), "id": "1", "type": "tool_call"}
            request = requests.ToolCallRequest(tool_call=asked, tool=None, state={}, runtime=None)
            answer = middleware.wrap_tool_call(request, handler)
            return ToolResponse(answer.text, is_error=True) if answer.status == "error" else made[-1]

        return call


class ReflectRetry(Forgetful):
    """Told to reflect on the error and to call again with other arguments, n of 3; it obeys, and finds no others.

    After the idea of google-adk's ReflectAndRetryToolPlugin. Simulated: it repeats the call at once, up to three times.
    """

    def calls(self, desk: Desk) -> Call:
        return lambda tool, arguments: desk.tries(tool, arguments, 1 + ASKED)


class SelfRefine(Forgetful):
    """Self-Refine (Madaan et al., NeurIPS 2023): feedback on each call before it is made.

    Simulated: before a call nothing has failed yet, and the script's calls are right, so the feedback has nothing to say.
    """

    def calls(self, desk: Desk) -> Call:
        return desk.tries


class Reflexion(Forgetful):
    """Reflexion (Shinn et al., NeurIPS 2023): a failed task is tried again from the start, up to three times in all.

    It needs what production has not: a reset of the world, and someone who says that the task failed. Simulated: what the
    agent notes of a trial is which tools failed; in the next it repeats their calls, once more each trial.
    """

    @property
    def trials(self) -> int:
        return TRIALS

    def calls(self, desk: Desk) -> Call:
        """Return the tools; those that failed in an earlier trial are called again when they fail."""
        failed: Counter[str] = Counter(desk.reflections)

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            return desk.tries(tool, arguments, 1 + failed[tool])

        return call

    def reflect(self, desk: Desk) -> tuple[str, ...]:
        return tuple(dict.fromkeys(made.site.tool for made in desk.injector.calls if made.failed))


PROMPTED: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "toolretry": (ToolRetry, "LangChain's own ToolRetryMiddleware(max_retries=3)"),
    "reflect_retry": (
        ReflectRetry,
        "told to reflect and call again, 3 times (simulated: it repeats the call)",
    ),
    "self_refine": (
        SelfRefine,
        "feedback before each call (simulated: nothing has failed by then, so it ends as bare)",
    ),
    "reflexion": (
        Reflexion,
        "up to 3 trials, each with a fresh world and a note of which tools failed (simulated)",
    ),
}
"""The arms by name, each with what it is."""
