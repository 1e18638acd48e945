# ruff: noqa: PLW2901 - a text is completed where a product marks errors by words
"""One story in the forms of many products' logs, written from their public documentation.

A user asks where order o1 is; ``get_order`` fails twice (the token has expired), then ``list_orders`` answers.
"""

from __future__ import annotations

import json
from typing import Any

TASK = "where is o1?"
ERROR = "401 Unauthorized: token expired"
ORDERS = '[{"order_id": "o1", "status": "shipped"}]'
CALLS: list[tuple[str, str, dict[str, Any], str, bool]] = [
    ("c1", "get_order", {"order_id": "o1"}, ERROR, True),
    ("c2", "get_order", {"order_id": "o1"}, ERROR, True),
    ("c3", "list_orders", {"user_id": "u1"}, ORDERS, False),
]
STAMP = "2026-11-20T10:00:0{}Z"


def lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def gemini_cli() -> Any:
    messages: list[Any] = [{"id": "m", "type": "user", "timestamp": STAMP.format(0), "content": TASK}]
    for n, (own, tool, given, said, failed) in enumerate(CALLS, 1):
        response = {"error": said} if failed else {"output": said}
        result = [{"functionResponse": {"id": own, "name": tool, "response": response}}]
        call = {
            "id": own,
            "name": tool,
            "args": given,
            "result": result,
            "status": "error" if failed else "success",
            "timestamp": STAMP.format(n),
            "displayName": "Shop",
            "resultDisplay": said,
        }
        thoughts = [{"subject": "Looking", "description": "it up", "timestamp": STAMP.format(n)}]
        messages.append(
            {
                "id": f"g{n}",
                "type": "gemini",
                "content": "",
                "toolCalls": [call],
                "thoughts": thoughts,
                "tokens": {"input": 1},
            }
        )
    return {"sessionId": "s1", "projectHash": "p", "startTime": STAMP.format(0), "messages": messages}


def copilot_cli() -> str:
    records: list[Any] = [
        {
            "type": "session.start",
            "data": {"sessionId": "s1", "version": 1},
            "id": "e0",
            "timestamp": STAMP.format(0),
        },
        {"type": "user.message", "data": {"content": TASK}, "id": "e1", "timestamp": STAMP.format(0)},
    ]
    for n, (own, tool, given, said, failed) in enumerate(CALLS):
        request = {"toolCallId": own, "name": tool, "arguments": given, "type": "function"}
        outcome = (
            {"success": False, "error": {"message": said, "code": "failure"}}
            if failed
            else {"success": True, "result": {"content": said, "detailedContent": said}}
        )
        for kind, data in (
            (
                "assistant.message",
                {"messageId": f"m{n}", "content": "Let me look.", "toolRequests": [request]},
            ),
            ("tool.execution_start", {"toolCallId": own, "toolName": tool, "arguments": given}),
            ("tool.execution_complete", {"toolCallId": own, **outcome}),
        ):
            records.append({"type": kind, "data": data, "id": f"{kind}{n}", "timestamp": STAMP.format(n)})
    return lines(records)


def opencode() -> Any:
    parts = [
        {
            "id": f"prt_{own}",
            "sessionID": "ses_1",
            "messageID": "msg_2",
            "type": "tool",
            "callID": own,
            "tool": tool,
            "state": {"status": "error", "input": given, "error": said, "time": {"start": 1, "end": 2}}
            if failed
            else {
                "status": "completed",
                "input": given,
                "output": said,
                "title": "",
                "metadata": {},
                "time": {"start": 1},
            },
        }
        for own, tool, given, said, failed in CALLS
    ]
    user = {
        "info": {"id": "msg_1", "sessionID": "ses_1", "role": "user"},
        "parts": [{"type": "text", "text": TASK}],
    }
    messages = [
        user,
        *({"info": {"id": p["id"], "sessionID": "ses_1", "role": "assistant"}, "parts": [p]} for p in parts),
    ]
    return {"info": {"id": "ses_1", "title": "Order", "version": "1.0"}, "messages": messages}


def openhands() -> Any:
    events: list[Any] = [{"id": 0, "source": "user", "action": "message", "args": {"content": TASK}}]
    for n, (own, tool, given, said, failed) in enumerate(CALLS):
        named = {"function_name": tool, "tool_call_id": own}
        events += [
            {
                "id": 2 * n + 1,
                "source": "agent",
                "action": "call_tool_mcp",
                "args": {"name": tool, **given},
                "tool_call_metadata": named,
            },
            {
                "id": 2 * n + 2,
                "source": "environment",
                "observation": "error" if failed else "mcp",
                "cause": 2 * n + 1,
                "content": said,
                "extras": {},
            },
        ]
    return events


