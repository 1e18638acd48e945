"""A chat model as the agent of an evaluation, on any domain: LangChain's ``create_agent`` over the domain's tools.

It knows nothing of btm: what an arm says about a failed call stands in that call's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from btm.errors import EvaluationError
from btm.lab.chat.agents import MAX_TURNS, agent_over, connect, fatal
from btm.lab.chat.request import Server

_SYSTEM = (
    "You are an assistant with tools. Work in steps: each step is one tool call, and its result tells you what to call "
    "next. Answer in one short sentence only when every part of the request is done. If no tool can do it, hand over to a "
    "human with the tool that does that."
)

Agent = Callable[[str], str]


def agent_factory(base_url: str, model: str) -> Callable[[Sequence[Callable[..., Any]]], Agent]:
    """Return a factory of agents that a chat model drives. Raises EvaluationError where the model cannot be asked."""
    chat = connect(Server(base_url=base_url, model=model))

    def make(tools: Sequence[Callable[..., Any]]) -> Agent:
        agent = agent_over(chat, tools, _SYSTEM)

        def answer(request: str) -> str:
            try:
                state = agent.invoke(
                    {"messages": [{"role": "user", "content": request}]}, {"recursion_limit": 4 * MAX_TURNS}
                )
            except Exception as error:
                if fatal(error):
                    raise EvaluationError(f"the model cannot be asked: {error}") from error
                raise
            return str(state["messages"][-1].text)

        return answer

    return make
