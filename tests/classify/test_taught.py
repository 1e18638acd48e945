"""What a person says of a text holds for texts like it, from the next start on, until it is undone."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm import ToolMemory
from btm.classify import ErrorRule, ToolResult, classify
from btm.classify.likeness import pattern_of
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


def test_what_varies_is_left_open_and_secrets_are_left_out() -> None:
    pattern = re.compile(pattern_of(ODD), re.IGNORECASE)
    assert pattern.search(LIKE)
    assert not pattern.search("Widget 4711 is fine")
    assert "hunter2" not in pattern_of("login failed for ada with password=hunter2-secret at the gate")


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        (
            '{"code": 12, "error": "Bad ticket 7"}',
            '{"error":"Bad ticket 8","code":13}',
            '{"error": "Fine ticket 7"}',
        ),
        (
            "{'code': 12, 'error': 'Bad ticket'}",
            "{'code': 3, 'error': 'Bad ticket'}",
            "{'code': 12, 'error': 'No seat'}",
        ),
        ('{"error": 6, "success": false}', '{"error":6,"success":false}', '{"error": 66, "success": false}'),
        (
            '{"msg":"잘못된요청입니다"}',
            '{"msg": "잘못된요청입니다", "id": 4}',
            '{"msg":"정상처리되었습니다"}',
        ),
        ("'ada' is not at the gate", "'bob' is not at the gate", "'ada' is at the gate"),
    ],
)
def test_an_answer_in_fields_is_known_by_what_says_how_it_went(text: str, like: str, unlike: str) -> None:
    pattern = re.compile(pattern_of(text), re.IGNORECASE)
    assert pattern.search(text)
    assert pattern.search(like)
    assert not pattern.search(unlike)


def test_no_text_makes_the_search_slow() -> None:
    """The search of a pattern that may try each part anew at each place would not end here."""
    for text in ("a 1 " * 12 + "zebras", json.dumps({"error": "a 1 " * 12 + "zebras"})):
        assert not re.search(pattern_of(text), text.replace("zebras", "") + "a " * 1_900)


def test_too_little_to_know_a_text_by_is_refused() -> None:
    with pytest.raises(ValueError, match="too little"):
        pattern_of("404 '12'")


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
    rules = [ErrorRule(pattern_of(text), None)]
    assert classify(ToolCall("x"), ToolResult(text, is_error=True), rules=rules).kind is ErrorKind.NOT_FOUND
    assert classify(ToolCall("x"), error=ValueError(text), rules=rules).kind is ErrorKind.NOT_FOUND


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