def openhands_v1() -> str:
    records: list[Any] = [
        {
            "kind": "MessageEvent",
            "id": "m",
            "source": "user",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": TASK}]},
        }
    ]
    for own, tool, given, said, failed in CALLS:
        call = {"id": own, "name": tool, "arguments": json.dumps(given), "origin": "completion"}
        records.append(
            {
                "kind": "ActionEvent",
                "id": f"a{own}",
                "source": "agent",
                "thought": [],
                "action": {"kind": "MCPToolAction", "data": given},
                "tool_name": tool,
                "tool_call_id": own,
                "tool_call": call,
            }
        )
        observation = {
            "kind": "MCPToolObservation",
            "content": [{"type": "text", "text": said}],
            "is_error": failed,
        }
        records.append(
            {
                "kind": "ObservationEvent",
                "id": f"o{own}",
                "source": "environment",
                "tool_name": tool,
                "tool_call_id": own,
                "observation": observation,
                "action_id": f"a{own}",
            }
        )
    return lines(records)


def claude_stream() -> str:
    records: list[Any] = [{"type": "system", "subtype": "init", "session_id": "s1", "tools": ["get_order"]}]
    for own, tool, given, said, failed in CALLS:
        use = {"type": "tool_use", "id": own, "name": tool, "input": given}
        answer = {"type": "tool_result", "tool_use_id": own, "content": said, "is_error": failed}
        records += [
            {
                "type": "assistant",
                "session_id": "s1",
                "message": {"role": "assistant", "id": f"msg_{own}", "content": [use]},
            },
            {"type": "user", "session_id": "s1", "message": {"role": "user", "content": [answer]}},
        ]
    return lines(
        [
            *records,
            {"type": "result", "subtype": "success", "session_id": "s1", "is_error": False, "result": "done"},
        ]
    )


def codex_exec() -> str:
    records: list[Any] = [{"type": "thread.started", "thread_id": "t1"}, {"type": "turn.started"}]
    for own, tool, given, said, failed in CALLS:
        item = {"id": own, "type": "mcp_tool_call", "server": "shop", "tool": tool, "arguments": given}
        outcome = (
            {"error": {"message": said}, "status": "failed"}
            if failed
            else {"result": {"content": [{"type": "text", "text": said}]}, "status": "completed"}
        )
        records += [
            {"type": "item.started", "item": {**item, "status": "in_progress"}},
            {"type": "item.completed", "item": {**item, **outcome}},
        ]
    return lines([*records, {"type": "turn.completed", "usage": {"input_tokens": 1}}])


def cline_native() -> Any:
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": f"<task>{TASK}</task>"}]}]
    for _, tool, given, said, failed in CALLS:
        arguments = "".join(f"<{name}>{value}</{name}>\n" for name, value in given.items())
        text = f"I look.\n<{tool}>\n{arguments}</{tool}>"
        answer = f"Error: <error>\n{said}\n</error>" if failed else said
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": text}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": f"[{tool} for 'x'] Result:\n{answer}\n<environment_details>\n</environment_details>",
                    }
                ],
            },
        ]
    return messages


def mini_swe_agent() -> Any:
    def step(command: str, code: int, output: str) -> list[Any]:
        said = f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"
        return [
            {"role": "assistant", "content": f"THOUGHT: go\n\n```bash\n{command}\n```"},
            {"role": "user", "content": said},
        ]

    messages = [{"role": "system", "content": "You are"}, {"role": "user", "content": TASK}]
    for _, tool, _, said, failed in CALLS:
        messages += step(tool, int(failed), said)
    return {
        "info": {"exit_status": "Submitted"},
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1",
    }


def autogen() -> Any:
    messages: list[Any] = [{"source": "user", "models_usage": None, "content": TASK, "type": "TextMessage"}]
    for own, tool, given, said, failed in CALLS:
        call = {"id": own, "arguments": json.dumps(given), "name": tool}
        result = {"content": said, "name": tool, "call_id": own, "is_error": failed}
        messages += [
            {"source": "shop", "models_usage": None, "content": [call], "type": "ToolCallRequestEvent"},
            {"source": "shop", "models_usage": None, "content": [result], "type": "ToolCallExecutionEvent"},
            {
                "source": "shop",
                "content": said,
                "type": "ToolCallSummaryMessage",
                "tool_calls": [call],
                "results": [result],
            },
        ]
    return {"messages": messages, "stop_reason": None}


