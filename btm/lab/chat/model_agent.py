"""A chat model as the agent of an evaluation, on any domain: LangChain's ``create_agent`` over the domain's tools.

It knows nothing of btm: what an arm says about a failed call stands in that call's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from btm.errors import EvaluationError
from btm.lab.chat.agents import (
    MAX_TURNS,
    Demonstration,
    OutOfTurnsError,
    agent_over,
    connect,
    fatal,
    shown_as,
)
from btm.lab.chat.request import Server
from btm.lab.environment import Environment, Task

_SYSTEM = (
    "You are an assistant with tools. Work in steps: each step is one tool call, and its result tells you what to call "
    "next. Answer in one short sentence only when every part of the request is done. If no tool can do it, hand over to a "
    "human with the tool that does that."
)


class ChatAgent:
    """A model with its tools, for one request. ``tokens`` are what it read and wrote in all turns, by its server's count."""

    def __init__(self, graph: Any, shown: Sequence[AnyMessage]) -> None:
        self._graph, self._shown = graph, shown
        self.tokens = 0

    def __call__(self, request: str) -> str:
        """Answer a request. Raises EvaluationError where the model cannot be asked at all."""
        messages: list[AnyMessage] = []
        try:
            given = {"messages": [*self._shown, HumanMessage(request)]}
            for state in self._graph.stream(given, {"recursion_limit": 4 * MAX_TURNS}, stream_mode="values"):
                messages = state["messages"]
        except OutOfTurnsError:
            return ""
        except Exception as error:
            if fatal(error):
                raise EvaluationError(f"the model cannot be asked: {error}") from error
            raise
        finally:
            said = [m for m in messages if isinstance(m, AIMessage)]
            self.tokens = sum(m.usage_metadata["total_tokens"] for m in said if m.usage_metadata)
        return str(messages[-1].text)


def agent_factory(
    server: Server, shown: Sequence[Demonstration] = ()
) -> Callable[[Sequence[Callable[..., Any]]], ChatAgent]:
    """Return a factory of agents that a chat model drives, after the demonstrations ``shown``."""
    chat, before = connect(server), shown_as(shown)
    return lambda tools: ChatAgent(agent_over(chat, tools, _SYSTEM), before)


def demonstration(environment: Environment, task: Task) -> Demonstration:
    """Return a task as its gold calls do it. Raises what a gold call raises."""
    session = environment.open(task)
    calls = tuple((step.tool, step.arguments, session.call(step.tool, step.arguments)) for step in task.steps)
    told = [answer.text for answer in task.answers if not answer.looked]
    return Demonstration(task.request, calls, f"{', '.join(told)}." if told else "It is done.")
