"""``btm fit``: what it writes, says and leaves behind."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_kit import TIMEOUT, conversation
from click.testing import CliRunner
from rich.console import Console
from shared_data import shared

from btm import ToolMemory
from btm.cli.fit_report import document
from btm.cli.main import cli, main
from btm.errors import TraceError
from btm.fallback import FallbackMap
from btm.logs.findings import findings
from btm.logs.fit import Fit
from btm.model import Action, ErrorKind, EvidenceKey, ToolCall
from btm.store.sql import SqlStore

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fit-from-logs.md"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(conversation(n, TIMEOUT, TIMEOUT, "shipped") for n in range(12)))
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "btm.db"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["fit", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def fitted(*arguments: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return document


def evidence(database: Path) -> dict[tuple[Any, ...], tuple[float, float]]:
    store = SqlStore(database)
    try:
        return {tuple(key): (successes, failures) for key, successes, failures in store.evidence()}
    finally:
        store.close()


LEARNED = {
    ("get_order", "timeout", "retry", "", 1): (0.0, 12.0),
    ("get_order", "timeout", "retry", "", 2): (12.0, 0.0),
}


LEARNED_ONCE = {("get_order", "timeout", "retry", "", 1): (12.0, 0.0)}


def test_the_document_says_what_was_learned(log: Path, database: Path) -> None:
    document = fitted(log, "--db", database)
    assert {key: document[key] for key in ("conversations", "already_fitted", "calls", "errors")} == {
        "conversations": 12,
        "already_fitted": 0,
        "calls": 36,
        "errors": {"timeout": 24},
    }
    assert (document["incidents"], document["attempts"], document["skipped"]) == (12, 24, [])
    assert document["tools"] == {"get_order": {"calls": 36, "errors": {"timeout": 24}}}
    assert evidence(database) == LEARNED


def test_a_second_fit_adds_nothing_and_says_so(log: Path, database: Path) -> None:
    run(log, "--db", database)
    copy = log.with_name("renamed.txt")
    copy.write_bytes(log.read_bytes())
    document = fitted(copy, "--db", database)
    assert (document["conversations"], document["already_fitted"], document["calls"]) == (0, 12, 0)
    assert evidence(database) == LEARNED
    assert "12 conversations fitted before, which add nothing again" in run(log, "--db", database)


def test_again_counts_what_was_fitted_before_once_more(log: Path, database: Path) -> None:
    run(log, "--db", database)
    assert fitted(log, "--db", database, "--again")["conversations"] == 12
    assert evidence(database) == {key: (2 * s, 2 * f) for key, (s, f) in LEARNED.items()}


def test_what_was_fitted_again_for_the_first_time_is_remembered(log: Path, database: Path) -> None:
    run(log, "--db", database, "--again")
    assert fitted(log, "--db", database)["already_fitted"] == 12


def test_a_dry_run_counts_by_format_tool_error_and_action_and_writes_nothing(
    log: Path, database: Path
) -> None:
    said = run(log, "--db", database, "--dry-run")
    assert "openai_chat 12" in said
    assert "get_order     36      24  timeout 24" in said
    assert "attempts by action: retry 24" in said
    assert "Nothing was written" in said
    assert not database.exists()


def test_the_summary_says_what_never_and_what_mostly_works(log: Path, database: Path) -> None:
    log.write_text(
        "".join(conversation(n, "Error: order not found", "Error: order not found") for n in range(41))
    )
    said = run(log, "--db", database)
    assert (
        "41 conversations (openai_chat 41)\n82 calls, 82 errors, 41 incidents, 41 attempts to recover" in said
    )
    assert "What stands out\n- get_order after not_found: repeating unchanged never worked (0 of 41)" in said


def test_a_broken_line_is_reported_and_the_rest_is_learned(log: Path, database: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join([*lines[:3], '{"messages": [\n', *lines[3:]]))
    document = fitted(log, "--db", database)
    assert document["conversations"] == 12
    assert [(s["file"], s["line"]) for s in document["skipped"]] == [(str(log), 4)]
    assert "not JSON" in document["skipped"][0]["reason"]


def test_strict_stops_at_a_broken_line_and_learns_nothing(log: Path, database: Path) -> None:
    log.write_text(log.read_text() + "{broken\n")
    with pytest.raises(TraceError, match=":13: not JSON"):
        run(log, "--db", database, "--strict")
    assert evidence(database) == {}


def test_an_unknown_format_ends_with_what_was_looked_for(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    monkeypatch.setattr(sys, "argv", ["btm", "fit", str(tmp_path / "notes.txt"), "--db", str(database)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "openai_chat: `messages` whose members have a `role`" in said
    assert "The log begins with: buy milk" in said


def test_several_workers_write_what_one_writes(log: Path, database: Path) -> None:
    run(log, "--db", database, "--workers", 2)
    assert evidence(database) == LEARNED


KILLED = """
import os, signal, sys
from btm.cli.main import cli
from btm.store import meta
from btm.store.sql import SqlStore
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
setattr(*{what}, die)
cli(["fit", sys.argv[1], "--db", sys.argv[2]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    "when", ['(SqlStore, "add_learned")', '(meta, "save_priors")'], ids=["before", "amid"]
)
@pytest.mark.parametrize("there", [False, True], ids=["new database", "old database"])
def test_a_fit_that_is_killed_leaves_the_database_as_it_was_and_can_be_done_again(
    when: str, there: bool, log: Path, database: Path, tmp_path: Path
) -> None:
    if there:
        other = tmp_path / "other.jsonl"
        other.write_text(conversation(99, TIMEOUT, "shipped"))
        run(other, "--db", database)
    before = evidence(database) if there else {}
    script = KILLED.format(what=when)
    killed = subprocess.run([sys.executable, "-c", script, str(log), str(database)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert evidence(database) == before
    assert fitted(log, "--db", database)["conversations"] == 12
    assert evidence(database).keys() >= LEARNED.keys()
    assert evidence(database)["get_order", "timeout", "retry", "", 2] == (12.0, 0.0)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_shown_on_a_terminal_and_kept_from_the_output(
    workers: int, log: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=100)
    monkeypatch.setattr("btm.cli.logs.progress_console", lambda: console)
    said = run(log, "--db", database, "--workers", workers)
    assert "12 conversations" in terminal.getvalue()
    assert "100 %" in terminal.getvalue()
    assert "\x1b" not in said


def test_the_recorded_logs_are_fitted_whole(database: Path) -> None:
    document = fitted(shared("data/traces/tau2"), "--db", database, "--map", "airline")
    assert (document["conversations"], document["calls"], document["skipped"]) == (200, 1930, [])


def test_every_command_of_the_page_about_fitting_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="the page also writes Parquet")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "support.jsonl").write_text(
        "".join(conversation(n, TIMEOUT, "shipped") for n in range(12)) + "{a broken line\n"
    )
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(console|python)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    commands = [line.split() for form, text in blocks if form == "console" for line in text.splitlines()]
    assert len(commands) >= 10
    for program, *arguments in commands:
        assert program == "btm"
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, (arguments, result.output)
    (python,) = (text for form, text in blocks if form == "python")
    pytest.importorskip("duckdb", reason="the page sums with DuckDB")
    exec(compile(python, str(PAGE), "exec"), {})
    assert evidence(tmp_path / "summed.db") == LEARNED_ONCE


def test_a_database_keeps_its_pace_and_says_which(log: Path, tmp_path: Path) -> None:
    for asked, pace in ((None, "never forgets"), ("30", "forgets half in 30 days")):
        database = tmp_path / f"{asked}.db"
        run(log, "--db", database, *(("--half-life", asked) if asked else ()))
        result = CliRunner().invoke(cli, ["fit", str(log), "--db", str(database), "--half-life", "7"])
        assert result.exit_code == 2
        assert f"{database} {pace}, and a database keeps its pace" in result.stderr
        if asked:
            run(log, "--db", database, "--half-life", asked)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--db", "nowhere/btm.db"), "there is no folder nowhere to write nowhere/btm.db in"),
        (("--db", "."), ". is a folder; name the file to write"),
        (("--emit", "nowhere/a.parquet"), "there is no folder nowhere to write nowhere/a.parquet in"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_read(
    options: tuple[str, ...], message: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["fit", str(log), *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not (tmp_path / "btm.db").exists()


def test_a_folder_without_a_file_is_said_to_be_one(tmp_path: Path, database: Path) -> None:
    empty = tmp_path / "logs"
    empty.mkdir()
    result = CliRunner().invoke(cli, ["fit", str(empty), "--db", str(database)])
    assert (result.exit_code, database.exists()) == (2, False)
    assert f"there is no file in {empty}" in result.stderr


def test_a_log_without_a_failure_teaches_nothing_and_it_is_said(tmp_path: Path, database: Path) -> None:
    calm = tmp_path / "calm.jsonl"
    calm.write_text(conversation(1, "shipped"))
    said = run(calm, "--db", database)
    assert "1 conversation (openai_chat 1)\n1 call, 0 errors, 0 incidents, 0 attempts to recover" in said
    assert "Nothing new to learn" in said
    assert "Learned into" not in said


def test_every_kind_of_error_stands_in_the_summary(log: Path, database: Path, tmp_path: Path) -> None:
    texts = {
        "timeout": TIMEOUT, "rate_limit": "Error: 429 too many requests", "server_error": "Error: 500 internal server error",
        "unavailable": "Error: 503 service unavailable", "auth_error": "Error: 401 unauthorized",
        "quota_exhausted": "Error: monthly quota exceeded", "not_found": "Error: order not found",
        "invalid_arguments": "Error: invalid argument order_id", "empty_result": "[]",
    }  # fmt: skip
    log.write_text("".join(conversation(n, text) for n, text in enumerate(texts.values())))
    found = fitted(log, "--dry-run")["errors"]
    said = run(log, "--dry-run")
    assert len(found) >= 8
    assert all(f"\n{kind} " in said for kind in found)


def test_a_half_life_is_a_number(log: Path, database: Path) -> None:
    result = CliRunner().invoke(cli, ["fit", str(log), "--db", str(database), "--half-life", "nan"])
    assert (result.exit_code, database.exists()) == (2, False)
    assert "'nan' is no number" in result.stderr


def test_handing_over_is_no_recovery_that_works() -> None:
    key = EvidenceKey("get_order", ErrorKind.TIMEOUT, Action.ESCALATE, "human", 1)
    assert findings({(key, True): 40}) == []
    assert len(findings({(key._replace(action=Action.SWITCH), True): 40})) == 1


def test_what_stands_out_is_counted_whatever_the_evidence_weighs(log: Path) -> None:
    may = '{"created_at": "2026-05-01T00:00:00Z", '
    log.write_text("".join(conversation(n, TIMEOUT, "shipped").replace("{", may, 1) for n in range(20)))
    plain, fading = fitted(log, "--dry-run"), fitted(log, "--dry-run", "--half-life", "1")
    assert "(20 of 20)" in plain["findings"][0]["text"]
    assert fading["findings"] == plain["findings"]


def test_a_path_that_is_not_there_makes_no_database(tmp_path: Path) -> None:
    database = tmp_path / "btm.db"
    result = CliRunner().invoke(cli, ["fit", str(tmp_path / "nosuch.jsonl"), "--db", str(database)])
    assert isinstance(result.exception, TraceError)
    assert not database.exists()


def test_a_database_learns_nothing_from_its_own_event_log(tmp_path: Path, database: Path) -> None:
    answers = iter([TimeoutError("timed out"), "shipped"])

    def get_order(tool: str, arguments: Any) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with ToolMemory.open(database, mode="observe") as memory:
        for number in range(2):
            memory.call(ToolCall("get_order", {"id": 1}, conversation="c1", call_id=str(number)), get_order)
    events = tmp_path / "events.jsonl"
    CliRunner().invoke(
        cli, ["export", "events", "--db", str(database), "-o", str(events)], catch_exceptions=False
    )
    before = evidence(database)
    done = fitted(events, "--db", database)
    assert (done["conversations"], done["already_fitted"]) == (0, 1)
    assert evidence(database) == before
    assert fitted(events, "--db", tmp_path / "other.db")["attempts"] == 1


def test_many_tools_are_counted_in_one_go() -> None:
    done = Fit()
    for number in range(3):
        done.tools[f"tool_{number}"] = 2
        done.tool_errors[f"tool_{number}", ErrorKind.TIMEOUT] = number
    shown = document(done, FallbackMap.empty())["tools"]
    assert shown["tool_2"] == {"calls": 2, "errors": {"timeout": 2}}


def test_what_failed_in_a_way_seen_once_is_told(tmp_path: Path) -> None:
    failed = [f"Error: flight HAT{n:03} is full" for n in range(100, 130)]
    failed += ["Error: flight 7 has no crew (case 17)", "E7741: ledger epoch mismatch (shard 9)"]
    lines = [
        [
            {"role": "user", "content": str(n)},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "function": {"name": "book", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": text},
        ]
        for n, text in enumerate(failed)
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps({"messages": messages}) for messages in lines), "utf-8")
    told = CliRunner().invoke(cli, ["fit", str(log), "--dry-run"]).output
    assert "Seen once" in told
    assert "HAT" not in told
    document = json.loads(CliRunner().invoke(cli, ["fit", str(log), "--dry-run", "--json"]).output)
    assert {way["template"] for way in document["seen_once"]} >= {"Error: flight <N> has no crew (case <N>)"}
    assert len(document["seen_once"]) <= 2
