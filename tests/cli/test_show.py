from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from database_kit import MAP, live, run, run_json

from btm import ToolMemory
from btm.fallback import FallbackMap
from btm.model import ToolCall


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = live(tmp_path / "btm.db", [False] * 8 + [True] * 8)
    return live(path, [True, False], tool="list_orders", conversations="d")


def test_json_is_one_document_with_a_row_a_key_most_evidence_first(database: Path) -> None:
    first, second = run_json("show", "--db", database)
    assert first == {
        **first,
        "tool": "get_order",
        "kind": "timeout",
        "action": "retry",
        "target": None,
        "ordinal": 1,
    }
    assert first["n"] == pytest.approx(8.0, rel=1e-3), "the first eight failed: that is past"
    assert 0.0 < first["low"] < first["mean"] < first["high"] < 1.0
    assert first["mean"] == pytest.approx(first["alpha"] / (first["alpha"] + first["beta"]))
    assert second["tool"] == "list_orders"


def test_a_trend_is_told_where_it_is_clear_and_attempts_are_there(database: Path) -> None:
    first, second = run_json("show", "--db", database)
    trend = first["trend"]
    assert (trend["direction"], trend["earlier"], trend["later"]) == ("better", 0.0, 1.0)
    assert trend["attempts"] == 16
    assert trend["better"] > 0.99
    assert second["trend"] is None


def test_beliefs_are_those_of_a_memory_that_opens_the_database(tmp_path: Path) -> None:
    """Priors are fitted, and what a change made old is let go."""
    path = tmp_path / "changed.db"
    with ToolMemory.open(path, fallback_map=FallbackMap.from_text(MAP), mode="observe") as memory:
        for number in range(80):
            results: list[Any] = [
                TimeoutError("timed out"),
                {"id": 1} if number < 60 else TimeoutError("timed out"),
            ]
            for _ in range(2):
                call = ToolCall("get_order", {"order_id": "O1"}, conversation=f"c{number}")
                memory.call(call, lambda *_, r=results: _raised(r.pop(0)))
    with ToolMemory.open(path, fallback_map=FallbackMap.from_text(MAP)) as memory:
        believed = {key.ordinal: belief for key, belief in memory.beliefs() if key.action == "retry"}
    (row,) = [
        row for row in run_json("show", "--db", path) if (row["action"], row["ordinal"]) == ("retry", 1)
    ]
    assert row["mean"] == pytest.approx(believed[1].mean, rel=1e-4)
    assert row["n"] == pytest.approx(believed[1].n, rel=1e-4)
    assert row["n"] < 25


def _raised(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result


def test_people_see_the_chance_as_a_bar_with_its_interval_n_and_trend(database: Path) -> None:
    shown = run("show", "--db", database).stdout
    line = next(line for line in shown.splitlines() if "retry, 1st try" in line)
    assert "●" in line
    assert "━" in line
    assert "n 8 " in line
    assert line.endswith("better: 0 of 8, then 8 of 8")
    assert "get_order after timeout" in shown


def test_filters_narrow_the_rows(database: Path) -> None:
    def tools(*options: str) -> set[str]:
        return {row["tool"] for row in run_json("show", "--db", database, *options)}

    assert tools("--tool", "list_orders") == {"list_orders"}
    assert tools("--error", "timeout", "--action", "retry") == {"get_order", "list_orders"}
    assert tools("--error", "rate_limit") == set()
    assert tools("--min-n", "5") == {"get_order"}


def test_a_limit_cuts_what_people_see_and_says_so(database: Path) -> None:
    shown = run("show", "--db", database, "--limit", "1").stdout
    assert "list_orders" not in shown
    assert "1 more" in shown
    assert len(run_json("show", "--db", database, "--limit", "1")) == 2


def test_an_empty_answer_says_so(database: Path, tmp_path: Path) -> None:
    assert "answers this" in run("show", "--db", database, "--error", "rate_limit").stdout
    empty = live(tmp_path / "empty.db", [])
    assert "learned nothing yet" in run("show", "--db", empty).stdout
    assert run_json("show", "--db", empty) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tool", "get_ordr"), "did you mean 'get_order'?"),
        (("--error", "timeuot"), "did you mean 'timeout'?"),
        (("--action", "rety"), "did you mean 'retry'?"),
        (("--limit", "0"), "--limit"),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_wrong_name_exits_2_with_the_nearest(
    database: Path, options: tuple[str, ...], message: str, form: tuple[str, ...]
) -> None:
    result = run("show", "--db", database, *options, *form)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_database_that_is_not_there_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    result = run("show", "--db", tmp_path / "none.db")
    assert result.exit_code != 0
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [("empty", "is an empty file and no database"), ("foreign", "is a database of another program")],
)
def test_a_file_that_is_no_database_of_btm_is_left_as_it_is(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.db"
    path.touch()
    if content == "foreign":
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE mine (a)")
            other.commit()
    before = path.read_bytes()
    for command in (("show",), ("map", "draw", "shop"), ("export", "events", "-o", tmp_path / "x.jsonl")):
        result = run(*command, "--db", path)
        assert message in str(result.exception) + result.stderr
    assert path.read_bytes() == before


def test_a_trend_that_does_not_fit_stands_on_a_line_of_its_own(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("btm.cli.output._PIPE_WIDTH", 70)
    assert "  better: 0 of 8, then 8 of 8" in run("show", "--db", database).stdout.splitlines()


def test_evidence_is_asked_for_in_numbers(database: Path) -> None:
    assert run("show", "--db", database, "--min-n", "nan").exit_code == 2
    assert run("show", "--db", database, "--min-n", "-1").exit_code == 2


def test_a_narrow_terminal_shortens_the_bar_and_keeps_a_line_a_key(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("btm.cli.output._PIPE_WIDTH", 60)
    lines = [
        line
        for line in run("show", "--db", database, "--tool", "list_orders").stdout.splitlines()
        if "●" in line
    ]
    assert lines
    assert all(len(line) <= 60 and " n " in line for line in lines)
