from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from database_kit import live, run, run_json

from btm.cli.main import main
from btm.store import FittedConversation
from btm.store.sql import SqlStore


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    return live(tmp_path / "a.db", [True, False, True]), live(
        tmp_path / "b.db", [False] * 5, conversations="d"
    )


def beliefs(database: Path) -> Any:
    return {(r["tool"], r["action"]): (r["mean"], r["n"]) for r in run_json("show", "--db", database)}


def test_merging_equals_having_learned_in_one_place(two: tuple[Path, Path], tmp_path: Path) -> None:
    merged = tmp_path / "merged.db"
    assert run_json("merge", *two, "-o", merged) == {
        "sources": [str(path) for path in two],
        "output": str(merged),
        "keys": 1,
    }
    together = live(live(tmp_path / "all.db", [True, False, True]), [False] * 5, conversations="d")
    found, expected = beliefs(merged), beliefs(together)
    assert found.keys() == expected.keys()
    for key, numbers in found.items():
        assert numbers == pytest.approx(expected[key], rel=1e-4)  # learned seconds apart


def test_the_order_does_not_matter(two: tuple[Path, Path], tmp_path: Path) -> None:
    run("merge", *two, "-o", tmp_path / "ab.db")
    run("merge", *reversed(two), "-o", tmp_path / "ba.db")
    ab, ba = beliefs(tmp_path / "ab.db"), beliefs(tmp_path / "ba.db")
    assert all(ab[key] == pytest.approx(ba[key]) for key in ab)


def test_people_are_told_what_was_merged(two: tuple[Path, Path], tmp_path: Path) -> None:
    assert "1 posterior from 2 databases" in run("merge", *two, "-o", tmp_path / "m.db").stdout


def test_an_existing_output_is_left_alone(two: tuple[Path, Path]) -> None:
    before = two[0].read_bytes()
    result = run("merge", *two, "-o", two[0])
    assert result.exit_code == 2
    assert "exists" in result.stderr
    assert two[0].read_bytes() == before


def test_a_database_named_twice_would_count_twice(two: tuple[Path, Path], tmp_path: Path) -> None:
    result = run("merge", two[0], two[0].parent / "." / "a.db", "-o", tmp_path / "m.db")
    assert result.exit_code == 2
    assert "twice" in result.stderr
    assert not (tmp_path / "m.db").exists()


def test_databases_with_a_conversation_in_common_leave_no_output(
    two: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path in two:
        store = SqlStore(path)
        store.add_learned((), fitted=[FittedConversation("d" * 32, "monday.jsonl:7", 3)])
        store.close()
    monkeypatch.setattr("sys.argv", ["btm", "merge", *map(str, two), "-o", str(tmp_path / "m.db")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "monday.jsonl:7" in capsys.readouterr().err
    assert not (tmp_path / "m.db").exists()


def test_sources_and_an_output_are_asked_for(tmp_path: Path) -> None:
    assert run("merge", "-o", tmp_path / "m.db").exit_code == 2
    assert run("merge", tmp_path / "a.db").exit_code == 2
