"""docs/judge.md: every command, as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from judge_kit import RIGHT_DAY, WRONG_DAY, log_of

from btm.cli.main import cli
from btm.judge.verdict import ErrorCategory

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "judge.md").read_text("utf-8")


def test_the_page_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log_of(Path("chats.jsonl"), [WRONG_DAY, RIGHT_DAY])
    (commands,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    said = []
    for line in commands.splitlines():
        program, *arguments = line.split()
        assert program == "btm"
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, (line, result.output)
        said.append(result.stdout)
    assert "evidence of 1 calls moved" in said[1]
    assert "of 1 moved back" in said[2]


def test_the_page_names_what_each_verdict_counts_as() -> None:
    for category in ErrorCategory:
        assert f"| `{category}` | `{category.kind}` |" in PAGE
