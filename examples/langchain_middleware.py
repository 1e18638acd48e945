"""LangChain's create_agent with BTMMiddleware: the model is told what to do next after a failure."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from orders import MAP, PLAN, REQUEST, find_user, get_order, list_orders

from btm import ToolMemory
from btm.adapters.langchain import BTMMiddleware
from btm.testing import ScriptedChatModel

model = ScriptedChatModel(plan=PLAN)
# For a real model replace the line above, for example by: model = "openai:gpt-5.5"

with ToolMemory.open(
    fallback_map=MAP, mode="advise"
) as memory:  # a path as first argument keeps what it learns
    agent = create_agent(model, [find_user, get_order, list_orders], middleware=[BTMMiddleware(memory)])
    answer = agent.invoke({"messages": [HumanMessage(REQUEST)]})
    for message in answer["messages"]:
        message.pretty_print()
    print("\nWhat btm learned:")
    for key, belief in memory.beliefs():
        print(
            f"  after {key.kind} of {key.tool}, {key.action} {key.target}: {belief.mean:.2f} (n={belief.n:.0f})"
        )
