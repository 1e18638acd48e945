"""The page about evaluations: its files work, and its commands run one after the other."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli

PAGE = (Path(__file__).parents[2] / "docs/evaluate.md").read_text("utf-8")
FILES = re.findall(r"```(?:python|yaml)\n# (\w+\.\w+)\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    line for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]


@pytest.mark.xdist_group("evaluate page")
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(
        "PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )  # the page's python
    assert len(FILES) > 2
    for name, text in FILES:
        Path(name).write_text(text, "utf-8")
    for command in COMMANDS:
        program, *arguments = shlex.split(command, comments=True)
        if "--mcp" in arguments and find_spec("fastmcp") is None:
            continue  # the extra's own tests run in .ci/run with it
        if program == "btm":
            run = CliRunner().invoke(cli, arguments)
            assert run.exit_code == 0, f"{command}\n{run.output}"
        else:
            ours = [
                sys.executable,
                "-m",
                program,
                *(() if entry_points(group="pytest11", name="btm") else ("-p", "btm.lab.pytest_plugin")),
                "-p",
                "no:randomly",
                *arguments,
            ]
            made = subprocess.run(ours, capture_output=True, text=True, check=False)
            assert made.returncode == 0, f"{command}\n{made.stdout}{made.stderr}"