def autogen_state() -> Any:
    messages: list[Any] = [{"content": TASK, "source": "user", "type": "UserMessage"}]
    for own, tool, given, said, failed in CALLS:
        call = {"id": own, "arguments": json.dumps(given), "name": tool}
        result = {"content": said, "name": tool, "call_id": own, "is_error": failed}
        messages += [
            {"content": [call], "thought": None, "source": "shop", "type": "AssistantMessage"},
            {"content": [result], "type": "FunctionExecutionResultMessage"},
        ]
    return {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": messages}}


def semantic_kernel(dotnet: bool) -> Any:
    messages: list[Any] = []
    for own, tool, given, said, failed in CALLS:
        said = f"Error: {said}" if failed else said
        if dotnet:
            call = {
                "$type": "FunctionCallContent",
                "Id": own,
                "PluginName": "shop",
                "FunctionName": tool,
                "Arguments": given,
            }
            result = {
                "$type": "FunctionResultContent",
                "CallId": own,
                "PluginName": "shop",
                "FunctionName": tool,
                "Result": said,
            }
            messages += [
                {"Role": {"Label": "assistant"}, "Items": [call]},
                {"Role": {"Label": "tool"}, "Items": [result]},
            ]
            continue
        named = {
            "name": f"shop-{tool}",
            "function_name": tool,
            "plugin_name": "shop",
            "id": own,
            "metadata": {},
        }
        call = {"content_type": "function_call", "index": 0, "arguments": json.dumps(given), **named}
        result = {"content_type": "function_result", "result": said, **named}
        messages += [
            {"content_type": "message", "role": "assistant", "items": [call]},
            {"content_type": "message", "role": "tool", "items": [result]},
        ]
    return messages if dotnet else {"messages": messages}


def llama_index(blocks: bool) -> Any:
    messages: list[Any] = [
        {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": TASK}]}
    ]
    for own, tool, given, said, failed in CALLS:
        said = f"Encountered error: {said}" if failed else said
        block = {"block_type": "tool_call", "tool_call_id": own, "tool_name": tool, "tool_kwargs": given}
        call = {"id": own, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        asked = (
            {"blocks": [block], "additional_kwargs": {}}
            if blocks
            else {"blocks": [], "additional_kwargs": {"tool_calls": [call]}}
        )
        messages += [
            {"role": "assistant", **asked},
            {
                "role": "tool",
                "additional_kwargs": {"tool_call_id": own, "name": tool},
                "blocks": [{"block_type": "text", "text": said}],
            },
        ]
    return {"store": {"user1": messages}}


def crewai_events() -> str:
    records: list[Any] = []
    for n, (_, tool, given, said, failed) in enumerate(CALLS):
        about = {
            "timestamp": STAMP.format(n),
            "tool_name": tool,
            "tool_args": given,
            "agent_role": "Clerk",
            "run_attempts": 1,
        }
        end = (
            {"type": "tool_usage_error", "error": said}
            if failed
            else {"type": "tool_usage_finished", "output": said}
        )
        records += [{"type": "tool_usage_started", **about}, {**end, **about}]
    return lines(records)


def react_text() -> Any:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for _, tool, given, said, failed in CALLS:
        answer = f"Error: {said}" if failed else said
        messages += [
            {
                "role": "assistant",
                "content": f"Thought: look\nAction: {tool}\nAction Input: {json.dumps(given)}",
            },
            {"role": "user", "content": f"Observation: {answer}"},
        ]
    return {"messages": [*messages, {"role": "assistant", "content": "Thought: done\nFinal Answer: shipped"}]}


def vercel_ui(version: int) -> Any:
    parts: list[Any] = []
    for own, tool, given, said, failed in CALLS:
        if version == 4:
            call = {
                "state": "result",
                "toolCallId": own,
                "toolName": tool,
                "args": given,
                "result": f"Error: {said}" if failed else said,
            }
            parts.append({"type": "tool-invocation", "toolInvocation": call})
            continue
        state = (
            {"state": "output-error", "errorText": said}
            if failed
            else {"state": "output-available", "output": json.loads(said)}
        )
        kind = {"type": f"tool-{tool}"} if version == 5 else {"type": "dynamic-tool", "toolName": tool}
        parts += [{"type": "step-start"}, {**kind, "toolCallId": own, "input": given, **state}]
    user = {"id": "u", "role": "user", "parts": [{"type": "text", "text": TASK}]}
    return [user, {"id": "a", "role": "assistant", "parts": [*parts, {"type": "text", "text": "shipped"}]}]


def adk_session() -> Any:
    events: list[Any] = [
        {
            "id": "e",
            "author": "user",
            "content": {"role": "user", "parts": [{"text": TASK}]},
            "timestamp": 1763632800.0,
        }
    ]
    for n, (own, tool, given, said, failed) in enumerate(CALLS, 1):
        response = {"error": said} if failed else {"result": said}
        events += [
            {
                "id": f"a{n}",
                "author": "shop",
                "timestamp": 1763632800.0 + n,
                "content": {
                    "role": "model",
                    "parts": [{"function_call": {"id": own, "name": tool, "args": given}}],
                },
            },
            {
                "id": f"r{n}",
                "author": "shop",
                "timestamp": 1763632800.5 + n,
                "content": {
                    "role": "user",
                    "parts": [{"function_response": {"id": own, "name": tool, "response": response}}],
                },
            },
        ]
    return {"id": "s1", "app_name": "shop", "user_id": "u1", "state": {}, "events": events}


def genai_exchange() -> str:
    contents: list[Any] = [{"role": "user", "parts": [{"text": TASK}]}]
    records = []
    for _, tool, given, said, failed in CALLS:
        call = {"role": "model", "parts": [{"functionCall": {"name": tool, "args": given}}]}
        records.append(
            {
                "request": {"contents": list(contents)},
                "response": {"candidates": [{"content": call, "finishReason": "STOP"}]},
            }
        )
        response = {"error": said} if failed else {"result": said}
        contents += [
            call,
            {"role": "user", "parts": [{"functionResponse": {"name": tool, "response": response}}]},
        ]
    final = {"role": "model", "parts": [{"text": "shipped"}]}
    records.append(
        {"request": {"contents": list(contents)}, "response": {"candidates": [{"content": final}]}}
    )
    return lines(records)


def sharegpt(style: str) -> Any:
    turns: list[Any] = [{"from": "human", "value": TASK}]
    for _, tool, given, said, failed in CALLS:
        call, said = json.dumps({"name": tool, "arguments": given}), f"Error: {said}" if failed else said
        if style == "hermes":
            turns += [
                {"from": "gpt", "value": f"<tool_call>\n{call}\n</tool_call>"},
                {"from": "tool", "value": f"<tool_response>\n{said}\n</tool_response>"},
            ]
        else:
            turns += [{"from": "function_call", "value": call}, {"from": "observation", "value": said}]
    return [{"conversations": [*turns, {"from": "gpt", "value": "shipped"}], "tools": "[]"}]


def assistants_steps() -> Any:
    def step(n: int, own: str, tool: str, given: Any, said: str, failed: bool) -> Any:
        function = {
            "name": tool,
            "arguments": json.dumps(given),
            "output": f"Error: {said}" if failed else said,
        }
        details = {
            "type": "tool_calls",
            "tool_calls": [{"id": own, "type": "function", "function": function}],
        }
        return {
            "id": f"step_{n}",
            "object": "thread.run.step",
            "created_at": 1763632800 + n,
            "run_id": "r",
            "thread_id": "t",
            "type": "tool_calls",
            "status": "completed",
            "step_details": details,
            "last_error": None,
        }

    steps = [step(n, *call) for n, call in enumerate(CALLS)]
    said = {**steps[0], "id": "step_9", "created_at": 1763632899, "type": "message_creation"}
    said["step_details"] = {"type": "message_creation", "message_creation": {"message_id": "m"}}
    return {"object": "list", "data": [said, *reversed(steps)], "has_more": False}


def browser_use() -> Any:
    history = [
        {
            "model_output": {
                "evaluation_previous_goal": "",
                "memory": "",
                "next_goal": "look",
                "action": [{tool: given}],
            },
            "result": [
                {"is_done": False, "error": said} if failed else {"is_done": False, "extracted_content": said}
            ],
            "state": {"url": "", "title": ""},
            "metadata": {
                "step_start_time": 1763632800.0 + n,
                "step_end_time": 1763632801.0 + n,
                "step_number": n + 1,
            },
        }
        for n, (_, tool, given, said, failed) in enumerate(CALLS)
    ]
    done = {
        "model_output": {"action": [{"done": {"text": "shipped", "success": True}}]},
        "result": [{"is_done": True}],
        "state": {},
    }
    return {"history": [*history, done]}


def agent_executor() -> Any:
    steps = [
        [
            {"tool": tool, "tool_input": given, "log": "I look", "type": "AgentActionMessageLog"},
            f"Error: {said}" if failed else said,
        ]
        for _, tool, given, said, failed in CALLS
    ]
    return {"input": TASK, "output": "shipped", "intermediate_steps": steps}


def mcp_proxy() -> str:
    records = []
    for n, (_, tool, given, said, failed) in enumerate(CALLS):
        request = {
            "jsonrpc": "2.0",
            "id": n,
            "method": "tools/call",
            "params": {"name": tool, "arguments": given},
        }
        answer = {"jsonrpc": "2.0", "id": n}
        if failed:
            answer["error"] = {"code": -32000, "message": said}  # type: ignore[assignment]
        else:
            answer["result"] = {"content": [{"type": "text", "text": said}]}  # type: ignore[assignment]
        records += [
            {"timestamp": STAMP.format(n), "direction": "client_to_server", "message": request},
            {"timestamp": STAMP.format(n), "direction": "server_to_client", "message": answer},
        ]
    return lines(records)


def bedrock_invocations() -> str:
    messages: list[Any] = [{"role": "user", "content": [{"text": TASK}]}]
    records = []
    for own, tool, given, said, failed in CALLS:
        call = {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": own, "name": tool, "input": given}}],
        }
        records.append(_invocation(messages, call))
        result = {"toolUseId": own, "content": [{"text": said}], "status": "error" if failed else "success"}
        messages += [call, {"role": "user", "content": [{"toolResult": result}]}]
    return lines([*records, _invocation(messages, {"role": "assistant", "content": [{"text": "shipped"}]})])


def _invocation(messages: list[Any], answer: Any) -> Any:
    body = {"output": {"message": answer}, "stopReason": "tool_use"}
    return {
        "schemaType": "ModelInvocationLog",
        "operation": "Converse",
        "requestId": str(len(messages)),
        "input": {"inputBodyJson": {"messages": list(messages)}},
        "output": {"outputBodyJson": body},
    }


def litellm(style: str) -> str:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    records = []
    for n, (own, tool, given, said, failed) in enumerate([*CALLS, ("", "", {}, "", False)]):
        call = {"id": own, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        answer = (
            {"role": "assistant", "content": None, "tool_calls": [call]}
            if own
            else {"role": "assistant", "content": "shipped"}
        )
        response = {
            "id": f"chatcmpl-{n}",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {**answer, "refusal": None}}],
        }
        sent = list(messages)
        records.append(
            {
                "litellm": {
                    "id": f"chatcmpl-{n}",
                    "call_type": "acompletion",
                    "messages": sent,
                    "response": response,
                    "status": "success",
                },
                "text": {
                    "request_id": n,
                    "messages": json.dumps(sent),
                    "response": json.dumps(response),
                    "startTime": STAMP.format(n),
                },
                "helicone": {
                    "request_id": f"r{n}",
                    "request_body": {"model": "m", "messages": sent},
                    "response_body": response,
                },
            }[style]
        )
        messages += [
            answer,
            {"role": "tool", "tool_call_id": own, "content": f"Error: {said}" if failed else said},
        ]
    return lines(records)


def anthropic_proxy() -> str:
    messages: list[Any] = [{"role": "user", "content": TASK}]
    records = []
    for own, tool, given, said, failed in CALLS:
        use = [{"type": "tool_use", "id": own, "name": tool, "input": given}]
        records.append(
            {
                "request": {"model": "claude", "messages": list(messages)},
                "response": {"id": f"msg_{own}", "type": "message", "role": "assistant", "content": use},
            }
        )
        result = {"type": "tool_result", "tool_use_id": own, "content": said, "is_error": failed}
        messages += [{"role": "assistant", "content": use}, {"role": "user", "content": [result]}]
    return lines(records) + lines(
        [
            {
                "request": {"messages": messages},
                "response": {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "shipped"}],
                },
            }
        ]
    )


