"""Nothing is lost in silence: a log that looks like calls and gives none is named, and the command ends with 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from log_samples import jsonl, openai_messages, read, write

from btm.cli.main import cli
from btm.logs.reading import read_items

GOOD = {"messages": openai_messages()}
ODD: dict[str, Any] = {
    "spans of another convention": {
        "traceId": "1",
        "spanId": "2",
        "name": "x",
        "attributes": {"my.tool_call": {"n": "f"}},
    },
    "attributes that are numbered": {
        "traceId": "1",
        "spanId": "2",
        "name": "x",
        "attributes": {"my.messages.0.message.tool_calls.0.tool_call.function.name": "f"},
    },
    "messages that keep their calls elsewhere": {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "", "x": {"tool_calls": [{"q": 1}]}},
        ]
    },
    "JSON within JSON": [
        {"role": "user", "content": "hi", "log": json.dumps({"type": "tool_use", "name": "f"})}
    ],
}


def fitted(*paths: Path) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(cli, ["fit", *map(str, paths), "--dry-run", "--json"])
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_a_log_that_looks_like_calls_and_gives_none_is_an_error_with_its_beginning(
    content: Any, tmp_path: Path
) -> None:
    code, document = fitted(write(tmp_path / "odd.json", content))
    assert code == 1
    (skipped,) = document["skipped"]
    assert "nothing could be read from it" in skipped["reason"]
    assert "it begins with: " in skipped["reason"]


def test_what_lies_beside_a_lost_log_is_learned_all_the_same(tmp_path: Path) -> None:
    write(tmp_path / "a.json", next(iter(ODD.values())))
    write(tmp_path / "b.json", GOOD)
    code, document = fitted(tmp_path)
    assert (code, document["conversations"], len(document["skipped"])) == (1, 1, 1)


def test_several_workers_notice_a_lost_log_too(tmp_path: Path) -> None:
    odd = write(tmp_path / "a.jsonl", jsonl([ODD["messages that keep their calls elsewhere"]] * 2))
    done = CliRunner().invoke(cli, ["fit", str(odd), "--dry-run", "--json", "--workers", "2"])
    assert done.exit_code == 1
    assert "nothing could be read from it" in json.loads(done.stdout)["skipped"][-1]["reason"]


def test_an_unknown_file_of_a_folder_that_looks_like_calls_is_an_error_and_notes_are_none(
    tmp_path: Path,
) -> None:
    write(tmp_path / "good.json", GOOD)
    write(tmp_path / "notes.md", "# Notes\n")
    assert fitted(tmp_path)[0] == 0
    write(tmp_path / "odd.xml", '<chat><x>{"tool_calls": [{"name": "f"}]}</x></chat>')
    assert fitted(tmp_path)[0] == 1


def test_a_conversation_without_calls_is_no_error(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello", "tool_calls": []}]
    code, document = fitted(
        write(tmp_path / "talk.json", {"messages": talk, "tools": [{"type": "function"}]})
    )
    assert (code, document["conversations"], document["skipped"]) == (0, 1, [])


def test_what_was_passed_over_is_counted_by_what_it_is(tmp_path: Path) -> None:
    lines = [
        {"type": "summary", "summary": "x"},
        {"type": "mode", "mode": "y"},
        *openai_messages(),
        {"type": "mode"},
    ]
    path = write(tmp_path / "log.jsonl", jsonl(lines))
    passed = {item.reason: item.records for item in read_items([path]) if type(item).__name__ == "Passed"}
    assert passed == {"no message: summary": 1, "no message: mode": 2}
    assert len(read(path)[0]) == 1


def test_answers_to_calls_that_the_log_does_not_hold_are_counted(tmp_path: Path) -> None:
    cut = openai_messages()[3:]
    code, document = fitted(write(tmp_path / "cut.json", {"messages": cut}))
    assert (code, document["calls"], document["orphans"]) == (0, 1, 2)


def test_the_summary_is_a_table_by_format(tmp_path: Path) -> None:
    write(tmp_path / "a.json", GOOD)
    write(tmp_path / "b.json", {"task_id": 1, "reward": 1.0, "traj": openai_messages()})
    said = CliRunner().invoke(cli, ["fit", str(tmp_path), "--dry-run"]).stdout
    rows = [line.split() for line in said.splitlines()]
    assert ["openai_chat", "1", "3", "1"] in rows
    assert ["tau1", "1", "3", "1"] in rows


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_log_of_whose_calls_none_is_answered_although_it_holds_answers_is_an_error(
    workers: str, tmp_path: Path
) -> None:
    talk = openai_messages()
    odd = [{**m, "role": "other", "x": {"type": "tool_result"}} if m["role"] == "tool" else m for m in talk]
    cut = [message for message in talk if message["role"] != "tool"]
    for messages, code in ((odd, 1), (cut, 0), (talk, 0)):
        log = write(
            tmp_path / "log.jsonl",
            jsonl([{"messages": messages}, {"messages": [{"role": "user", "content": "x"}, *messages]}]),
        )
        done = CliRunner().invoke(cli, ["fit", str(log), "--dry-run", "--json", "--workers", workers])
        assert done.exit_code == code
        reasons = [skipped["reason"] for skipped in json.loads(done.stdout)["skipped"]]
        assert [reason.partition(",")[0] for reason in reasons] == (
            ["none of its 6 calls has an answer"] if code else []
        )


def test_an_unknown_file_of_a_folder_is_said_in_a_line(tmp_path: Path) -> None:
    write(tmp_path / "good.json", GOOD)
    write(tmp_path / "notes.md", "# Notes. And more\n")
    _, document = fitted(tmp_path)
    assert document["skipped"][0]["reason"] == "the format is not known; it begins with: # Notes. And more"
