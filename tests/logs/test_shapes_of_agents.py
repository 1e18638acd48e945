"""Shapes found in sessions of coding agents that public repositories hold, each once misread; the values are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from log_samples import jsonl, read, write

LAMP = {"room": "hall"}


def told(path: Path) -> list[tuple[str, dict[str, Any], Any, bool | None]]:
    """Name, arguments, result and flag of each call of the log's only conversation."""
    (found,) = read(path)[0]
    return [(c.call.tool, dict(c.call.arguments), c.result, c.is_error) for c in found.calls]


def lines(folder: Path, *records: dict[str, Any]) -> Path:
    return write(folder / "log.jsonl", jsonl([*records]))


def test_a_call_is_told_by_the_event_that_begins_it(tmp_path: Path) -> None:
    begun = {"toolCallId": "tc-1", "toolName": "light", "arguments": LAMP}
    ended = {"toolCallId": "tc-1", "success": True, "result": {"content": "lit"}}
    log = lines(
        tmp_path,
        {"type": "session.start", "id": "e0", "data": {"sessionId": "s"}},
        {"type": "assistant.message", "id": "e1", "data": {"content": "I light the lamp."}},
        {"type": "tool.execution_start", "id": "e2", "data": begun},
        {"type": "tool.execution_complete", "id": "e3", "data": ended},
    )
    assert told(log) == [("light", LAMP, "lit", None)]


def test_an_answer_logged_before_its_call_is_its_answer(tmp_path: Path) -> None:
    asked = {"type": "tool_use", "id": "toolu_0123456789ab", "name": "Light", "input": LAMP}
    answer = {
        "type": "tool_result",
        "tool_use_id": "toolu_0123456789ab",
        "content": "no oil",
        "is_error": True,
    }
    log = lines(
        tmp_path,
        {"type": "user", "sessionId": "s", "parentUuid": "b", "uuid": "a",
         "message": {"role": "user", "content": [answer]}},
        {"type": "assistant", "sessionId": "s", "parentUuid": None, "uuid": "b",
         "message": {"role": "assistant", "content": [asked]}},
    )  # fmt: skip
    assert told(log) == [("Light", LAMP, "no oil", True)]
    assert read(log)[0][0].orphans == 0


def test_an_answer_with_an_id_goes_to_the_call_that_has_none(tmp_path: Path) -> None:
    log = lines(
        tmp_path,
        {"role": "user", "message": {"content": [{"type": "text", "text": "Light it"}]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Light", "input": LAMP}]}},
        {
            "role": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "lit"}]},
        },
    )
    assert told(log) == [("Light", LAMP, "lit", None)]


def test_steps_without_ids_are_answered_by_those_that_follow(tmp_path: Path) -> None:
    def step(number: int, kind: str, source: str = "MODEL", **more: Any) -> dict[str, Any]:
        return {"step_index": number, "source": source, "type": kind, "status": "DONE", **more}

    asked = [{"name": "light", "args": {"room": '"hall"', "toolSummary": '"Lighting"'}}]
    log = lines(
        tmp_path,
        step(0, "USER_INPUT", "USER_EXPLICIT", content="Light it"),
        step(1, "PLANNER_RESPONSE", thinking="Where?", tool_calls=asked),
        {**step(2, "RUN_COMMAND", content="no oil"), "status": "ERROR"},
        step(3, "PLANNER_RESPONSE", tool_calls=asked),
        step(4, "RUN_COMMAND", content="lit"),
        step(5, "PLANNER_RESPONSE", content="Done."),
    )
    given = {"room": "hall", "toolSummary": "Lighting"}
    assert told(log) == [("light", given, "no oil", True), ("light", given, "lit", None)]


