"""docs/skills.md: every command and block of code, as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from skill_kit import repaired, repeated

from btm.cli.main import cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "skills.md").read_text("utf-8")


def test_the_page_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text("".join(repaired(n) + repeated(n) for n in range(4)))
    Path("later.jsonl").write_text("".join(repaired(n) + repeated(n) for n in range(4, 6)))
    (commands,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in commands.splitlines():
        program, *arguments = line.split()
        assert program == "btm"
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, (line, result.output)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "skills.md", "exec"), {})
    said = capsys.readouterr().out
    line = re.search(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert line is not None
    assert line[1] in said
