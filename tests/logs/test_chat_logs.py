from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, messages_to_dict
from log_samples import (
    FOUND,
    MISSING,
    anthropic_messages,
    flags_of,
    jsonl,
    last,
    openai_call,
    openai_messages,
    read,
    read_one,
    responses_items,
    story_of,
    tau2_file,
    write,
)

from btm.fallback import FallbackMap
from btm.logs.conversation import AS_GIVEN, NO_RESULT
from btm.logs.listening import Listener
from btm.model import Effect, ToolCall

STORY = [
    [("get_order", {"order_id": "W1"}, FOUND), ("get_order", {"order_id": "W2"}, MISSING)],
    [("cancel_order", {"order_id": "W1"}, NO_RESULT)],
]


def langchain_messages() -> list[BaseMessage]:
    reading = [
        {"name": "get_order", "args": {"order_id": "W1"}, "id": "call_1"},
        {"name": "get_order", "args": {"order_id": "W2"}, "id": "call_2"},
    ]
    return [
        HumanMessage("Cancel my orders."),
        AIMessage("", tool_calls=reading),
        ToolMessage(FOUND, tool_call_id="call_1"),
        ToolMessage(MISSING, tool_call_id="call_2", status="error"),
        AIMessage("", tool_calls=[{"name": "cancel_order", "args": {"order_id": "W1"}, "id": "call_3"}]),
    ]


def wrapped(form: str) -> Any:
    messages = langchain_messages()
    if form == "messages_to_dict":
        return messages_to_dict(messages)
    if form == "dumps":
        return json.loads(dumps(messages))
    return [message.model_dump() for message in messages]


LOGS: dict[str, tuple[Any, str]] = {
    "a line a conversation": (jsonl([{"messages": openai_messages(), "reward": 0.5}] * 2), "openai_chat"),
    "an array of conversations": (
        [{"messages": openai_messages()}, {"messages": openai_messages()}],
        "openai_chat",
    ),
    "an array of messages": (openai_messages(), "openai_chat"),
    "a line a message": (jsonl(openai_messages()), "openai_chat"),
    "arrays of messages, a line each": (jsonl([openai_messages(), openai_messages()]), "openai_chat"),
    "one conversation over many lines": (
        json.dumps({"messages": openai_messages()}, indent=2),
        "openai_chat",
    ),
    "tau-bench": ([{"task_id": 0, "reward": 1.0, "info": {}, "traj": openai_messages(), "trial": 0}], "tau1"),
    "tau2-bench": (tau2_file(), "tau2"),
    "a tau2 simulation": (tau2_file()["simulations"][0], "tau2"),
    "Responses items": (responses_items(), "openai_responses"),
    "a Responses request and response": (
        {"id": "r1", "object": "response", "input": responses_items()[:-1], "output": responses_items()[-1:]},
        "openai_responses",
    ),
    "Anthropic": ({"messages": anthropic_messages()}, "anthropic"),
    "a line a transcript entry": (
        jsonl({"type": m["role"], "sessionId": "s1", "message": m} for m in anthropic_messages()),
        "anthropic",
    ),
    "LangChain messages_to_dict": (wrapped("messages_to_dict"), "langchain"),
    "LangChain dumps": (wrapped("dumps"), "langchain"),
    "LangChain model_dump": (wrapped("model_dump"), "langchain"),
    "a LangGraph state": ({"messages": wrapped("dumps"), "thread_id": "t"}, "langchain"),
}


@pytest.mark.parametrize(("content", "format_name"), LOGS.values(), ids=LOGS)
def test_every_form_of_chat_log_tells_the_same_story(content: Any, format_name: str, tmp_path: Path) -> None:
    conversations, skipped = read(write(tmp_path / "log", content))
    assert skipped == []
    assert conversations
    for conversation in conversations:
        assert conversation.format == format_name
        assert story_of(conversation) == STORY
        assert not last(conversation).answered
        assert {c.call.conversation for c in conversation.calls} == {conversation.conversation_id}


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("a line a conversation", [None, None, None]),
        ("tau-bench", [None, None, None]),
        ("tau2-bench", [False, True, None]),
        ("Responses items", [None, None, None]),
        ("Anthropic", [None, True, None]),
        ("LangChain dumps", [None, True, None]),
    ],
)
def test_an_error_flag_is_kept_only_where_the_format_has_one(
    name: str, flags: list[Any], tmp_path: Path
) -> None:
    assert flags_of(read(write(tmp_path / "log", LOGS[name][0]))[0][0]) == flags


