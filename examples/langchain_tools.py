"""wrap_tools: btm around LangChain tools, for any executor. Here it acts: the model never sees the failure."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import tool
from orders import MAP, PLAN, REQUEST, find_user, get_order, list_orders

from btm import ToolMemory
from btm.adapters.langchain import wrap_tools
from btm.testing import ScriptedChatModel

model = ScriptedChatModel(plan=PLAN)
# For a real model replace the line above, for example by: model = ChatOpenAI(model="gpt-5.5").bind_tools(tools)

with ToolMemory.open(fallback_map=MAP, mode="act") as memory, memory.conversation("example"):
    tools = wrap_tools([tool(find_user), tool(get_order), tool(list_orders)], memory)
    by_name = {wrapped.name: wrapped for wrapped in tools}
    messages: list[AnyMessage] = [HumanMessage(REQUEST)]
    while True:  # the smallest executor there is; LangGraph's ToolNode or any other does the same
        reply = model.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            break
        messages += [by_name[call["name"]].invoke(call) for call in reply.tool_calls]
    for message in messages:
        message.pretty_print()
        if "btm" in message.response_metadata:
            print("  btm:", message.response_metadata["btm"])
