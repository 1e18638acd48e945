"""``btm db`` and ``btm doctor``."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from core_kit import NO_MAP, Clock, Tools, call, memory_of

from btm.cli.main import cli
from btm.store.sql import SqlStore


def btm(*argv: object) -> Result:
    return CliRunner().invoke(cli, [str(part) for part in argv])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with memory_of(Clock(), path=tmp_path / "btm.db", fallback_map=NO_MAP) as memory:
        for reply in (TimeoutError("timed out"), "fine"):
            memory.call(call("get_order", "talk", order_id="o1"), Tools(get_order=[reply]))
    return tmp_path / "btm.db"


def test_info_and_check(path: Path) -> None:
    assert json.loads(btm("db", "info", "--db", path, "--json").output)["rows"]["calls"] == 2
    assert "2 of 1 tool" in btm("db", "info", "--db", path).output
    assert btm("db", "check", "--db", path).exit_code == 0
    path.chmod(0o666)
    checked = btm("db", "check", "--db", path, "--json")
    assert checked.exit_code == 1
    assert "chmod 600" in json.loads(checked.output)["problems"][0]


def test_a_database_goes_through_backup_export_and_import(path: Path, tmp_path: Path) -> None:
    assert btm("db", "backup", "--db", path, "-o", tmp_path / "copy.db").exit_code == 0
    assert btm("db", "export", "--db", path, "-o", tmp_path / "all.jsonl").exit_code == 0
    made = btm("db", "import", tmp_path / "all.jsonl", "--db", tmp_path / "again.db", "--json")
    assert json.loads(made.output)["calls"] == 2
    shown = [
        json.loads(btm("show", "--db", tmp_path / name, "--json").output) for name in ("copy.db", "again.db")
    ]
    assert [[row["n"] for row in rows] for rows in shown] == [[1.0], [1.0]]
    assert btm("db", "compact", "--db", path).exit_code == 0


@pytest.mark.parametrize("options", [(), ("--with-key",)])
def test_a_database_goes_on_elsewhere_under_its_own_key_where_that_is_asked_for(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    path, dumped, again = tmp_path / "own.db", tmp_path / "all.jsonl", tmp_path / "again.db"
    SqlStore(path).close()
    assert btm("db", "export", "--db", path, "-o", dumped, *options).exit_code == 0
    assert btm("db", "import", dumped, "--db", again).exit_code == 0
    keys = [Path(f"{database}.key").read_text() for database in (path, again)]
    assert (keys[0] == keys[1]) is bool(options)


def test_forget_and_keep(path: Path) -> None:
    assert btm("db", "forget", "--db", path).exit_code == 2
    removed = btm("db", "forget", "--db", path, "--conversation", "talk", "--json")
    assert json.loads(removed.output)["calls"] == 2
    assert b"talk" not in path.read_bytes()
    assert "for ever" in btm("db", "info", "--db", path).output
    assert btm("db", "keep", "30d", "--db", path).exit_code == 0
    assert "30 days" in btm("db", "info", "--db", path).output
    assert btm("db", "keep", "forever", "--db", path).exit_code == 0
    assert (
        "is no age" in btm("db", "keep", "-3d", "--db", path).output
        or btm("db", "keep", "x", "--db", path).exit_code == 2
    )


def test_no_command_makes_a_database(tmp_path: Path) -> None:
    for argv in (["info"], ["check"], ["compact"], ["keep", "3d"], ["migrate"], ["forget", "--tool", "t"]):
        result = btm("db", *argv, "--db", tmp_path / "none.db")
        assert "there is no database" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_an_older_database_is_migrated_when_asked(tmp_path: Path) -> None:
    schema = Path(__file__).parents[1] / "store" / "schemas" / "schema-1.sql"
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript(schema.read_text("utf-8"))
    assert btm("db", "info", "--db", tmp_path / "old.db", "--json").exit_code == 0
    assert "schema 1, now " in btm("db", "migrate", "--db", tmp_path / "old.db").output
    assert (tmp_path / "old.db.schema-1").exists()


def test_the_doctor_finds_what_is_wrong(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    well = btm("doctor", "--db", path, "--map", "retail", "--json")
    assert well.exit_code == 0, well.output
    assert {row["level"] for row in json.loads(well.output)} <= {"ok", "note"}
    (tmp_path / "bad.yaml").write_text("version: 1\n")
    monkeypatch.setenv("BTM_DISABLED", "1")
    path.chmod(0o644)
    ill = btm("doctor", "--db", path, "--map", tmp_path / "bad.yaml", "--json")
    assert ill.exit_code == 1
    wrong = {row["what"] for row in json.loads(ill.output) if row["level"] == "wrong"}
    assert wrong == {"BTM_DISABLED", f"map {tmp_path / 'bad.yaml'}", f"database {path}"}
    missing = btm("doctor", "--db", tmp_path / "none.db", "--json")
    assert missing.exit_code == 1


def test_the_doctor_without_a_database_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = btm("doctor")
    assert result.exit_code == 0
    assert "name one with --db" in result.output


def test_the_doctor_finds_a_hash_key_that_was_lost_or_is_none(tmp_path: Path) -> None:
    SqlStore(tmp_path / "btm.db").close()
    key = tmp_path / "btm.db.key"
    for broken in (key.unlink, lambda: key.write_text("zz")):
        broken()
        found = btm("doctor", "--db", tmp_path / "btm.db", "--json")
        assert found.exit_code == 1
        assert "another hash key" in found.output


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ann:hunter2@localhost:1/x",
        "postgresql+psycopg://ann@localhost:1/x?password=hunter2",
        "postgres://ann:hunter2@localhost:1/x",
        "mysql://ann:hunter2@localhost:1/x",
    ],
)
@pytest.mark.parametrize("command", [["doctor"], ["db", "check"], ["show"], ["db", "keep", "30d"]])
def test_no_command_shows_a_databases_password(url: str, command: list[str]) -> None:
    done = btm(*command, "--db", url)
    assert done.exit_code
    assert "hunter2" not in f"{done.output}{done.exception}"