def langgraph_history() -> Any:
    messages: list[Any] = [{"type": "human", "content": TASK, "id": "h"}]
    states = []
    for own, tool, given, said, failed in CALLS:
        messages.append(
            {
                "type": "ai",
                "content": "",
                "id": f"a{own}",
                "tool_calls": [{"name": tool, "args": given, "id": own}],
            }
        )
        states.append(list(messages))
        messages.append(
            {
                "type": "tool",
                "content": said,
                "tool_call_id": own,
                "name": tool,
                "status": "error" if failed else "success",
            }
        )
        states.append(list(messages))
    return [
        {
            "values": {"messages": state},
            "next": [],
            "checkpoint": {"thread_id": "t1", "checkpoint_id": str(n)},
            "metadata": {"step": n},
        }
        for n, state in reversed(list(enumerate(states)))
    ]


# ---- platforms


def _seconds(n: int) -> int:
    return 1763632800 + 2 * n


def langfuse_page() -> Any:
    observations = [
        {
            "id": f"o{own}",
            "trace_id": "t1",
            "type": "TOOL",
            "name": tool,
            "start_time": STAMP.format(n),
            "end_time": STAMP.format(n),
            "input": given,
            "output": None if failed else said,
            "level": "ERROR" if failed else "DEFAULT",
            "status_message": said if failed else None,
            "parent_observation_id": "p",
        }
        for n, (own, tool, given, said, failed) in enumerate(CALLS)
    ]
    agent = {
        "id": "p",
        "trace_id": "t1",
        "type": "AGENT",
        "name": "agent",
        "start_time": STAMP.format(0),
        "level": "DEFAULT",
    }
    return {
        "data": [agent, *observations],
        "meta": {"page": 1, "limit": 50, "totalItems": 4, "totalPages": 1},
    }


