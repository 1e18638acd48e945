"""Small logs of every format, written from the formats' public documentation. Each tells the same story:

two orders are read in one turn, of which the second is not found (an error that the tool handled); then an order is
cancelled, and the log ends before the answer.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from btm.logs.conversation import Conversation, RecordedCall, Skipped
from btm.logs.reading import read_conversations

FOUND = '{"order_id": "W1", "status": "pending"}'
MISSING = "Error: order not found"


def jsonl(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def write(path: Path, content: bytes | str | Any) -> Path:
    if isinstance(content, str):
        content = content.encode()
    elif not isinstance(content, bytes):
        content = json.dumps(content).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(*paths: Path | str, **options: Any) -> tuple[list[Conversation], list[Skipped]]:
    found = list(read_conversations(paths, **options))
    return [c for c in found if isinstance(c, Conversation)], [s for s in found if isinstance(s, Skipped)]


def read_one(path: Path, **options: Any) -> Conversation:
    conversations, skipped = read(path, **options)
    assert skipped == [], skipped
    assert len(conversations) == 1
    return conversations[0]


def story_of(conversation: Conversation) -> list[list[tuple[str, Any, Any]]]:
    """The turns as (tool, arguments, result)."""
    return [
        [(c.call.tool, dict(c.call.arguments), c.result) for c in batch] for batch in conversation.batches
    ]


def flags_of(conversation: Conversation) -> list[bool | None]:
    return [c.is_error for c in conversation.calls]


def last(conversation: Conversation) -> RecordedCall:
    return list(conversation.calls)[-1]


# ---- OpenAI


def openai_call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def openai_messages() -> list[dict[str, Any]]:
    calls = [openai_call(1, "get_order", order_id="W1"), openai_call(2, "get_order", order_id="W2")]
    return [
        {"role": "system", "content": "You are a clerk."},
        {"role": "user", "content": "Cancel my orders."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_2", "content": MISSING},
        {"role": "tool", "tool_call_id": "call_1", "content": FOUND},
        {"role": "assistant", "content": None, "tool_calls": [openai_call(3, "cancel_order", order_id="W1")]},
    ]


def responses_items() -> list[dict[str, Any]]:
    def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        given = json.dumps(arguments)
        return {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": tool,
            "arguments": given,
        }

    return [
        {"role": "user", "content": "Cancel my orders."},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        call(1, "get_order", order_id="W1"),
        call(2, "get_order", order_id="W2"),
        {"type": "function_call_output", "call_id": "call_1", "output": FOUND},
        {"type": "function_call_output", "call_id": "call_2", "output": MISSING},
        call(3, "cancel_order", order_id="W1"),
    ]


# ---- Anthropic


def anthropic_messages() -> list[dict[str, Any]]:
    def use(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}

    answers = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": FOUND}]},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": MISSING, "is_error": True},
    ]
    reading = [
        {"type": "text", "text": "Looking."},
        use(1, "get_order", order_id="W1"),
        use(2, "get_order", order_id="W2"),
    ]
    return [
        {"role": "user", "content": "Cancel my orders."},
        {"role": "assistant", "content": reading},
        {"role": "user", "content": answers},
        {"role": "assistant", "content": [use(3, "cancel_order", order_id="W1")]},
    ]


# ---- tau2


def tau2_file(simulations: int = 1) -> dict[str, Any]:
    def call(number: int, tool: str, requestor: str = "assistant", **arguments: Any) -> dict[str, Any]:
        return {"id": f"call_{number}", "name": tool, "arguments": arguments, "requestor": requestor}

    def answer(number: int, content: str, error: bool, requestor: str = "assistant") -> dict[str, Any]:
        return {
            "id": f"call_{number}",
            "role": "tool",
            "content": content,
            "requestor": requestor,
            "error": error,
        }

    reading = [call(1, "get_order", order_id="W1"), call(2, "get_order", order_id="W2")]
    messages = [
        {"role": "user", "content": None, "tool_calls": [call(9, "restart_phone", "user")]},
        answer(9, "restarted", False, "user"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": reading,
            "timestamp": "2025-08-01T16:20:50.283373",
        },
        {"role": "tool", "tool_messages": [answer(1, FOUND, False), answer(2, MISSING, True)]},
        {"role": "assistant", "content": None, "tool_calls": [call(3, "cancel_order", order_id="W1")]},
    ]
    return {
        "timestamp": "2025-08-01T16:20:43",
        "info": {"git_commit": "b02b509", "environment_info": {"domain_name": "retail"}},
        "tasks": [{"id": "0", "actions": [{"action_id": "0_0", "messages": []}]}],
        "simulations": [
            {
                "id": f"b762699f-cf72-4a2f-b500-5bbe125820{n:02}",
                "task_id": "0",
                "start_time": "2025-08-01T16:20:44",
                "reward_info": {"reward": 1.0},
                "messages": messages,
            }
            for n in range(simulations)
        ],
    }


# ---- LangSmith


def langsmith_runs(trace: str = "0198f1d2-0000-7000-8000-000000000000") -> list[dict[str, Any]]:
    """Runs as they are exported: the latest first, tools among chains and models."""

    def run(number: int, tool: str, start: str, end: str | None, **more: Any) -> dict[str, Any]:
        return {
            "id": f"{trace[:-1]}{number}",
            "trace_id": trace,
            "parent_run_id": trace,
            "name": tool,
            "run_type": "tool",
            "start_time": f"2025-08-01T16:20:{start}",
            "end_time": end and f"2025-08-01T16:20:{end}",
            "error": None,
            "extra": {"metadata": {"langgraph_node": "tools"}},
            **more,
        }

    def message(number: int, content: str, status: str) -> dict[str, Any]:
        return {"type": "tool", "tool_call_id": f"call_{number}", "content": content, "status": status}

    return [
        run(3, "cancel_order", "50.000000", None, inputs={"order_id": "W1"}, outputs=None),
        run(
            2,
            "get_order",
            "44.100000",
            "46.000000",
            inputs={"input": "{'order_id': 'W2'}"},
            outputs={"output": message(2, MISSING, "error")},
        ),
        run(
            1,
            "get_order",
            "44.000000",
            "45.000000",
            inputs={"input": "{'order_id': 'W1'}"},
            outputs={"output": message(1, FOUND, "success")},
        ),
        {
            "id": trace,
            "trace_id": trace,
            "name": "agent",
            "run_type": "chain",
            "inputs": {},
            "outputs": {},
            "error": None,
        },
    ]


# ---- spans


def attributes(**given: Any) -> list[dict[str, Any]]:
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in given.items()]


def otlp(trace: str = "5b8efff798038103d269b633813fc60c") -> dict[str, Any]:
    def span(
        number: int, tool: str, start: int, end: int | None, given: list[Any], **more: Any
    ) -> dict[str, Any]:
        named = attributes(gen_ai__operation__name="execute_tool", gen_ai__tool__name=tool)
        ended = {} if end is None else {"endTimeUnixNano": str(1_754_000_000_000_000_000 + end * 1_000_000)}
        return {
            "traceId": trace,
            "spanId": f"eee19b7ec3c1b17{number}",
            "parentSpanId": "eee19b7ec3c1b170",
            "name": f"execute_tool {tool}",
            "startTimeUnixNano": str(1_754_000_000_000_000_000 + start * 1_000_000),
            "attributes": named + given,
            "status": {},
            **ended,
            **more,
        }

    def arguments(number: int, order: str) -> list[Any]:
        given = attributes(gen_ai__tool__call__arguments=json.dumps({"order_id": order}))
        return [*given, *attributes(gen_ai__tool__call__id=f"call_{number}")]

    spans = [
        span(2, "get_order", 100, 900, arguments(2, "W2") + attributes(gen_ai__tool__call__result=MISSING)),
        span(1, "get_order", 0, 500, arguments(1, "W1") + attributes(gen_ai__tool__call__result=FOUND)),
        span(3, "cancel_order", 1_000, None, arguments(3, "W1")),
        {
            "traceId": trace,
            "spanId": "eee19b7ec3c1b170",
            "name": "invoke_agent",
            "attributes": [],
            "status": {},
        },
    ]
    return {
        "resourceSpans": [
            {"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "a"}, "spans": spans}]}
        ]
    }


def openinference_spans(trace: str = "5b8efff798038103d269b633813fc60c") -> list[dict[str, Any]]:
    def span(number: int, tool: str, start: str, end: str | None, **given: Any) -> dict[str, Any]:
        said = {key.replace("__", "."): value for key, value in given.items()}
        return {
            "name": tool,
            "context": {"trace_id": f"0x{trace}", "span_id": f"0xeee19b7ec3c1b17{number}"},
            "parent_id": "0xeee19b7ec3c1b170",
            "start_time": f"2025-08-01T16:20:{start}Z",
            "end_time": end and f"2025-08-01T16:20:{end}Z",
            "status": {"status_code": "OK"},
            "attributes": {"openinference.span.kind": "TOOL", "tool.name": tool, **said},
            "events": [],
        }

    handled = {"type": "tool", "tool_call_id": "call_2", "content": MISSING, "status": "error"}
    return [
        span(1, "get_order", "44.0", "45.0", input__value="{'order_id': 'W1'}", output__value=FOUND),
        span(
            2,
            "get_order",
            "44.1",
            "46.0",
            input__value='{"order_id": "W2"}',
            output__value=json.dumps(handled),
        ),
        span(3, "cancel_order", "50.0", None, input__value='{"order_id": "W1"}'),
    ]


# ---- failure trajectories


def trajectory(name: str = "t1") -> dict[str, Any]:
    def step(index: int, tool: str, order: str, response: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {
            "step_index": index,
            "tool_name": tool,
            "intent": f"work on {order}",
            "input_params": {"order_id": order},
            "response": {"status_code": 200, "error_code": None, "message": None, "body": None, **response},
            "failure_type": None,
            "failure_subtype": None,
            "agent_decision": {"action": "continue", "wait_seconds": 0, "params_delta": {}, "reasoning": ""},
            "decision_correctness": "correct",
            **more,
        }

    missing = {"status_code": 404, "error_code": "NOT_FOUND", "message": MISSING}
    return {
        "trajectory_id": name,
        "task_description": "cancel the orders",
        "final_outcome": "partial",
        "steps": [
            step(0, "get_order", "W1", {"body": FOUND}, turn=1),
            step(1, "get_order", "W2", missing, failure_type="parameter", failure_subtype="boundary", turn=1),
            step(2, "cancel_order", "W1", {"status_code": None}),
        ],
        "failure_summary": {
            "total_failures": 1,
            "failure_types": ["parameter/boundary"],
            "recovery_success": False,
        },
        "metadata": {
            "source": "authored",
            "annotator": "rule_based_v2",
            "human_verified": True,
            "domain": "retail",
        },
        "reviewed_by": "a person",
    }
