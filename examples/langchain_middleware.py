"""LangChain's create_agent with BTMMiddleware: the model is told what to do next after a failure.

Needs the extra: pip install -e ".[langchain]"
"""

from __future__ import annotations

import sys

try:
    from langchain.agents import create_agent
except ModuleNotFoundError:
    sys.exit('This example needs LangChain: pip install -e ".[langchain]"')
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
    memory.on("context_given", lambda told: print(f"\nWhat the model was told:\n{told.text}\n"))
    agent = create_agent(model, [find_user, get_order, list_orders], middleware=[BTMMiddleware(memory)])
    answer = agent.invoke({"messages": [HumanMessage(REQUEST)]})
    for message in answer["messages"]:
        message.pretty_print()
    print("\nWhat btm learned:")
    for key, belief in memory.beliefs():
        print(
            f"  after {key.kind} of {key.tool}, {key.action} {key.target}: {belief.mean:.2f} (n={belief.n:.0f})"
        )