def datadog_export() -> Any:
    return {
        "data": [
            {
                "id": own,
                "type": "span",
                "attributes": {
                    "name": tool,
                    "span_id": own,
                    "trace_id": "t1",
                    "parent_id": "p",
                    "span_kind": "tool",
                    "ml_app": "shop",
                    "start_ms": _seconds(n) * 1000,
                    "duration": 1e9,
                    "status": "error" if failed else "ok",
                    "input": {"value": json.dumps(given)},
                    "output": {} if failed else {"value": said},
                    **({"error": {"message": said, "type": "PermissionError"}} if failed else {}),
                },
            }
            for n, (own, tool, given, said, failed) in enumerate(CALLS)
        ]
    }


def datadog_nested() -> Any:
    return {
        "ml_app": "shop",
        "spans": [
            {
                "name": tool,
                "span_id": own,
                "trace_id": "t1",
                "parent_id": "p",
                "start_ns": _seconds(n) * 10**9,
                "duration": 10**9,
                "status": "error" if failed else "ok",
                "meta": {
                    "span": {"kind": "tool"},
                    "input": {"value": json.dumps(given)},
                    "output": {"value": "" if failed else said},
                    **({"error": {"message": said, "type": "PermissionError"}} if failed else {}),
                },
            }
            for n, (own, tool, given, said, failed) in enumerate(CALLS)
        ],
    }


