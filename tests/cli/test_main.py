from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from btm import __version__
from btm.cli import main as main_module
from btm.cli.main import COMMANDS, cli


def test_every_command_is_listed_and_has_help() -> None:
    runner = CliRunner()
    listed = runner.invoke(cli, ["--help"])
    assert listed.exit_code == 0
    for name in COMMANDS:
        assert name in listed.output
        shown = runner.invoke(cli, [name, "--help"])
        assert shown.exit_code == 0, shown.output
        assert "--json" in shown.output or name in ("export", "map"), name


def test_an_unknown_command_names_the_nearest_one() -> None:
    result = CliRunner().invoke(cli, ["shwo"])
    assert result.exit_code == 2
    assert "Did you mean 'show'?" in result.output


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
