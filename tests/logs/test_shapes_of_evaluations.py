"""Shapes found in what evaluations, recorders and streams of public repositories hold, once misread; values are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_samples import read, write

Story = list[tuple[str, dict[str, Any], Any, bool | None]]


def stories(folder: Path, log: Any) -> list[Story]:
    """Tool, arguments, result and flag of each call that was answered, by conversation."""
    conversations, skipped = read(write(folder / "log.json", log))
    assert not skipped
    return [
        [(c.call.tool, dict(c.call.arguments), c.result, c.is_error) for c in one.calls if c.answered]
        for one in conversations
    ]


@pytest.mark.parametrize(("code", "flag"), [(2, True), (0, None), (-1, None)])  # -1: it still runs
def test_openhands_keeps_exit_codes_in_the_metadata_of_its_extras(
    code: int, flag: bool | None, tmp_path: Path
) -> None:
    extras = {"command": "light hall", "metadata": {"exit_code": code, "pid": 7}}
    events = [
        {
            "id": 4,
            "source": "agent",
            "action": "run",
            "args": {"command": "light hall"},
            "message": "Running",
        },
        {"id": 5, "cause": 4, "observation": "run", "content": "oil", "extras": extras, "message": "Ran"},
    ]
    assert stories(tmp_path, events) == [[("run", {"command": "light hall"}, "oil", flag)]]


def test_calls_with_a_func_name_and_whether_they_went_well(tmp_path: Path) -> None:
    made = [
        {"func_name": "light", "arguments": {"room": "hall"}, "call_ok": False},
        {"func_name": "look", "arguments": {}, "call_ok": True},
    ]
    ((light, look),) = stories(tmp_path, made)
    assert (light[0], light[1], light[3]) == ("light", {"room": "hall"}, True)
    assert (look[0], look[3]) == ("look", False)


def test_messages_by_their_numbers(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "light", "arguments": "{}"}}
    runs = {"1": call, "2": {"role": "function", "name": "light", "content": "lit"}}
    assert stories(tmp_path, {"TestLamp": {"2026-08-14": runs}}) == [[("light", {}, "lit", None)]]


@pytest.mark.parametrize("number", ["", " 1"])
def test_actions_with_brackets_are_calls_where_something_is_observed(number: str, tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Where is the lamp?"},
        {"role": "assistant", "content": f"Thought{number}: I look.\n\nAction{number}: Search[lamp]"},
        {"role": "user", "content": f"Observation{number}: in the hall"},
        {"role": "assistant", "content": f"Thought{number}: done\nAction{number}: Finish[hall]"},
    ]
    assert stories(tmp_path, talk) == [[("Search", {"input": "lamp"}, "in the hall", None)]]
    advice = [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "Action: Click [7]"}]
    assert stories(tmp_path, advice) == [[]]


def test_pieces_that_langgraph_streams_with_their_metadata_are_one_conversation(tmp_path: Path) -> None:
    def piece(**said: Any) -> list[Any]:
        kwargs = {
            "content": "",
            "id": "m1",
            "tool_calls": [{"name": "", "args": {}}],
            "tool_call_chunks": [],
            **said,
        }
        message = {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain_core", "messages", "AIMessageChunk"],
            "kwargs": kwargs,
        }
        return [["agent:1"], [message, {"langgraph_node": "agent", "langgraph_step": 1}]]

    begun = {"name": "light", "args": "", "id": "c1", "index": 0}
    answer = {"type": "tool", "content": "lit", "tool_call_id": "c1", "name": "light"}
    stream = [
        piece(tool_call_chunks=[begun]),
        piece(tool_call_chunks=[{"args": '{"room": ', "index": 0}]),
        piece(tool_call_chunks=[{"args": '"hall"}', "index": 0}]),
        [["tools:2"], [answer, {"langgraph_node": "tools"}]],
        piece(content="It is lit", tool_calls=[]),
    ]
    assert stories(tmp_path, stream) == [[("light", {"room": "hall"}, "lit", None)]]


def test_events_that_are_summed_up_beside_the_event_itself(tmp_path: Path) -> None:
    used = {"type": "agent.tool_use", "id": "sevt_1", "name": "light", "input": {"room": "hall"}}
    came = {
        "type": "agent.tool_result",
        "tool_use_id": "sevt_1",
        "is_error": True,
        "content": [{"type": "text", "text": "no oil"}],
    }
    events = [
        {"role": "agent", "kind": "tool_use", "tool": "light", "content": '{"room": "hall"}', "raw": used},
        {"role": "agent", "kind": "tool_result", "content": "no oil", "raw": came},
    ]
    assert stories(tmp_path, events) == [[("light", {"room": "hall"}, "no oil", True)]]
    assert stories(tmp_path, [used, came]) == [[("light", {"room": "hall"}, "no oil", True)]]


def test_an_episode_of_an_action_and_its_result_says_why_it_failed(tmp_path: Path) -> None:
    failed = {
        "action": {"name": "light", "args": {"room": "hall"}},
        "result": {"status": "error", "reason": "no oil"},
    }
    pending = {"action": {"use_tool": {"name": "look", "arguments": {}}}, "result": None}
    log = {"agent_id": "a", "event_history": {"episodes": [failed, pending]}}
    assert stories(tmp_path, log) == [[("light", {"room": "hall"}, "no oil", True)]]


def test_a_page_of_events_of_a_managed_agents_session(tmp_path: Path) -> None:
    def event(kind: str, own: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "id": own, "processed_at": "2026-08-09T08:17:46Z", **more}

    lit = [{"type": "text", "text": "lit"}]
    page = [
        event("session.status_running", "sevt_0"),
        event("user.message", "sevt_1", content=[{"type": "text", "text": "Light it"}]),
        event("agent.custom_tool_use", "sevt_2", name="light", input={"room": "hall"}),
        event(
            "session.status_idle", "sevt_3", stop_reason={"type": "requires_action", "event_ids": ["sevt_2"]}
        ),
        event("user.custom_tool_result", "sevt_4", custom_tool_use_id="sevt_2", content=lit, is_error=False),
        event("agent.mcp_tool_use", "sevt_5", name="look", input={}, mcp_server_name="hall"),
        event("agent.mcp_tool_result", "sevt_6", mcp_tool_use_id="sevt_5", content=lit, is_error=True),
        event("agent.message", "sevt_7", content=lit),
    ]
    told = [("light", {"room": "hall"}, "lit", False), ("look", {}, "lit", True)]
    assert stories(tmp_path, {"data": page, "next_page": None}) == [told]
