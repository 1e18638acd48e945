from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from btm import ToolMemory
from btm.cli.main import cli
from btm.model import ToolCall


def database(tmp_path: Path) -> str:
    path = tmp_path / "btm.db"
    with ToolMemory.open(path) as memory:
        memory.call(
            ToolCall("get_order", {"order_id": "O1"}, conversation="c"), lambda tool, arguments: "fine"
        )
    return str(path)


def test_events_are_written_to_stdout_and_remarks_beside_it(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["export", "events", "--db", database(tmp_path), "-o", "-"])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    assert json.loads(line)["tool"] == "get_order"
    assert "1 event in" in result.stderr


def test_two_things_cannot_go_to_stdout(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["export", "events", "--db", database(tmp_path), "-o", "-", "--json"])
    assert result.exit_code == 2
    assert "both want stdout" in result.stderr


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "events.jsonl"
    result = CliRunner().invoke(
        cli, ["export", "events", "--db", database(tmp_path), "-o", str(target), "--json"]
    )
    assert json.loads(result.stdout) == {"written": 1, "out": str(target)}
    assert len(target.read_text().splitlines()) == 1
