"""The bare chat-completions loop: a client, a list of messages, and btm between the calls and the next request."""

from __future__ import annotations

from typing import Any

from orders import MAP, PLAN, REQUEST, find_user, get_order, list_orders

from btm import ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.testing import ScriptedClient

client: Any = ScriptedClient(PLAN)
# For a real model replace the line above, for example by: client = openai.OpenAI()


def spec(name: str, argument: str) -> dict[str, Any]:
    """Describe a tool of one text argument to the model."""
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SPECS = [spec("find_user", "email"), spec("get_order", "order_id"), spec("list_orders", "user_id")]

with (
    ToolMemory.open(fallback_map=MAP, mode="advise") as memory,
    ChatLoop(memory, [find_user, get_order, list_orders]) as loop,
):
    messages: list[Any] = [{"role": "user", "content": REQUEST}]
    while True:
        request = loop.prepare(messages)
        reply = client.chat.completions.create(model="gpt-5.5", messages=request, tools=SPECS)
        message = reply.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        messages += loop.run(message.tool_calls)
        print(messages[-1]["content"])
    print(message.content)