def weave_calls() -> str:
    base = {"project_id": "team/shop", "trace_id": "t1", "attributes": {"kind": "tool"}}
    root = {
        **base,
        "id": "r",
        "parent_id": None,
        "op_name": "weave:///team/shop/op/agent:aa",
        "attributes": {"kind": "agent"},
        "inputs": {},
        "output": "shipped",
        "started_at": STAMP.format(0),
        "ended_at": STAMP.format(9),
    }
    return lines(
        [
            root,
            *(
                {
                    **base,
                    "id": own,
                    "parent_id": "r",
                    "op_name": f"weave:///team/shop/op/{tool}:0a1b",
                    "started_at": STAMP.format(n),
                    "ended_at": STAMP.format(n),
                    "inputs": given,
                    "output": None if failed else said,
                    "exception": said if failed else None,
                    "summary": {"status_counts": {"success": 0, "error": 1}},
                }
                for n, (own, tool, given, said, failed) in enumerate(CALLS)
            ),
        ]
    )


def mlflow_v3() -> Any:
    spans = [
        {
            "trace_id": "abc=",
            "span_id": own,
            "parent_span_id": "p",
            "name": tool,
            "start_time_unix_nano": _seconds(n) * 10**9,
            "end_time_unix_nano": _seconds(n) * 10**9 + 1,
            "events": [
                {
                    "name": "exception",
                    "time_unix_nano": 1,
                    "attributes": {
                        "exception.type": "PermissionError",
                        "exception.message": said,
                        "exception.stacktrace": "...",
                    },
                }
            ]
            if failed
            else [],
            "status": {"code": "STATUS_CODE_ERROR", "message": said}
            if failed
            else {"code": "STATUS_CODE_OK", "message": ""},
            "attributes": {
                "mlflow.spanType": '"TOOL"',
                "mlflow.spanInputs": json.dumps(given),
                **({} if failed else {"mlflow.spanOutputs": json.dumps(said)}),
            },
        }
        for n, (own, tool, given, said, failed) in enumerate(CALLS)
    ]
    return {"info": {"trace_id": "tr-1", "state": "ERROR"}, "data": {"spans": spans}}