def test_what_a_record_says_of_the_conversation_is_kept(tmp_path: Path) -> None:
    conversation = read_one(write(tmp_path / "log.json", tau2_file()))
    assert conversation.conversation_id == "b762699f-cf72-4a2f-b500-5bbe12582000"
    assert conversation.source == f"{tmp_path / 'log.json'}#0"
    assert conversation.reward == 1.0
    assert conversation.started_at == 1754065244.0
    first, second, third = (c.call.at for c in conversation.calls)
    assert first == second == pytest.approx(1754065250.283373)
    assert third == first + 1.0  # a call without a time follows the one before it


def test_the_users_own_calls_in_tau2_are_left_out(tmp_path: Path) -> None:
    assert "restart_phone" not in {c.call.tool for c in read_one(write(tmp_path / "log", tau2_file())).calls}


def test_calls_without_times_are_in_order_from_zero_on(tmp_path: Path) -> None:
    conversation = read_one(write(tmp_path / "log", {"messages": openai_messages()}))
    assert [c.call.at for c in conversation.calls] == [0.0, 1.0, 2.0]


def test_effects_are_left_to_the_map(tmp_path: Path) -> None:
    assert {c.call.effect for c in read_one(write(tmp_path / "log", openai_messages())).calls} == {
        Effect.READ
    }


def test_a_conversation_keeps_its_digest_whatever_its_file(tmp_path: Path) -> None:
    line = json.dumps({"messages": openai_messages()}).encode()
    paths = [
        write(tmp_path / "a.jsonl", line + b"\n" + line + b"\n"),
        write(tmp_path / "b.jsonl.gz", line + b"\r\n" + line + b"\r\n"),
        write(tmp_path / "c", b"[" + line + b", " + line + b"]"),
        write(tmp_path / "d", line),
    ]
    assert len({conversation.digest for conversation in read(*paths)[0]}) == 1
    other = read_one(write(tmp_path / "e", line.replace(b"W1", b"W3")))
    assert other.digest != read_one(tmp_path / "d").digest


def test_an_id_that_may_come_up_elsewhere_is_completed_by_the_content(tmp_path: Path) -> None:
    one, two = ({"task_id": 3, "messages": openai_messages(), "trial": trial} for trial in (0, 1))
    first, second = read(write(tmp_path / "log", jsonl([one, two])))[0]
    assert first.conversation_id.startswith("3@")
    assert first.conversation_id != second.conversation_id
    named = read_one(write(tmp_path / "named", {"trace_id": "ic#5", "messages": openai_messages()}))
    assert named.conversation_id == "ic#5"


def test_arguments_in_every_form_are_understood_or_kept_as_given(tmp_path: Path) -> None:
    forms: list[tuple[Any, Any]] = [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("", {}),
        (None, {}),
        ('{"a": NaN}', None),
        ('{"a": 1', {AS_GIVEN: '{"a": 1'}),
        ("[1, 2]", {AS_GIVEN: "[1, 2]"}),
        ([1, 2], {AS_GIVEN: [1, 2]}),
    ]
    calls = [
        {"id": f"c{n}", "function": {"name": "f", "arguments": given}} for n, (given, _) in enumerate(forms)
    ]
    conversation = read_one(write(tmp_path / "log", [{"role": "assistant", "tool_calls": calls}]))
    for recorded, (_, expected) in zip(conversation.calls, forms, strict=True):
        if expected is None:
            assert recorded.call.arguments["a"] != recorded.call.arguments["a"]  # NaN
        else:
            assert recorded.call.arguments == expected


def test_the_older_function_call_form_is_read(tmp_path: Path) -> None:
    messages = [
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "get_order", "arguments": '{"order_id": "W1"}'},
        },
        {"role": "function", "name": "get_order", "content": FOUND},
    ]
    assert story_of(read_one(write(tmp_path / "log", messages))) == [STORY[0][:1]]


def test_a_custom_tool_is_read(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "run_sql", "input": "select 1"}}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    assert story_of(read_one(write(tmp_path / "log", messages))) == [
        [("run_sql", {AS_GIVEN: "select 1"}, "1")]
    ]


