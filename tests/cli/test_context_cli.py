from __future__ import annotations

from pathlib import Path

import pytest
from database_kit import live, run, run_json, write_map


def test_the_document_has_text_plan_and_tokens(tmp_path: Path) -> None:
    made = run_json("context", "--tool", "get_order", "--error", "timeout", "--map", write_map(tmp_path))
    assert set(made) == {"text", "plan", "tokens"}
    assert made["plan"]["tool"] == "get_order"
    assert made["plan"]["kind"] == "timeout"
    assert 0 < made["tokens"] <= 300
    assert "next:" in made["text"]


def test_without_a_database_the_shipped_beliefs_speak_and_no_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = run_json("context", "--tool", "get_order", "--error", "timeout")
    assert made["plan"]["steps"][0]["n"] == 0.0
    assert list(tmp_path.iterdir()) == []


def test_what_a_database_learned_changes_the_plan(tmp_path: Path) -> None:
    given = ("context", "--tool", "get_order", "--error", "timeout", "--map", write_map(tmp_path))
    call = ("--call", '{"order_id": "O1"}')
    never = run_json(*given, *call, "--db", live(tmp_path / "never.db", [False] * 30))
    always = run_json(*given, *call, "--db", live(tmp_path / "always.db", [True] * 30))
    assert always["plan"]["steps"][0]["action"] == "retry"
    assert never["plan"]["steps"][0]["action"] == "switch"
    assert never["plan"]["steps"][0]["arguments"] == {"order_id": "O1"}


def test_people_get_the_text_as_a_model_would(tmp_path: Path) -> None:
    given = ("context", "--tool", "get_order", "--error", "timeout", "--map", write_map(tmp_path))
    assert run(*given).stdout.strip() == run_json(*given)["text"].strip()
    assert run(*given, "--format", "markdown").stdout != run(*given).stdout


def test_arguments_can_come_from_a_file(tmp_path: Path) -> None:
    arguments = tmp_path / "call.json"
    arguments.write_text('{"order_id": "O7"}', encoding="utf-8")
    given = ("context", "--tool", "get_order", "--error", "timeout", "--map", write_map(tmp_path))
    assert run_json(*given, "--call", f"@{arguments}") == run_json(*given, "--call", '{"order_id": "O7"}')


@pytest.mark.parametrize("command", ["context", "explain"])
def test_a_tool_that_the_map_does_not_know_is_remarked_on(command: str, tmp_path: Path) -> None:
    given = (
        command,
        "--error",
        "timeout",
        "--db",
        live(tmp_path / "b.db", [True]),
        "--map",
        write_map(tmp_path),
    )
    slip = run(*given, "--tool", "get_ordr", "--json")
    assert slip.exit_code == 0
    assert slip.stderr == "btm: the map has no tool 'get_ordr'; did you mean 'get_order'?\n"
    assert "has nothing to say about it" in run(*given, "--tool", "zzz").stderr
    assert run(*given, "--tool", "get_order").stderr == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--error", "timeout", "--call", "@no-such-file"), "from no-such-file: No such file or directory"),
        (("--error", "time_out"), "did you mean 'timeout'?"),
        (("--error", "timeout", "--call", "{"), "not JSON"),
        (("--error", "timeout", "--call", "[1]"), "not a JSON object"),
        (("--error", "timeout", "--budget", "3"), "--budget"),
        (("--error", "timeout", "--format", "tagd"), "--format"),
        ((), "--error"),
    ],
)
def test_wrong_usage_exits_2_and_says_why(options: tuple[str, ...], message: str) -> None:
    result = run("context", "--tool", "get_order", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