def logfire_rows() -> str:
    return lines(
        [
            {
                "trace_id": "t1",
                "span_id": own,
                "parent_span_id": "p",
                "span_name": "running tool",
                "kind": "span",
                "level": "error" if failed else "info",
                "start_timestamp": STAMP.format(n),
                "end_timestamp": STAMP.format(n),
                "is_exception": failed,
                "otel_scope_name": "pydantic-ai",
                "exception_type": "PermissionError" if failed else None,
                "exception_message": said if failed else None,
                "otel_status_code": "ERROR" if failed else None,
                "otel_status_message": f"PermissionError: {said}" if failed else None,
                "attributes": json.dumps(
                    {
                        "gen_ai.tool.name": tool,
                        "gen_ai.tool.call.id": own,
                        "tool_arguments": json.dumps(given),
                        **({} if failed else {"tool_response": said}),
                    }
                ),
            }
            for n, (own, tool, given, said, failed) in enumerate(CALLS)
        ]
    )


def zipkin() -> Any:
    return [
        {
            "traceId": "t1",
            "id": own,
            "parentId": "p",
            "name": f"execute_tool {tool}",
            "timestamp": _seconds(n) * 10**6,
            "duration": 10,
            "localEndpoint": {"serviceName": "shop"},
            "tags": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.arguments": json.dumps(given),
                **(
                    {"error": said, "otel.status_code": "ERROR"}
                    if failed
                    else {"gen_ai.tool.call.result": said}
                ),
            },
        }
        for n, (own, tool, given, said, failed) in enumerate(CALLS)
    ]


def phoenix_page() -> Any:
    return {
        "data": [
            {
                "id": own,
                "name": tool,
                "context": {"trace_id": "t1", "span_id": own},
                "span_kind": "TOOL",
                "parent_id": "p",
                "start_time": STAMP.format(n),
                "end_time": STAMP.format(n),
                "status_code": "ERROR" if failed else "OK",
                "status_message": said if failed else "",
                "attributes": {
                    "openinference.span.kind": "TOOL",
                    "tool.name": tool,
                    "input.value": json.dumps(given),
                    **({} if failed else {"output.value": said}),
                },
                "events": [],
            }
            for n, (own, tool, given, said, failed) in enumerate(CALLS)
        ],
        "next_cursor": None,
    }


def braintrust() -> str:
    return lines(
        [
            {
                "id": own,
                "span_id": own,
                "root_span_id": "t1",
                "span_parents": ["p"],
                "span_attributes": {"type": "tool", "name": tool},
                "input": given,
                "output": None if failed else said,
                "error": said if failed else None,
                "metrics": {"start": _seconds(n), "end": _seconds(n) + 1},
            }
            for n, (own, tool, given, said, failed) in enumerate(CALLS)
        ]
    )


def n8n_execution() -> Any:
    runs: dict[str, list[Any]] = {
        "Agent": [
            {
                "startTime": 1763632800000,
                "executionTime": 90,
                "executionStatus": "success",
                "data": {"main": [[]]},
            }
        ]
    }
    for n, (_, tool, given, said, failed) in enumerate(CALLS):
        run = {
            "startTime": _seconds(n) * 1000,
            "executionTime": 5,
            "executionStatus": "error" if failed else "success",
            "source": [{"previousNode": "Agent"}],
            "inputOverride": {"ai_tool": [[{"json": {"query": given}}]]},
            **(
                {"error": {"message": said, "name": "NodeApiError"}}
                if failed
                else {"data": {"ai_tool": [[{"json": {"response": said}}]]}}
            ),
        }
        runs.setdefault(tool, []).append(run)
    return {
        "id": "77",
        "finished": True,
        "mode": "chat",
        "data": {"resultData": {"runData": runs}},
        "workflowData": {"name": "Shop"},
    }


