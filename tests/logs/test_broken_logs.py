from __future__ import annotations

import copy
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_samples import (
    anthropic_messages,
    jsonl,
    langsmith_runs,
    openai_messages,
    openinference_spans,
    otlp,
    read,
    responses_items,
    tau2_file,
    trajectory,
    write,
)

from btm.errors import MissingExtraError, TraceError, UnknownFormatError
from btm.logs.conversation import Conversation, Skipped
from btm.logs.formats import READERS
from btm.logs.reading import read_conversations

GOOD = {"messages": openai_messages()}


def test_a_broken_line_is_reported_by_its_place_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = [
        json.dumps(GOOD),
        '{"messages": [',
        json.dumps(GOOD),
        "nonsense",
        "[]",
        '{"other": 1}',
        "7",
        json.dumps(GOOD),
    ]
    path = write(tmp_path / "log.jsonl", "\n".join(lines))
    conversations, skipped = read(path)
    assert len(conversations) == 4  # an empty list of messages is a conversation without calls
    assert [(s.file, s.line) for s in skipped] == [
        (str(path), 2),
        (str(path), 4),
        (str(path), 6),
        (str(path), 7),
    ]
    assert str(skipped[0]).startswith(f"{path}:2: not JSON")


def test_strict_reading_stops_at_the_first_broken_line(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", f"{json.dumps(GOOD)}\nnonsense\n{json.dumps(GOOD)}\n")
    found = read_conversations([path], strict=True)
    assert isinstance(next(found), Conversation)
    with pytest.raises(TraceError, match=":2: not JSON"):
        next(found)


@pytest.mark.parametrize("first", ["nonsense", '{"messages": [{"role": ', "2025-08-01 INFO starting"])
def test_a_broken_first_line_does_not_hide_the_format(first: str, tmp_path: Path) -> None:
    conversations, skipped = read(write(tmp_path / "log", "\n".join([first, *[json.dumps(GOOD)] * 3])))
    assert (len(conversations), [s.line for s in skipped]) == (3, [1])


def test_a_killed_writers_last_line_is_reported(tmp_path: Path) -> None:
    line = json.dumps(GOOD)
    conversations, skipped = read(write(tmp_path / "log", f"{line}\n{line}\n{line[:-20]}"))
    assert (len(conversations), [s.line for s in skipped]) == (2, [3])


def test_a_cut_result_file_gives_its_whole_simulations(tmp_path: Path) -> None:
    raw = json.dumps(tau2_file(10)).encode()
    conversations, skipped = read(write(tmp_path / "log", raw[: len(raw) // 2]))
    assert 0 < len(conversations) < 10
    assert len(skipped) == 1
    assert "ends in the middle" in skipped[0].reason


def test_invalid_bytes_and_nan_do_not_cost_the_conversation(tmp_path: Path) -> None:
    line = json.dumps(GOOD).encode()
    lines = [
        line.replace(b"pending", b"pend\xffing"),
        line.replace(b'"reward"', b"x"),
        line[:-1] + b', "reward": NaN}',
    ]
    conversations, skipped = read(write(tmp_path / "log", b"\n".join(lines)))
    assert (len(conversations), skipped) == (3, [])
    assert conversations[2].reward is None


def test_nesting_without_end_is_reported(tmp_path: Path) -> None:
    bomb = "[" * 200_000
    conversations, skipped = read(
        write(tmp_path / "log", f"{json.dumps(GOOD)}\n{bomb}\n{json.dumps(GOOD)}\n")
    )
    assert (len(conversations), [s.line for s in skipped]) == (2, [2])
    closed = "[" * 200_000 + "]" * 200_000
    assert read(write(tmp_path / "other", closed), format="openai_chat")[1]


def test_an_empty_log_holds_nothing_and_is_no_error(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a", b""), write(tmp_path / "b", b"\n \n")) == ([], [])


def test_an_unknown_format_says_what_was_looked_for_and_shows_the_beginning(tmp_path: Path) -> None:
    path = write(tmp_path / "log", b"\x00\x1b[31mname,password=hunter2hunter2\n1,2\n")
    with pytest.raises(UnknownFormatError) as caught:
        list(read_conversations([path]))
    text = str(caught.value)
    assert text.startswith(f"{path}: the format is not known")
    assert all(f"{name}: " in text for name in READERS)
    assert "hunter2" not in text
    assert "\x1b" not in text


def test_an_unknown_file_that_was_named_stops_before_anything_is_given(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", GOOD), write(tmp_path / "bad", "a,b\n")
    with pytest.raises(UnknownFormatError):
        read_conversations([good, bad])


def test_an_unknown_file_of_a_folder_is_skipped(tmp_path: Path) -> None:
    write(tmp_path / "good", GOOD)
    write(tmp_path / "notes.md", "# Notes\n")
    conversations, skipped = read(tmp_path)
    assert len(conversations) == 1
    assert [(s.file, s.line) for s in skipped] == [(str(tmp_path / "notes.md"), 0)]


def test_a_format_can_be_asked_for_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "log", {"traj": openai_messages()})
    assert read(path, format="openai_chat")[0][0].format == "openai_chat"
    assert read(path, format="tau2")[0]
    assert read(path, format="langsmith")[1]
    with pytest.raises(TraceError, match="did you mean 'langsmith'"):
        read_conversations([path], format="langsmit")


SAMPLES: list[Any] = [
    GOOD,
    openai_messages(),
    responses_items(),
    {"messages": anthropic_messages()},
    tau2_file(),
    langsmith_runs(),
    otlp(),
    openinference_spans(),
    trajectory(),
    {"type": "call", "conversation": "c", "call_id": "1", "tool": "f", "at": 1.0, "kind": "timeout"},
    {
        "messages": [
            {"lc": 1, "id": ["AIMessage"], "kwargs": {"tool_calls": [{"name": "f", "args": {}, "id": "1"}]}}
        ]
    },
]
WRONG = st.sampled_from([None, True, -1, 1e308, "", "text", [], [[]], [None], {}, {"id": {}}, {"role": 7}])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def damaged(value: Any, place: tuple[Any, ...], wrong: Any) -> Any:
    if not place:
        return wrong
    broken = copy.deepcopy(value)
    node = broken
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = wrong
    return broken


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data(), reader=st.sampled_from([None, *READERS]))
def test_a_value_of_the_wrong_kind_anywhere_is_reported_and_never_raised(
    data: st.DataObject, reader: str | None, tmp_path: Path
) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    broken = damaged(sample, data.draw(st.sampled_from(places(sample))), data.draw(WRONG))
    lines = (
        [broken, sample]
        if data.draw(st.booleans())
        else [*broken, sample]
        if isinstance(broken, list)
        else [broken]
    )
    path = write(tmp_path / "log", jsonl(lines) if data.draw(st.booleans()) else lines)
    try:
        found = list(read_conversations([path], format=reader))
    except UnknownFormatError:
        return
    for conversation in found:
        if isinstance(conversation, Skipped):
            assert conversation.reason
            continue
        assert isinstance(conversation.conversation_id, str)
        for recorded in conversation.calls:
            assert isinstance(recorded.call.tool, str)
            assert recorded.call.tool
            assert isinstance(recorded.call.arguments, dict)
            assert isinstance(recorded.call.call_id, str)
            assert isinstance(recorded.call.at, float)
            assert recorded.is_error in (True, False, None)


def test_a_parquet_file_that_is_cut_off_is_told_as_that_and_needs_no_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = write(tmp_path / "log", b"PAR1" + jsonl([{"messages": []}]))
    (passed,) = read(path)[1]
    assert "the Parquet file cannot be read" in passed.reason
    path.write_bytes(b"PAR1 whole, as far as anybody can see without the package PAR1")
    with pytest.raises(MissingExtraError, match="pyarrow"):
        read(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(noise=st.binary(max_size=300), sample=st.sampled_from(SAMPLES), data=st.data())
def test_damaged_bytes_never_raise(noise: bytes, sample: Any, data: st.DataObject, tmp_path: Path) -> None:
    raw = jsonl([sample] * 3)
    place = data.draw(st.integers(0, len(raw)))
    path = write(tmp_path / "log", raw[:place] + noise + raw[place + data.draw(st.integers(0, 50)) :])
    for reader in (None, *READERS):
        try:
            list(read_conversations([path], format=reader))
        except UnknownFormatError:
            assert reader is None


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ([1, 2], "no list of messages in it"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}]},
            "it has no 'name'",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": ""}}]}]},
            "without the name of its tool",
        ),
    ],
)
def test_what_is_wrong_with_a_record_is_said_in_words(record: Any, why: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", jsonl([{"messages": openai_messages()}, record]))
    conversations, skipped = read(path)
    assert len(conversations) == 1
    assert [(s.line, why in s.reason, "Error" in s.reason) for s in skipped] == [(2, True, False)]


def test_a_number_can_be_the_name_of_a_tool(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": 42, "arguments": "{}"}}
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    (conversation,), skipped = read(write(tmp_path / "log.jsonl", jsonl([{"messages": messages}])))
    assert not skipped
    assert conversation.batches[0][0].call.tool == "42"


def test_what_is_folded_without_end_is_unfolded_to_an_end(tmp_path: Path) -> None:
    begins = {"resultData": "1"}
    doubling = [begins, *({"a": str(n + 1), "b": str(n + 1)} for n in range(1, 60)), {}]
    cyclic = [begins, {"runData": "2"}, {"node": "3"}, ["4"], {"data": "4", "again": "0"}]
    for table in (doubling, cyclic):
        for content in (
            json.dumps(table),
            {"id": "1", "workflowId": "w", "finished": True, "data": json.dumps(table)},
        ):
            assert read(write(tmp_path / "log", content))[0] == []


@pytest.mark.parametrize(
    "content",
    [
        b"id,input,output\n1,\x00,\x00\n",
        b'id,traceId,input\n"unended',
        b"<chat_history><message role='user'>",
        b"<chat_history><!DOCTYPE x [<!ENTITY a 'b'>]></chat_history>",
        b"<chat_history/>",
    ],
)
def test_tables_and_histories_that_are_broken_end_without_an_exception(
    content: bytes, tmp_path: Path
) -> None:
    with suppress(UnknownFormatError):
        assert read(write(tmp_path / "log", content))[0] == []
