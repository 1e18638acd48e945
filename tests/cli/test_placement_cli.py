from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from database_kit import run, run_json
from fake_openai import FakeServer, working

SMALL = ("--tasks", "0,switch_needed=2", "--arms", "none,neutral,user_reminder", "--no-demonstrations")


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_a_dead_url_is_one_clear_line_and_exit_2() -> None:
    done = run("placement", "--base-url", f"http://127.0.0.1:{closed_port()}/v1", "--model", "m", *SMALL)
    assert done.exit_code == 2
    assert "the model does not answer" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--base-url", "localhost:1/v1"), "is no URL"),
        (("--base-url", "http://127.0.0.1:1/v1", "--tasks", "no"), "expected N or SCENARIO=N"),
        (("--base-url", "http://127.0.0.1:1/v1", "--arms", "sistem"), "did you mean 'system'"),
        (("--base-url", "http://127.0.0.1:1/v1", "--api-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY is not set"),
        (("--base-url", "http://127.0.0.1:1/v1", "--tasks", "100000"), "different tasks"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_was_expected(options: tuple[str, ...], said: str) -> None:
    done = run("placement", "--model", "m", *options)
    assert done.exit_code == 2
    assert said in done.stderr


def test_the_document_is_the_only_thing_on_stdout_and_progress_is_on_stderr() -> None:
    with FakeServer(working).running() as server:
        found = run_json("placement", "--base-url", server.url, "--model", "fake", *SMALL)
        done = run("placement", "--base-url", server.url, "--model", "fake", *SMALL)
    rates = {row["arm"]: row["success"] for row in found["results"] if row["scenario"] == "switch_needed"}
    assert rates == {"none": 0.0, "neutral": 0.0, "user_reminder": 1.0}
    assert "6 of 6: switch_needed" in done.stderr
    assert "of 6:" not in done.stdout


def test_people_get_tables_and_the_command_that_measures_it_again() -> None:
    with FakeServer(working, blind=True).running() as server:
        done = run("placement", "--base-url", server.url, "--model", "fake", "--seed", "4", *SMALL)
    assert done.exit_code == 0
    assert "2 of 2" in done.stdout
    assert "+100 points" in done.stdout
    assert "warning: the server's chat template drops what tools answer" in done.stdout
    assert "Run it again: btm placement" in done.stdout


def test_a_journal_lets_the_same_command_go_on(tmp_path: Path) -> None:
    journal = str(tmp_path / "run.jsonl")
    with FakeServer(working).running() as server:
        args = ("placement", "--base-url", server.url, "--model", "fake", *SMALL, "--journal", journal)
        first = run_json(*args)
        asked = len(server.requests)
        assert run_json(*args) == first
        probes = 4
        assert len(server.requests) <= asked + probes
        assert run(*args, "--seed", "5").exit_code == 2
    assert len(Path(journal).read_text().splitlines()) == 1 + 6


def test_without_the_extra_the_message_says_how_to_install_it() -> None:
    code = (
        "import sys; sys.modules['langchain_openai'] = None; from btm.cli.main import main; "
        "sys.argv = ['btm', 'placement', '--base-url', 'http://127.0.0.1:1/v1', '--model', 'm']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "bayesian-tool-memory[model]" in done.stderr


def test_the_temperature_is_sent_and_named_in_the_command() -> None:
    with FakeServer(working).running() as server:
        options = ("--base-url", server.url, "--model", "fake", *SMALL, "--temperature", "1")
        done = run("placement", *options)
        assert {request["temperature"] for request in server.requests[-3:]} == {1.0}
    assert "--temperature 1" in done.stdout


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    journal = tmp_path / "run.jsonl"
    with FakeServer(working).running() as server:
        options = (*SMALL, "--api-key-env", "MY_KEY", "--journal", str(journal))
        found = run_json("placement", "--base-url", server.url, "--model", "fake", *options)
        assert server.keys == {"Bearer sk-very-secret"}
    assert "sk-very-secret" not in json.dumps(found) + journal.read_text()
