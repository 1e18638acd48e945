"""docs/training.md: every command and block of code, as they stand, and the table they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text("utf-8")


def test_the_page_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            program, *arguments = line.split()
            assert program == "btm"
            result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
            assert result.exit_code == 0, (line, result.output)
            printed.append(result.stdout)
    (checked,) = (text for text in printed if text.startswith("scenario"))
    rows = [line.split() for line in checked.splitlines()[1:]]
    for row in rows:
        name, tasks, *means = row[:5]
        assert f"| {name} | {tasks} | {' | '.join(means)} |" in PAGE
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "training.md", "exec"), {})
    assert capsys.readouterr().out
