from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from database_kit import run, run_json

from btm import ToolCall, ToolMemory


def lived(path: Path, *, dead: int, well: int = 3) -> Path:
    """Let a memory live through calls of a tool that works and of one that is down, a second apart up to now."""
    clock = [time.time() - dead - well - 1.0]

    def tool(name: str, _: Any) -> str:
        if name == "get_order":
            raise TimeoutError("Read timed out.")
        return "fine"

    with ToolMemory.open(path, mode="observe", clock=lambda: clock[0]) as memory:
        for number in range(dead + well):
            clock[0] += 1.0
            name = "get_order" if number < dead else "list_orders"
            memory.call(ToolCall(name, {"n": number}, conversation=f"c{number}"), tool)
    return path


def test_what_is_down_stands_first_with_its_state(tmp_path: Path) -> None:
    first, second = run_json("show", "--health", "--db", lived(tmp_path / "btm.db", dead=20))
    assert (first["tool"], first["state"], first["calls"], first["failed"]) == ("get_order", "open", 20, 20)
    assert first["last_error"] == "timeout"
    assert first["down_since"] < first["next_try_at"]
    assert (second["tool"], second["state"], second["failed"]) == ("list_orders", "closed", 0)


def test_a_few_failures_are_no_outage(tmp_path: Path) -> None:
    rows = run_json("show", "--health", "--db", lived(tmp_path / "btm.db", dead=4), "--tool", "get_order")
    assert [row["state"] for row in rows] == ["closed"]


def test_people_get_a_table_or_a_sentence(tmp_path: Path) -> None:
    shown = run("show", "--health", "--db", lived(tmp_path / "btm.db", dead=20)).stdout
    assert "open for" in shown
    assert "20 of 20" in shown
    assert "No calls in the last 20 minutes" in run(
        "show", "--health", "--db", tmp_path / "btm.db", "--tool", "none"
    ).stdout.replace("\n", " ")
