from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from btm import __version__
from btm.cli import main as main_module
from btm.cli.main import COMMANDS, cli
from btm.errors import StoreError


def test_every_command_is_listed_and_has_help() -> None:
    runner = CliRunner()
    listed = runner.invoke(cli, ["--help"])
    assert listed.exit_code == 0
    for name in COMMANDS:
        assert name in listed.output
        shown = runner.invoke(cli, [name, "--help"])
        assert shown.exit_code == 0, shown.output
        assert (
            "--json" in shown.output
            or "Commands:" in shown.output
            or name in ("export", "inject", "mcp", "review")
        ), name


def test_an_unknown_command_names_the_nearest_one() -> None:
    result = CliRunner().invoke(cli, ["shwo"])
    assert result.exit_code == 2
    assert "did you mean 'show'?" in result.output


def test_the_version_is_the_distributions() -> None:
    assert __version__ in CliRunner().invoke(cli, ["--version"]).output


def test_an_error_of_btm_ends_with_one_line_and_exit_code_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["btm", "show", "--db", "no-such.db"])
    with pytest.raises(SystemExit) as stopped:
        main_module.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("btm: there is no database 'no-such.db'")


def test_the_commands_list_needs_no_heavy_import() -> None:
    code = "import sys, json, btm.cli.main; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"scipy", "sqlalchemy", "networkx", "langchain_core"}
    assert heavy.isdisjoint(json.loads(done.stdout))


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="there are no pipes as here")
@pytest.mark.parametrize(
    "arguments", [("map", "check", "shop"), ("map", "check", "shop", "--json"), ("map", "schema")]
)
def test_an_output_that_nobody_reads_on_is_no_finding(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "btm", *arguments]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device to write to")
@pytest.mark.parametrize("arguments", [("map", "check", "shop"), ("map", "check", "shop", "--json")])
def test_an_output_without_room_is_said_in_one_line(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "btm", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "btm: the output cannot be written: No space left on device\n"


def test_an_interrupted_command_has_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module.import_module("btm.cli.show").show, "callback", lambda **_: interrupted())
    result = CliRunner().invoke(cli, ["show"])
    assert result.exit_code == 130
    assert result.stderr == "\nbtm: interrupted\n"


def test_a_folder_is_not_said_to_be_missing(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["show", "--db", str(tmp_path)])
    assert "is a folder" in str(result.exception)


def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("")
    target = tmp_path / f"{'x' * 300}.jsonl"
    command = ["export", "trajectories", str(tmp_path / "log.jsonl"), "-o", str(target)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 2
    assert result.stderr == f"btm: {target}: File name too long\n"
    assert isinstance(CliRunner().invoke(cli, ["-v", *command]).exception, OSError)


@pytest.mark.parametrize("problem", [StoreError("no such database"), OSError(5, "broken")])
def test_a_traceback_that_was_asked_for_is_no_finding(
    problem: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_with(problem, monkeypatch, "-v") == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_fault_of_btm_itself_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended_with(ZeroDivisionError("oh"), monkeypatch) == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in said
    assert said.endswith("btm: this is a fault of btm itself\n")


def ended_with(problem: Exception, monkeypatch: pytest.MonkeyPatch, *options: str) -> Any:
    """Run ``btm show`` with a command that raises, and return the exit code."""

    def raising(**_: Any) -> None:
        raise problem

    monkeypatch.setattr(main_module.import_module("btm.cli.show").show, "callback", raising)
    monkeypatch.setattr(sys, "argv", ["btm", *options, "show"])
    with pytest.raises(SystemExit) as stopped:
        main_module.main()
    return stopped.value.code


@pytest.mark.parametrize("group", ["map", "export"])
def test_the_list_of_a_groups_commands_is_not_cut(group: str) -> None:
    shown = CliRunner().invoke(cli, [group, "--help"], env={"COLUMNS": "80"})
    assert not [line for line in shown.output.splitlines()[1:] if line.endswith("...")]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_eighty_columns(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"], terminal_width=80)
    assert max(map(len, shown.output.splitlines())) <= 80


def test_an_output_without_bars_gets_question_marks() -> None:
    command = [sys.executable, "-m", "btm", "map", "draw", "shop"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"get_order" in done.stdout