def test_a_chat_is_what_its_changes_lead_to(tmp_path: Path) -> None:
    call = {"id": "c1", "name": "light", "arguments": json.dumps(LAMP)}
    rounds = {"toolCallRounds": [{"response": "On it", "toolCalls": [call]}]}
    results = {"toolCallResults": {"c1": {"content": [{"value": "lit"}]}}}
    log = lines(
        tmp_path,
        {"kind": 0, "v": {"sessionId": "s", "responderUsername": "", "requests": []}},
        {"kind": 1, "k": ["responderUsername"], "v": "GitHub Copilot"},
        {
            "kind": 2,
            "k": ["requests"],
            "v": [{"requestId": "r1", "message": {"text": "Light it"}, "response": [1, 2]}],
        },
        {"kind": 2, "k": ["requests", 0, "response"], "v": [], "i": 1},
        {"kind": 1, "k": ["requests", 0, "result"], "v": {"metadata": {**rounds, **results}}},
    )
    assert told(log) == [("light", LAMP, "lit", None)]
    assert read(log)[0][0].format == "copilot_chat"


def test_changes_that_lead_nowhere_are_said(tmp_path: Path) -> None:
    log = lines(tmp_path, {"kind": 0, "v": {"requests": []}}, {"kind": 1, "k": ["requests", 3, "x"], "v": 1})
    assert ["cannot be followed" in str(skipped) for skipped in read(log)[1]] == [True]


def test_events_that_tell_calls_count_where_others_hold_the_models_messages(tmp_path: Path) -> None:
    before = [{"role": "system", "content": "You light lamps."}, {"role": "user", "content": "Light it"}]
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "name": "light", "arguments": LAMP}],
    }
    about = {"tool_name": "light", "tool_args": json.dumps(LAMP), "agent_id": "a"}
    log = lines(
        tmp_path,
        {"type": "llm_call_started", "messages": before},
        {"type": "tool_usage_started", **about},
        {"type": "tool_usage_finished", **about, "output": "lit"},
        {
            "type": "llm_call_started",
            "messages": [*before, asked, {"role": "tool", "tool_call_id": "c1", "content": "lit"}],
        },
    )
    assert told(log) == [("light", LAMP, "lit", None)]


@pytest.mark.parametrize("around", ["part", "value", "data"])
def test_a_call_says_itself_what_it_is_under_any_wrapping(tmp_path: Path, around: str) -> None:
    asked = {"type": "function_call", "call_id": "c1", "name": "light", "arguments": json.dumps(LAMP)}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "lit"}
    log = lines(
        tmp_path,
        {"type": "invoke", "from": {"role": "bot"}, "recipient": {"role": "user"}, around: asked},
        {"type": "event", "from": {"role": "user"}, "recipient": {"role": "bot"}, around: answer},
    )
    assert told(log) == [("light", LAMP, "lit", None)]


def test_a_part_that_goes_on_is_one_call(tmp_path: Path) -> None:
    def update(**state: Any) -> dict[str, Any]:
        part = {"type": "tool", "callID": "c1", "tool": "light", "sessionID": "s", "state": state}
        return {"type": "message.part.updated.1", "data": {"sessionID": "s", "part": part}}

    log = lines(
        tmp_path,
        {"type": "session.created.1", "data": {"info": {"id": "s"}}},
        update(status="pending", input={}),
        update(status="running", input=LAMP),
        update(status="completed", input=LAMP, output="lit"),
    )
    assert told(log) == [("light", LAMP, "lit", None)]


def test_parameters_are_a_calls_where_it_has_a_calls_id(tmp_path: Path) -> None:
    log = lines(
        tmp_path,
        {"type": "message", "session_id": "s", "role": "user", "text": "Light it"},
        {"type": "tool_call", "session_id": "s", "toolCallId": "c1", "toolName": "Shell", "parameters": LAMP},
        {
            "type": "tool_result",
            "session_id": "s",
            "toolCallId": "c1",
            "value": {"stdout": "lit", "exitCode": 0},
        },
    )
    ((tool, given, _, _),) = told(log)
    assert (tool, given) == ("Shell", LAMP)


def test_a_message_beside_what_a_tool_showed_holds_the_answer(tmp_path: Path) -> None:
    asked = {"functionCall": {"id": "c1", "name": "light", "args": LAMP}}
    answer = {"functionResponse": {"id": "c1", "name": "light", "response": {"output": "lit"}}}
    log = lines(
        tmp_path,
        {"uuid": "1", "sessionId": "s", "type": "assistant", "message": {"role": "model", "parts": [asked]}},
        {"uuid": "2", "sessionId": "s", "type": "tool_result", "message": {"role": "user", "parts": [answer]},
         "toolCallResult": {"callId": "c1", "status": "success"}},
    )  # fmt: skip
    assert told(log) == [("light", LAMP, "lit", None)]