def inspect_log() -> Any:
    messages: list[Any] = [{"id": "u", "role": "user", "content": TASK}]
    for own, tool, given, said, failed in CALLS:
        error = {"type": "permission", "message": said} if failed else None
        messages += [
            {
                "id": f"a{own}",
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "tool_calls": [{"id": own, "function": tool, "arguments": given, "type": "function"}],
                "model": "m",
            },
            {
                "id": f"t{own}",
                "role": "tool",
                "content": "" if failed else said,
                "tool_call_id": own,
                "function": tool,
                "error": error,
            },
        ]
    sample = {
        "id": "s1",
        "epoch": 1,
        "input": TASK,
        "target": "x",
        "messages": messages,
        "scores": {"match": {"value": "C"}},
    }
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "x", "created": STAMP.format(0)},
        "samples": [sample],
    }


PRODUCTS: dict[str, tuple[Any, str]] = {
    "Gemini CLI": (gemini_cli(), "gemini_cli"),
    "Copilot CLI": (copilot_cli(), "copilot_cli"),
    "OpenCode": (opencode(), "opencode"),
    "OpenHands": (openhands(), "openhands"),
    "OpenHands 1": (openhands_v1(), "openhands"),
    "Claude Code, stream-json": (claude_stream(), "claude_code"),
    "Codex, exec --json": (codex_exec(), "codex"),
    "Roo, XML tools": (cline_native(), "cline"),
    "mini-SWE-agent": (mini_swe_agent(), "swe_agent"),
    "AutoGen, a result": (autogen(), "autogen"),
    "AutoGen, a state": (autogen_state(), "autogen"),
    "Semantic Kernel": (semantic_kernel(False), "semantic_kernel"),
    "Semantic Kernel, .NET": (semantic_kernel(True), "semantic_kernel"),
    "LlamaIndex, blocks": (llama_index(True), "llama_index"),
    "LlamaIndex, kwargs": (llama_index(False), "llama_index"),
    "CrewAI, events": (crewai_events(), "crewai"),
    "ReAct": (react_text(), "openai_chat"),
    "AI SDK 4, UI": (vercel_ui(4), "vercel_ai"),
    "AI SDK 5, UI": (vercel_ui(5), "vercel_ai"),
    "AI SDK 6, UI, dynamic": (vercel_ui(6), "vercel_ai"),
    "ADK": (adk_session(), "google"),
    "Gemini API, exchanges": (genai_exchange(), "google"),
    "Hermes": (sharegpt("hermes"), "sharegpt"),
    "ShareGPT": (sharegpt("plain"), "sharegpt"),
    "Assistants, run steps": (assistants_steps(), "openai_assistants"),
    "browser-use": (browser_use(), "browser_use"),
    "LangChain, intermediate steps": (agent_executor(), "agent_executor"),
    "MCP, a proxy": (mcp_proxy(), "mcp"),
    "Bedrock, invocation log": (bedrock_invocations(), "bedrock"),
    "LiteLLM": (litellm("litellm"), "openai_chat"),
    "LiteLLM, texts": (litellm("text"), "openai_chat"),
    "Helicone": (litellm("helicone"), "openai_chat"),
    "Anthropic, exchanges": (anthropic_proxy(), "anthropic"),
    "LangGraph, history": (langgraph_history(), "langchain"),
    "Langfuse, a page": (langfuse_page(), "langfuse"),
    "Datadog, export": (datadog_export(), "datadog"),
    "Datadog, nested": (datadog_nested(), "datadog"),
    "Weave": (weave_calls(), "weave"),
    "MLflow 3": (mlflow_v3(), "mlflow"),
    "Logfire": (logfire_rows(), "logfire"),
    "Zipkin": (zipkin(), "otel"),
    "Phoenix, a page": (phoenix_page(), "openinference"),
    "Braintrust": (braintrust(), "braintrust"),
    "n8n": (n8n_execution(), "n8n"),
    "inspect_ai": (inspect_log(), "inspect_ai"),
}
