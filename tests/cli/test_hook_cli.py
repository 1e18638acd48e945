from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from btm import ToolMemory
from btm.adapters.claude_code.events import answer
from btm.cli.hook import socket_path
from btm.cli.main import cli

FAILED = {
    "hook_event_name": "PostToolUseFailure",
    "session_id": "s1",
    "tool_name": "mcp__shop__get_order",
    "tool_input": {"order_id": "o1"},
    "tool_use_id": "t1",
    "error": "Request timed out",
}
OWN = {
    "theme": "dark",
    "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "fmt"}]}]},
}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["hook", "claude", *arguments])


def value(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def test_installing_adds_hooks_beside_those_that_are_there_and_undoing_gives_the_file_back(
    tmp_path: Path,
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(OWN, indent=2) + "\n", encoding="utf-8")
    before = file.read_bytes()
    result = run("--install", "--settings", str(file), "--mode", "guard")
    assert result.exit_code == 0
    assert "+" in result.output
    hooks = value(file)["hooks"]
    assert set(hooks) == {"PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"}
    assert hooks["PostToolUse"][0] == OWN["hooks"]["PostToolUse"][0]  # type: ignore[index]
    assert (
        hooks["PreToolUse"][0]["hooks"][0]["command"] == f"{sys.executable} -m btm hook claude --mode guard"
    )
    assert run("--undo", "--settings", str(file)).exit_code == 0
    assert file.read_bytes() == before


def test_installing_twice_changes_the_options_and_adds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    run("--install", "--settings", str(file), "--mode", "guard")
    run("--install", "--settings", str(file))
    assert {len(entries) for entries in value(file)["hooks"].values()} == {1}
    assert "PreToolUse" not in value(file)["hooks"]  # only guard mode has a use for it


def test_a_map_that_cannot_be_read_is_told_when_hooks_are_installed(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    assert run("--install", "--settings", str(file), "--map", str(tmp_path / "no.yaml")).exit_code != 0
    assert run("--install", "--undo", "--settings", str(file)).exit_code == 2
    assert not file.exists()


def test_a_dry_run_only_shows(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    assert "hook claude" in run("--install", "--dry-run", "--settings", str(file)).output
    assert not file.exists()


@pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"PostToolUse": {"a": 1}}}', "{,}"])
def test_a_file_that_is_no_settings_file_stays_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text, encoding="utf-8")
    assert run("--install", "--settings", str(file)).exit_code == 2
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize("given", ["", "no json", "[]", '{"hook_event_name": "Stop"'])
def test_a_hook_that_gets_nonsense_says_nothing_and_succeeds(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("btm.cli.hook._start", lambda *_: None)
    monkeypatch.setattr("btm.cli.hook._START_S", 0.0)
    result = CliRunner().invoke(cli, ["hook", "claude"], input=given)
    assert (result.exit_code, result.output) == (0, "")


def test_other_options_have_a_process_of_their_own_and_so_have_other_folders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = socket_path([])
    monkeypatch.setenv("XDG_CONFIG_HOME", "/" + "long/" * 30)
    monkeypatch.setenv("HOME", "/" + "long/" * 30)
    assert socket_path([]).name != one.name
    assert len(str(socket_path([]))) < 100
    assert socket_path(["--mode", "advise"]) != socket_path(["--mode", "guard"])


def test_a_hook_loads_nothing_heavy() -> None:
    code = "import sys, btm.cli.main, btm.cli.hook; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"sqlalchemy", "scipy", "networkx", "asyncio", "jinja2", "pydantic"}.isdisjoint(
        done.stdout.split()
    )


def test_the_first_hook_starts_a_process_that_the_others_find(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "c")}

    def hook(event: dict[str, Any]) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "btm", "hook", "claude", "--db", str(tmp_path / "hooks.db")],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    said = ""
    try:
        for number in range(5):  # a loaded machine may take longer to start it than a hook waits
            said = hook({**FAILED, "tool_use_id": f"t{number}"})
            if said:
                break
        assert (
            "next: retry mcp__shop__get_order" in json.loads(said)["hookSpecificOutput"]["additionalContext"]
        )
        worked = {**FAILED, "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": "u"}
        assert hook(worked) == ""
        assert (tmp_path / "hooks.db").exists()
    finally:
        end_server(tmp_path)


def end_server(folder: Path) -> None:
    """End the process that a test has started, known by the socket in its command."""
    found = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True
    ).stdout
    for line in found.splitlines():
        if str(folder) in line and "hook serve" in line:
            os.kill(int(line.split()[0]), signal.SIGTERM)
    time.sleep(0.1)


def test_the_guides_event_is_one_that_is_answered() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs/claude-code.md").read_text("utf-8")
    asked = guide.split("echo '")[1].split("' | btm hook claude")[0]
    answered = answer(json.loads(asked), ToolMemory.open(None))
    assert "next: retry mcp__shop__get_order" in answered["hookSpecificOutput"]["additionalContext"]
