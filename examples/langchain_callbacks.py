"""BTMCallbackHandler: btm only watches a LangGraph agent, and learns which tool fails how and what helps.

Needs the extra: pip install -e ".[langchain]"
"""

from __future__ import annotations

import sys

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

try:
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
except ModuleNotFoundError:
    sys.exit('This example needs LangGraph: pip install -e ".[langchain]"')
from orders import MAP, PLAN, REQUEST, find_user, get_order, list_orders

from btm import ToolMemory
from btm.adapters.langchain import BTMCallbackHandler
from btm.testing import ScriptedChatModel

model = ScriptedChatModel(plan=[*PLAN, ("list_orders", {"user_id": "u1"})], gives_up=False)
# For a real model replace the line above, for example by: model = ChatOpenAI(model="gpt-5.5").bind_tools([...])


def call_model(state: MessagesState) -> MessagesState:
    """Ask the model."""
    return {"messages": [model.invoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("model", call_model)
graph.add_node("tools", ToolNode([find_user, get_order, list_orders], handle_tool_errors=True))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
agent = graph.compile()

with ToolMemory.open(fallback_map=MAP, mode="observe") as memory:
    watched: RunnableConfig = {"callbacks": [BTMCallbackHandler(memory)]}
    answer = agent.invoke({"messages": [HumanMessage(REQUEST)]}, watched)
    for message in answer["messages"]:
        message.pretty_print()
    print("\nWhat btm learned:")
    for key, belief in memory.beliefs():
        print(
            f"  after {key.kind} of {key.tool}, {key.action} {key.target}: {belief.mean:.2f} (n={belief.n:.0f})"
        )