@pytest.mark.parametrize(("success", "flag"), [(True, False), (False, True)])
def test_an_end_without_an_answer_says_how_it_ended(tmp_path: Path, success: bool, flag: bool) -> None:
    own = {"toolName": "exec", "sessionKey": "agent:main"}
    log = lines(
        tmp_path,
        {"type": "agent.start", "sessionKey": "agent:main", "prompt": "Light it"},
        {"type": "tool.start", **own, "params": LAMP},
        {"type": "tool.end", **own, "durationMs": 4, "success": success},
    )
    (found,) = read(log)[0]
    (call,) = found.calls
    assert (call.call.tool, call.answered, call.is_error) == ("exec", True, flag)


def test_calls_and_answers_may_lie_by_their_ids(tmp_path: Path) -> None:
    asked = {"method": "tools/call", "params": {"name": "light", "arguments": LAMP}}
    answer = {"content": [{"type": "text", "text": "no oil"}], "isError": True}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Light it"}]},
        {"role": "assistant", "content": [], "tool_calls": {"c1": asked}},
        {"role": "user", "content": [], "tool_results": {"c1": answer}},
    ]
    log = write(tmp_path / "log.json", json.dumps({"messages": messages}))
    assert told(log) == [("light", LAMP, "no oil", True)]


def test_the_result_of_an_execution_in_words_is_an_answer(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Light it"},
        {"role": "assistant", "content": "<function=light>\n<parameter=room>hall</parameter>\n</function>"},
        {"role": "user", "content": "EXECUTION RESULT of [light]:\nlit"},
    ]
    assert told(lines(tmp_path, {"messages": messages})) == [("light", LAMP, "lit", None)]


def test_records_may_follow_a_loggers_words(tmp_path: Path) -> None:
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "light", "arguments": LAMP},
    }
    answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no oil"}}
    words = "[2025-09-24T01:13:57Z] START server\n[2025-09-24T01:13:58Z] START server\n"
    wire = (
        f"[2025-09-24T01:14:00Z] >>> {json.dumps(asked)}\n[2025-09-24T01:14:01Z] <<< {json.dumps(answer)}\n"
    )
    ((tool, given, _, flag),) = told(write(tmp_path / "mcp.log", words * 3 + wire))
    assert (tool, given, flag) == ("light", LAMP, True)


def test_a_row_of_a_key_and_a_value_holds_what_its_value_says(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "light", "arguments": json.dumps(LAMP)}}
    messages = [
        {"role": "user", "content": "Light it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "lit"},
    ]
    log = lines(
        tmp_path, {"key": "/repo", "value": json.dumps({"conversation_id": "c", "history": messages})}
    )
    assert told(log) == [("light", LAMP, "lit", None)]


def test_scopes_of_tools_are_calls(tmp_path: Path) -> None:
    def scope(when: str, category: str, name: str, data: Any) -> dict[str, Any]:
        own = {"kind": "scope", "scope_category": when, "atof_version": "0.1", "category": category}
        return {**own, "uuid": f"{category}-1", "name": name, "data": data}

    asked = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "light", "input": LAMP}],
    }
    log = lines(
        tmp_path,
        scope("start", "llm", "model", {"messages": [{"role": "user", "content": "Light it"}]}),
        scope("end", "llm", "model", asked),
        scope("start", "tool", "light", LAMP),
        scope("end", "tool", "light", {"result": "lit"}),
    )
    assert [(tool, given) for tool, given, _, _ in told(log)] == [("light", LAMP)]