def test_a_call_id_that_comes_up_again_names_another_call(tmp_path: Path) -> None:
    turn = [
        {"role": "assistant", "tool_calls": [openai_call(0, "get_order", order_id="W1")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "first"},
        {"role": "assistant", "tool_calls": [openai_call(0, "get_order", order_id="W1")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "second"},
    ]
    conversation = read_one(write(tmp_path / "log", turn))
    assert [c.result for c in conversation.calls] == ["first", "second"]
    assert [c.call.call_id for c in conversation.calls] == ["call_0", "call_0#1"]


def test_answers_without_an_id_go_to_the_calls_of_the_turn_in_order(tmp_path: Path) -> None:
    calls = [{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "g", "arguments": "{}"}}]
    messages = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "of f"},
        {"role": "tool", "content": "of g"},
        {"role": "tool", "content": "of nothing"},
    ]
    conversation = read_one(write(tmp_path / "log", messages))
    assert [(c.call.tool, c.result) for c in conversation.calls] == [("f", "of f"), ("g", "of g")]
    assert len({c.call.call_id for c in conversation.calls}) == 2


def test_tools_on_anthropics_side_are_answered_in_the_assistants_own_blocks(tmp_path: Path) -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": failed},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s", "input": {}},
        {
            "type": "mcp_tool_result",
            "tool_use_id": "mcptoolu_1",
            "is_error": False,
            "content": [{"type": "text", "text": "hi"}],
        },
    ]
    search, echo = read_one(write(tmp_path / "log", [{"role": "assistant", "content": content}])).calls
    assert (search.is_error, search.error_type, search.result) == (True, "max_uses_exceeded", failed)
    assert (echo.is_error, echo.result) == (False, "hi")


def test_a_remote_mcp_call_of_the_responses_api_holds_its_own_answer(tmp_path: Path) -> None:
    items = [
        {
            "type": "mcp_call",
            "id": "m1",
            "name": "roll",
            "arguments": '{"d": 6}',
            "output": "4",
            "error": None,
        },
        {
            "type": "mcp_call",
            "id": "m2",
            "name": "roll",
            "arguments": "{}",
            "output": None,
            "error": "no such die",
        },
    ]
    good, bad = read_one(write(tmp_path / "log", items)).calls
    assert (good.result, good.is_error) == ("4", None)
    assert (bad.result, bad.is_error) == ("no such die", True)


def test_a_log_that_mixes_providers_is_read_whole(tmp_path: Path) -> None:
    records = [{"messages": [{"role": "user", "content": "hi"}]}, {"messages": openai_messages()}]
    records += [
        {"messages": anthropic_messages()},
        {"messages": wrapped("dumps")},
        {"messages": responses_items()},
    ]
    conversations, skipped = read(write(tmp_path / "log", jsonl(records)))
    assert skipped == []
    assert [sum(1 for _ in c.calls) for c in conversations] == [0, 3, 3, 3, 3]


def test_messages_that_are_logged_one_by_one_are_told_apart_by_their_conversation(tmp_path: Path) -> None:
    mixed = [{**m, "thread_id": t} for m in openai_messages() for t in ("t1", "t2")]
    conversations, _ = read(write(tmp_path / "log", jsonl(mixed)))
    assert [c.conversation_id for c in conversations] == ["t1", "t2"]
    assert all(story_of(c) == STORY for c in conversations)


def test_a_call_is_made_with_every_field_that_a_tool_call_has(tmp_path: Path) -> None:
    call = next(read_one(write(tmp_path / "log", openai_messages())).calls).call
    made = ToolCall(
        "get_order", {"order_id": "W1"}, Effect.READ, call.conversation, "call_1", 0.0, "Cancel my orders."
    )
    assert call == made
    assert repr(call) == repr(made)


@pytest.mark.parametrize("proxied", [False, True])
def test_what_a_tool_does_is_told_by_its_description_in_the_request(proxied: bool, tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_refund", "arguments": "{}"}}
    tools = [{"type": "function", "function": {"name": "get_refund", "description": "Issues a refund."}}]
    asked = [
        {"role": "user", "content": "Refund it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    whole = [*asked, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    record: dict[str, Any] = {"messages": whole, "tools": tools}
    if proxied:
        said = {"choices": [{"message": {"role": "assistant", "content": "Done."}}]}
        record = {"request": record, "response": said}
    (found,) = read(write(tmp_path / "log.jsonl", jsonl([record])))[0]
    ((told, _),) = Listener(FallbackMap.empty(), now=1_800_000_000.0).listen(found).outcomes
    assert told.effect is Effect.WRITE
