"""Shapes found in files that products' own repositories hold, each of which was once misread; the values are made up."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from log_samples import jsonl, read, write

from btm.logs import products
from btm.logs.conversation import Conversation


def calls_in(path: Path) -> list[tuple[str, Any, bool]]:
    """Name, result and whether it is flagged, of each call of every conversation."""
    return [
        (c.call.tool, c.result, bool(c.is_error)) for one in read(path)[0] for c in one.calls if c.answered
    ]


def lines(folder: Path, records: list[dict[str, Any]]) -> Path:
    return write(folder / "log.jsonl", jsonl(records))


def only(path: Path) -> Conversation:
    (found,) = read(path)[0]
    return found


def atif(steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    asked = {"step_id": 1, "source": "user", "message": "Fill the lamp"}
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s-1",
        "agent": {"name": "a"},
        "steps": [asked, *steps],
        **more,
    }


def step(number: int, *tools: str, **seen: Any) -> dict[str, Any]:
    calls = [
        {"tool_call_id": f"c{number}_{n}", "function_name": t, "arguments": {}} for n, t in enumerate(tools)
    ]
    return {
        "step_id": number,
        "source": "agent",
        "message": "On it",
        "tool_calls": calls,
        "observation": seen,
    }


def test_what_a_step_saw_answers_its_calls_in_order_where_it_names_none(tmp_path: Path) -> None:
    steps = [
        step(2, "pour", results=[{"content": "oil"}]),
        step(3, "light", "look", results=[{"content": "lit"}, {"content": "bright"}]),
    ]
    path = write(tmp_path / "t.json", json.dumps(atif(steps)))
    assert calls_in(path) == [("pour", "oil", False), ("light", "lit", False), ("look", "bright", False)]


def test_a_trajectory_of_another_kind_that_has_an_id_is_no_failure_trajectory(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.json",
        json.dumps(atif([step(2, "pour", results=[{"content": "oil"}])], trajectory_id="t-1")),
    )
    assert (only(path).format, calls_in(path)) == ("openai_chat", [("pour", "oil", False)])


def test_a_large_document_is_known_by_what_is_far_from_its_beginning(tmp_path: Path) -> None:
    steps = [step(2, "pour", results=[{"content": "oil"}])]
    path = write(tmp_path / "t.json", json.dumps({"notes": ["x" * 40] * 5_000, **atif(steps)}, indent=1))
    assert calls_in(path) == [("pour", "oil", False)]


def test_an_archive_of_one_long_sample_is_read(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "x" * 90_000}, {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "function": "pour", "arguments": {}, "type": "function"}]}]  # fmt: skip
    answer = {"role": "tool", "tool_call_id": "c1", "function": "pour", "content": "oil"}
    path = tmp_path / "one.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", '{"version": 3}')
        archive.writestr(
            "samples/1_epoch_1.json",
            json.dumps({"id": 1, "epoch": 1, "input": "x", "messages": [*said, answer]}),
        )
    assert (only(path).format, calls_in(path)) == ("inspect_ai", [("pour", "oil", False)])


def test_samples_are_read_where_they_lie_though_model_calls_stand_beside_them(tmp_path: Path) -> None:
    asked = [{"role": "user", "content": "Which oil?"}]
    said = {"role": "assistant", "content": "Lamp oil"}
    event = {
        "event": "model",
        "input": [{"role": "system", "content": "Be brief"}, *asked],
        "output": {"choices": [{"message": said}]},
    }
    sample = {"epoch": 1, "messages": [*asked, said], "events": [event]}
    path = write(
        tmp_path / "log.json", json.dumps({"eval": {}, "samples": [{"id": n, **sample} for n in range(3)]})
    )
    assert len(read(path)[0]) == 3


def test_a_tools_message_that_holds_its_call_is_both(tmp_path: Path) -> None:
    def line(**message: Any) -> dict[str, Any]:
        return {"sessionId": "s", "type": message["role"], "message": message}

    told = line(role="tool", tool_name="pour", tool_input='{"what": "oil"}', tool_output="poured")
    path = lines(
        tmp_path,
        [line(role="user", content="Fill it"), line(role="assistant", content="Yes"), told, told],
    )
    assert calls_in(path) == [("pour", "poured", False)] * 2
    assert [dict(c.call.arguments) for c in only(path).calls] == [{"what": "oil"}] * 2


@pytest.mark.parametrize(
    "text",
    [
        "Write it so:\n```tsx\n<head><title>Lamp</title></head>\n```",
        "The page is\n<head><title>Lamp</title></head>",
        "Run this yourself:\n```bash\nmake lamp\n```\nand tell me.",
    ],
)
def test_markup_and_commands_that_a_text_is_about_are_no_calls(tmp_path: Path, text: str) -> None:
    said = [
        {"role": "user", "content": "How?"},
        {"role": "assistant", "content": text},
        {"role": "user", "content": "Thanks"},
    ]
    assert only(lines(tmp_path, [{"messages": said}])).batches == ()


def test_a_call_as_json_text_in_a_part_is_a_call(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": [{"type": "text", "value": "Fill it"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_call", "value": '{"name": "pour", "arguments": {"what": "oil"}}'}],
        },
        {"role": "tool", "content": [{"type": "text", "value": "poured"}]},
    ]
    assert calls_in(lines(tmp_path, [{"messages": said}])) == [("pour", "poured", False)]


def test_a_state_that_tells_its_items_several_times_is_one_conversation(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "pour", "arguments": '{"what": "oil"}'}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "poured"}
    items = [{"type": "tool_call_item", "tool_name": "pour", "description": "", "raw_item": call},
             {"type": "tool_call_output_item", "output": "poured", "raw_item": answer}]  # fmt: skip
    state = {"$schemaVersion": "1", "generated_items": items, "last_model_response": {"output": [call]},
             "model_responses": [{"output": [call]}], "original_input": "Fill it"}  # fmt: skip
    path = write(tmp_path / "state.json", json.dumps(state))
    assert calls_in(path) == [("pour", "poured", False)]
    assert len(read(path)[0]) == 1


def test_the_chunks_of_a_ui_message_stream_are_one_call(tmp_path: Path) -> None:
    chunks = [
        {"type": "start", "messageId": "m"},
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "pour"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "{"},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "pour", "input": {"what": "oil"}},
        {"type": "tool-output-available", "toolCallId": "c1", "output": "poured"},
        {"type": "tool-input-available", "toolCallId": "c2", "toolName": "light", "input": {}},
        {"type": "tool-output-error", "toolCallId": "c2", "errorText": "no wick"},
        {
            "type": "tool-input-error",
            "toolCallId": "c3",
            "toolName": "look",
            "input": {},
            "errorText": "bad input",
        },
    ]
    path = lines(tmp_path, chunks)
    assert calls_in(path) == [
        ("pour", "poured", False),
        ("light", "no wick", True),
        ("look", "bad input", True),
    ]


def observation(own: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": own, "traceId": "t1", "name": name, "type": "SPAN", "level": "DEFAULT", "projectId": "p",
            "startTime": f"2031-01-01T00:00:0{own}Z", "parentObservationId": "0", **more}  # fmt: skip


def test_a_platforms_rows_made_of_spans_say_their_kind_in_the_attributes(tmp_path: Path) -> None:
    said = {"attributes": json.dumps({"gen_ai.tool.name": "pour", "openinference.span.kind": "TOOL"})}
    asked = [{"role": "user", "content": "Fill it"}]
    calls = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "function": {"name": "pour", "arguments": "{}"}}],
    }
    rows = [
        observation("1", "chat", input=json.dumps(asked), output=json.dumps(calls), metadata="{}"),
        observation("2", "tool.pour", input='{"what": "oil"}', output="poured", metadata=json.dumps(said)),
    ]
    path = write(tmp_path / "trace.json", json.dumps({"trace": {"id": "t1"}, "observations": rows}))
    assert calls_in(path) == [("pour", "poured", False)]


def test_a_record_that_gives_back_its_tools_message_is_the_tools_call(tmp_path: Path) -> None:
    message = {"type": "tool", "name": "pour", "tool_call_id": "c1", "content": "poured", "status": "success"}
    inside = {"messages": [message]}
    rows = [
        observation("1", "pour", input="{'what': 'oil'}", output=json.dumps(message)),
        observation("2", "tools", input="{}", output=json.dumps(inside)),
        observation("3", "agent", input=json.dumps(inside), output=json.dumps(message)),
    ]
    path = write(tmp_path / "trace.json", json.dumps({"trace": {"id": "t1"}, "observations": rows}))
    assert calls_in(path) == [("pour", "poured", False)]


def test_an_output_that_repeats_the_last_message_is_not_told_twice(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": "pour", "arguments": {"what": "oil"}}
    said = {"role": "assistant", "content": "", "id": "m1", "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "poured"}
    sample = {"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "Fill it"}, said, answer]}
    sample["output"] = {"choices": [{"message": said | {"id": "m2"}}]}
    path = write(tmp_path / "log.json", json.dumps({"eval": {}, "samples": [sample]}))
    assert [c.call.tool for c in only(path).calls] == ["pour"]


@pytest.mark.parametrize("named", [("assistant",), ("user",), ("system", "assistant")])
def test_messages_that_name_no_conversation_are_of_the_one_under_way(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    def turn(role: str, *content: dict[str, Any]) -> dict[str, Any]:
        message = {"type": role, "message": {"role": role, "content": [*content]}}
        return message | ({"session_id": "s-1"} if role in named else {})

    turns = [
        turn("user", {"type": "text", "text": "Fill it"}),
        turn("assistant", {"type": "tool_use", "id": "c1", "name": "pour", "input": {"what": "oil"}}),
        turn("user", {"type": "tool_result", "tool_use_id": "c1", "content": "poured"}),
    ]
    init = {"type": "system", "subtype": "init"} | ({"session_id": "s-1"} if "system" in named else {})
    path = write(tmp_path / "turns.json", json.dumps([init, *turns]))
    assert calls_in(path) == [("pour", "poured", False)]
    assert (only(path).conversation_id, only(path).orphans) == ("s-1", 0)


@pytest.mark.parametrize("kind", ["", "mcp_", "custom_"])
def test_the_events_of_managed_agents_name_their_calls_by_the_kind_of_tool(tmp_path: Path, kind: str) -> None:
    who = "user" if kind == "custom_" else "agent"
    events = [
        {"type": "user.message", "id": "e0", "content": [{"type": "text", "text": "Fill it"}]},
        {"type": f"agent.{kind}tool_use", "id": "e1", "name": "pour", "input": {"what": "oil"}},
        {"type": f"{who}.{kind}tool_result", "id": "e2", f"{kind}tool_use_id": "e1",
         "content": [{"type": "text", "text": "spilt"}], "is_error": True},
    ]  # fmt: skip
    assert calls_in(lines(tmp_path, events)) == [("pour", "spilt", True)]


def test_calls_that_name_their_tool_by_tool_id_as_gemini_cli_streams_them(tmp_path: Path) -> None:
    log = lines(
        tmp_path,
        [
            {"type": "init", "session_id": "s"},
            {"type": "message", "role": "user", "content": "Light it"},
            {"type": "tool_use", "tool_name": "light", "tool_id": "light-1", "parameters": {"room": "hall"}},
            {"type": "tool_result", "tool_id": "light-1", "status": "error", "output": "no oil",
             "error": {"type": "invalid_tool_params", "message": "no oil"}},
            {"type": "tool_use", "tool_name": "fill", "tool_id": "fill-2", "parameters": {}},
            {"type": "tool_result", "tool_id": "fill-2", "status": "success"},
        ],
    )  # fmt: skip
    assert [(c.call.tool, dict(c.call.arguments), c.is_error) for c in only(log).calls] == [
        ("light", {"room": "hall"}, True),
        ("fill", {}, False),
    ]


def test_steps_of_a_loop_with_an_action_and_its_input(tmp_path: Path) -> None:
    said = [
        {"event": "user_message", "text": "Light it", "session": "s"},
        {
            "event": "agent_step",
            "step": 1,
            "thought": "First",
            "action": "light",
            "action_input": {"room": "hall"},
        },
        {"event": "observation", "tool": "light", "observation": "no oil"},
        {"event": "agent_step", "step": 2, "action": "ask_user", "action_input": {"question": "Oil?"}},
    ]
    assert calls_in(lines(tmp_path, said)) == [("light", "no oil", False)]
    whole = {"thought": "First", "action": "light", "action_input": {"room": "hall"}, "observation": "no oil"}
    (call,) = only(write(tmp_path / "whole.json", {"steps": [whole]})).calls
    assert (call.call.tool, dict(call.call.arguments), call.result) == ("light", {"room": "hall"}, "no oil")


def test_a_text_that_is_a_call_and_nothing_else_is_one_where_a_result_follows(tmp_path: Path) -> None:
    def talk(answer: str) -> list[dict[str, Any]]:
        return [
            {"role": "user", "content": "Light it"},
            {"role": "assistant", "content": '{"tool_name": "light", "arguments": {"room": "hall"}}'},
            {"role": "user", "content": answer},
            {"role": "assistant", "content": '```json\n{"tool": "fill", "args": {}}\n```'},
            {"role": "user", "content": "Tool output: full"},
        ]

    log = write(tmp_path / "log.json", {"messages": talk('Result: {"error": "no oil"}')})
    assert calls_in(log) == [("light", '{"error": "no oil"}', False), ("fill", "full", False)]
    assert calls_in(write(tmp_path / "none.json", {"messages": talk("Thank you")})) == [
        ("fill", "full", False)
    ]


def test_lines_of_a_tool_with_how_it_ended_and_without_what_it_gave(tmp_path: Path) -> None:
    log = lines(
        tmp_path,
        [
            {"tool_name": "Light", "mission": "m", "duration_ms": 8.7, "success": True, "error": None},
            {
                "node": "retriever",
                "tool": "fill",
                "args": {"can": 1},
                "hits": 0,
                "elapsed_ms": 0.1,
                "error": "no oil",
            },
            {"node": "retriever", "tool": "fill", "args": {"can": 2}, "hits": 2, "elapsed_ms": 0.1},
            {"round": 4, "tool": "fill", "args": {"can": 3}},
        ],
    )
    assert [(c.call.tool, c.is_error, c.answered) for c in only(log).calls] == [
        ("Light", False, True),
        ("fill", True, True),
        ("fill", False, True),
        ("fill", None, False),
    ]


def test_self_contained_steps_that_are_logged_newest_first_are_read_oldest_first(tmp_path: Path) -> None:
    made = [
        {"tool": "light", "args": {"n": n}, "result": "lit", "timestamp": f"2026-11-20T10:00:0{n}Z"}
        for n in (3, 2, 1)
    ]
    assert [c.call.arguments["n"] for c in only(lines(tmp_path, made)).calls] == [1, 2, 3]


def test_answers_without_any_call_where_something_looks_like_calls_are_an_error(tmp_path: Path) -> None:
    odd = {"type": "step", "tool_use": {"q": "light"}}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "lit"}
    (skipped,) = read(lines(tmp_path, [odd, answer]))[1]
    assert skipped.lost


def test_lines_of_tools_go_by_their_runs_and_their_results_may_be_summed_up(tmp_path: Path) -> None:
    log = lines(
        tmp_path,
        [
            {"run_id": "r1", "tool": "read", "arguments": {"file": "a"}, "result_summary": "lamp"},
            {
                "run_id": "r2",
                "tool": "shell",
                "command": "ls /hall",
                "exit_code": 2,
                "stdout": "no such room",
            },
            {"run_id": "r1", "tool": "read", "arguments": {"file": "b"}, "result_summary": "oil"},
        ],
    )
    told = [
        [(c.call.tool, dict(c.call.arguments), c.result, c.is_error) for c in one.calls]
        for one in read(log)[0]
    ]
    assert told == [
        [("read", {"file": "a"}, "lamp", None), ("read", {"file": "b"}, "oil", None)],
        [("shell", {"command": "ls /hall"}, "no such room", True)],
    ]


def test_a_message_with_one_call_in_an_object(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Light it", "tool_call": None},
        {"role": "assistant", "content": None, "tool_call": {"name": "light", "arguments": {"room": "hall"}}},
        {"role": "tool", "content": "lit", "tool_call": None},
    ]
    assert calls_in(write(tmp_path / "log.json", {"turns": talk})) == [("light", "lit", False)]


def test_spans_of_monocle_have_what_was_given_and_what_came_as_events(tmp_path: Path) -> None:
    attributes = {
        "span.type": "agentic.tool.invocation",
        "entity.1.name": "light",
        "entity.2.name": "Lamp agent",
    }
    events = [
        {"name": "data.input", "attributes": {"input": "{'room': 'hall'}"}},
        {"name": "data.output", "attributes": {"response": "lit"}},
    ]
    span = {
        "name": "FunctionTool.invoke", "context": {"trace_id": "a" * 32, "span_id": "b" * 16}, "attributes": attributes,
        "start_time": "2026-02-27T15:10:02Z", "end_time": "2026-02-27T15:10:03Z", "events": events,
    }  # fmt: skip
    (call,) = only(write(tmp_path / "log.json", [span])).calls
    assert (call.call.tool, dict(call.call.arguments), call.result) == ("light", {"room": "hall"}, "lit")


def test_an_empty_answer_stays_empty_whether_it_failed_or_not() -> None:
    assert [products.answer("a", content, failed=True)["content"] for content in ("", None)] == ["", None]
    assert products.answer("a", "", failed=False)["content"] == ""
    assert products.answer("a", None, failed="no such file")["content"] == "no such file"


def test_runs_in_which_nobody_answers_are_told_apart_though_they_begin_alike(tmp_path: Path) -> None:
    def step(tool: str) -> dict[str, Any]:
        made = {"id": tool, "type": "function", "function": {"name": tool, "arguments": "{}"}}
        return {"role": "assistant", "content": None, "tool_calls": [made]}

    runs = {"first": {"1": step("look")}, "second": {"1": step("look"), "2": step("take")}}
    conversations, _ = read(write(tmp_path / "runs.json", json.dumps(runs)))
    assert sorted([one.call.tool for one in c.calls] for c in conversations) == [["look"], ["look", "take"]]