def test_a_span_with_a_tools_name_and_input_is_a_call(tmp_path: Path) -> None:
    def attribute(name: str, value: str) -> dict[str, Any]:
        return {"key": name, "value": {"stringValue": value}}

    span = {
        "traceId": "t" * 32, "spanId": "s" * 16, "name": "tool.call", "startTimeUnixNano": "1736935201000000000",
        "endTimeUnixNano": "1736935203000000000",
        "attributes": [attribute("tool.name", "light"), attribute("tool.input", json.dumps(LAMP))],
    }  # fmt: skip
    log = write(tmp_path / "log.json", json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    assert [(tool, given) for tool, given, _, _ in told(log)] == [("light", LAMP)]


def test_a_call_that_begins_with_fewer_arguments_than_were_asked_for_is_one(tmp_path: Path) -> None:
    asked = {"toolCallId": "call_1", "name": "bash", "arguments": {"command": "ls", "description": "List"}}
    log = lines(
        tmp_path,
        {"type": "assistant.message", "id": "e1", "data": {"content": "", "toolRequests": [asked]}},
        {"type": "tool.execution_start", "id": "e2",
         "data": {"toolCallId": "call_1", "toolName": "bash", "arguments": {"command": "ls"}}},
        {"type": "tool.execution_complete", "id": "e3",
         "data": {"toolCallId": "call_1", "success": True, "result": {"content": "a"}}},
    )  # fmt: skip
    assert told(log) == [("bash", asked["arguments"], "a", None)]


def test_a_memory_of_messages_beside_their_marks_is_a_conversation(tmp_path: Path) -> None:
    asked = {"type": "tool_use", "id": "c1", "name": "light", "input": LAMP}
    answer = {"type": "tool_result", "id": "c1", "name": "light", "output": [{"type": "text", "text": "lit"}]}
    content = [
        [{"id": "m1", "name": "user", "role": "user", "content": [{"type": "text", "text": "Light it"}]}, []],
        [{"id": "m2", "name": "Friday", "role": "assistant", "content": [asked]}, []],
        [{"id": "m3", "name": "system", "role": "system", "content": [answer]}, []],
    ]
    log = write(
        tmp_path / "log.json", json.dumps({"agent": {"memory": {"content": content}, "name": "Friday"}})
    )
    assert told(log) == [("light", LAMP, "lit", None)]


def test_a_function_that_is_traced_is_no_tool(tmp_path: Path) -> None:
    def span(own: str, name: str, kind: str) -> dict[str, Any]:
        about = {"span_id": own, "root_span_id": "r", "span_attributes": {"name": name, "type": kind}}
        return {**about, "id": own, "input": LAMP, "output": "lit"}

    log = lines(tmp_path, span("r", "generateText", "function"), span("t", "light", "tool"))
    assert told(log) == [("light", LAMP, "lit", None)]


def test_a_tool_its_arguments_and_its_result_in_one_are_a_call(tmp_path: Path) -> None:
    steps = [
        {"tool": "light", "params": LAMP, "result": {"ok": False, "error": "no oil"}},
        {"tool": "light", "params": LAMP, "result": {"ok": True, "lit": 1}},
    ]
    log = write(tmp_path / "log.json", json.dumps([{"goal": "Light it", "steps": steps, "result": None}]))
    assert [(tool, given) for tool, given, _, _ in told(log)] == [("light", LAMP)] * 2


def test_bodies_in_texts_of_an_invocation_log_are_opened(tmp_path: Path) -> None:
    def record(asked: list[Any], said: list[Any]) -> dict[str, Any]:
        output = {"output": {"message": {"content": said}}}
        bodies = {"input": {"inputBodyJson": json.dumps({"messages": asked})}}
        return {
            "schemaType": "ModelInvocationLog",
            **bodies,
            "output": {"outputBodyJson": json.dumps(output)},
        }

    user = {"role": "user", "content": [{"text": "Light it"}]}
    use = {"toolUse": {"toolUseId": "tu-1", "name": "light", "input": LAMP}}
    answer = {"toolResult": {"toolUseId": "tu-1", "status": "success", "content": [{"text": "lit"}]}}
    asked = [user, {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
    log = lines(tmp_path, record([user], [use]), record(asked, [{"text": "done"}]))
    assert told(log) == [("light", LAMP, "lit", None)]
