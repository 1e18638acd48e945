"""What a person says of a text holds for texts like it, from the next start on, until it is undone."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm import ToolMemory
from btm.classify import ToolResult
from btm.cli.classify import classify as command
from btm.model import ErrorKind, ToolCall

ODD = "Widget 4711 is on the naughty list since 2026-11-02"
LIKE = "Widget 12 is on the naughty list since 2025-01-30"


@pytest.fixture
def db(tmp_path: Path) -> str:
    where = str(tmp_path / "btm.db")
    ToolMemory.open(where).close()
    return where


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, [*arguments])
    return result.exit_code, result.output


def outcome_in(db: str, text: object, tool: str = "get_widget") -> ErrorKind | None:
    with ToolMemory.open(db, mode="observe") as memory:
        return memory.call(ToolCall(tool, call_id=str(text)[:9]), lambda *_: text).outcome.kind


@pytest.mark.parametrize("text", ["404 12", "", "…", "a" * 5_000, json.dumps([["x"]] * 500)])
def test_what_has_no_words_or_too_many_is_not_taught(db: str, text: str) -> None:
    code, said = run("--teach", text, "--kind", "timeout", "--db", db)
    assert code == 2
    assert "know it" in said


def test_a_taught_text_is_a_failure_of_its_tool_until_it_is_undone(db: str) -> None:
    assert outcome_in(db, LIKE) is None
    code, said = run(
        "--teach", ODD, "--tool", "get_widget", "--kind", "precondition_failed", "--db", db, "--json"
    )
    assert code == 0, said
    name = json.loads(said)["name"]
    assert outcome_in(db, LIKE) is ErrorKind.PRECONDITION_FAILED
    assert outcome_in(db, LIKE, tool="another") is None
    listed = json.loads(run("--taught", "--db", db, "--json")[1])
    assert [(rule["name"], rule["kind"], rule["source"]) for rule in listed] == [
        (name, "precondition_failed", "a person")
    ]
    assert run("--forget", name, "--db", db)[0] == 0
    assert outcome_in(db, LIKE) is None
    assert json.loads(run("--taught", "--db", db, "--json")[1]) == []


def test_a_false_alarm_is_taught_away_but_never_a_flagged_failure(db: str) -> None:
    text = "Error: Order 12 not found"
    assert outcome_in(db, text) is ErrorKind.NOT_FOUND
    assert run("--teach", text, "--kind", "ok", "--db", db)[0] == 0
    assert outcome_in(db, "Error: Order 77 not found") is None
    assert outcome_in(db, ToolResult(text, is_error=True)) is ErrorKind.NOT_FOUND
    with ToolMemory.open(db, mode="observe") as memory:
        raised = memory.call(ToolCall("get_widget", call_id="r"), lambda *_: raising(text))
    assert raised.outcome.kind is ErrorKind.NOT_FOUND


def raising(text: str) -> str:
    raise ValueError(text)


def test_teaching_the_same_texts_again_replaces_what_was_taught(db: str) -> None:
    for kind in ("timeout", "unavailable"):
        assert run("--teach", ODD, "--kind", kind, "--db", db)[0] == 0
    assert outcome_in(db, LIKE) is ErrorKind.UNAVAILABLE
    rows = sqlite3.connect(db).execute("select count(*) from btm_meta where key like 'taught:%'").fetchone()
    assert rows == (1,)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--teach", ODD], "--kind"),
        (["--teach", ODD, "--kind", "time_out"], "did you mean 'timeout'?"),
        (["--kind", "timeout", "--taught"], "go together"),
        (["--forget", "nosuch"], "nothing was taught"),
        (["--taught", "--teach", ODD], "one of"),
    ],
)
def test_wrong_usage_says_what_is_right(db: str, arguments: list[str], said: str) -> None:
    code, output = run(*arguments, "--db", db)
    assert code == 2
    assert said in output


def test_what_is_of_another_form_has_no_effect_and_breaks_nothing(
    db: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert run("--teach", ODD, "--kind", "timeout", "--db", db)[0] == 0
    with sqlite3.connect(db) as connection:
        for n, value in enumerate(['["x", "p", "timeout", "y", "z", 1]', '{"name": "x"}', "7", "no JSON"]):
            connection.execute("insert into btm_meta (key, value) values (?, ?)", (f"taught:old{n}", value))
    assert len(json.loads(run("--taught", "--db", db, "--json")[1])) == 1
    assert outcome_in(db, LIKE) is ErrorKind.TIMEOUT
    assert "not in a form" in caplog.text


def test_lists_and_undoing_say_what_is_asked_of_them(db: str) -> None:
    for tool in ("a", "b"):
        assert run("--teach", ODD, "--tool", tool, "--kind", "timeout", "--db", db)[0] == 0
    listed = json.loads(run("--taught", "--tool", "a", "--db", db, "--json")[1])
    assert [rule["tool"] for rule in listed] == ["a"]
    said = run("--forget", listed[0]["name"], "--db", db, "--json")[1]
    assert json.loads(said) == {"undone": listed[0]["name"]}
    assert run("--teach", ODD, "--tool", "\x07", "--kind", "timeout", "--db", db)[0] == 2
    assert run("--taught", "--score", "--db", db)[0] == 2
