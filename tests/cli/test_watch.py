"""``btm watch``: incidents as they open and end, and what is new among them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from core_kit import NO_MAP, Clock, Tools, call, memory_of

from btm.cli.main import cli
from btm.cli.watch import Incidents


def fail(memory: object, conversation: str, text: str, *, again: bool = False) -> None:
    for reply in [RuntimeError(text)] + ["fine"] * again:
        memory.call(call("get_order", conversation, order_id="o1"), Tools(get_order=[reply]))  # type: ignore[attr-defined]


def test_what_changes_is_told_once(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    with memory_of(clock, path=path, fallback_map=NO_MAP) as memory:
        fail(memory, "old", "timed out after 3 s")
        assert memory.flush()
        clock.now += 60.0
        looking = Incidents(str(path), clock.now)
        assert list(looking.look()) == []
        fail(memory, "one", "timed out after 9 s")
        fail(memory, "two", "ledger epoch mismatch (shard 4)", again=True)
        assert memory.flush()
        seen = [(row["conversation"], row["state"], row["new"]) for row in looking.look()]
        assert seen == [("one", "open", False), ("two", "resolved", True)]
        assert list(looking.look()) == []
        memory.end("one")
        fail(memory, "three", "ledger epoch mismatch (shard 77)")
        assert memory.flush()
        seen = [(row["conversation"], row["state"], row["new"]) for row in looking.look()]
        assert seen == [("one", "abandoned", False), ("three", "open", False)]


def test_the_command_prints_lines_and_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    with memory_of(path=path, fallback_map=NO_MAP) as memory:
        fail(memory, "one", "odd thing 17 broke")
        memory.flush()
        argv = ["watch", "--db", str(path), "--since", "40000d", "--once"]
        told = CliRunner().invoke(cli, argv, catch_exceptions=False).output
        rows = (
            CliRunner().invoke(cli, [*argv, "--json", "--novel"], catch_exceptions=False).output.splitlines()
        )
    assert "open" in told
    assert "NEW" in told
    assert "odd thing 17 broke" in told
    assert json.loads(rows[0])["template"] == "odd thing <N> broke"
    for wrong in ("soon", "nan", "", "-5m", "infd", "0s"):
        done = CliRunner().invoke(cli, ["watch", "--db", str(path), f"--since={wrong}", "--once"])
        assert done.exit_code == 2
        assert "is no age" in done.output
