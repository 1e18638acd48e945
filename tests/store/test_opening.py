"""How a database is opened: by whom it may be read, where its key is, what an old one becomes, and to read only."""

from __future__ import annotations

import logging
import math
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from core_kit import Tools, call, key, memory_of, stored
from test_sql import NOW, event

from btm import ToolMemory
from btm.cli.main import cli
from btm.errors import StoreError
from btm.fallback import FallbackMap
from btm.lab.memory_arms import memory_arm
from btm.model import Effect, ToolCall
from btm.store import FittedConversation, Store, hash_key
from btm.store.merging import made_whole
from btm.store.sql import SqlStore
from btm.store.stand_in import open_store


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def for_memory(path: Path) -> Store:
    return open_store(path, None, NOW, None, read_only=False, strict=False)


def stated(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, value FROM btm_meta").fetchall())


def test_a_new_database_and_all_beside_it_are_for_its_owner_alone(tmp_path: Path) -> None:
    store = SqlStore(tmp_path / "btm.db")
    store.write([event(1)])
    found = {path.name: mode(path) for path in tmp_path.iterdir()}
    assert set(found) >= {"btm.db", "btm.db-wal", "btm.db.key"}
    assert set(found.values()) == {0o600}
    store.close()


def test_the_hash_key_is_not_in_the_database(tmp_path: Path) -> None:
    store = SqlStore(tmp_path / "btm.db")
    secret = store.load(NOW).hash_key
    store.close()
    assert secret.hex() == (tmp_path / "btm.db.key").read_text()
    assert secret not in (tmp_path / "btm.db").read_bytes()
    assert secret.hex() not in str(stated(tmp_path / "btm.db"))


def test_a_key_from_the_environment_is_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(hash_key.VARIABLE, "correct horse battery staple")
    one, two = (SqlStore(tmp_path / "btm.db") for _ in range(2))
    assert one.load(NOW).hash_key == two.load(NOW).hash_key != b""
    assert not (tmp_path / "btm.db.key").exists()


def test_who_lacks_the_environments_key_is_told_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(hash_key.VARIABLE, "correct horse battery staple")
    SqlStore(tmp_path / "btm.db").close()
    monkeypatch.delenv(hash_key.VARIABLE)
    with caplog.at_level(logging.WARNING, "btm"):
        assert for_memory(tmp_path / "btm.db").load(NOW).hash_key
    assert hash_key.VARIABLE in caplog.text
    assert not (tmp_path / "btm.db.key").exists()


def test_a_lost_key_is_replaced_once_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    SqlStore(tmp_path / "btm.db").close()
    (tmp_path / "btm.db.key").unlink(missing_ok=True)
    with caplog.at_level(logging.WARNING, "btm"):
        first = for_memory(tmp_path / "btm.db").load(NOW).hash_key
        assert for_memory(tmp_path / "btm.db").load(NOW).hash_key == first
    assert caplog.text.count("another hash key") == 1


def test_who_only_reads_what_was_learned_needs_no_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with memory_of(path=tmp_path / "btm.db") as memory:  # under a key of its own
        memory.call(call("get_order"), Tools(get_order=[TimeoutError("timed out")]))
    argv = ["context", "--tool", "get_order", "--error", "timeout", "--db", str(tmp_path / "btm.db")]
    with caplog.at_level(logging.WARNING, "btm"):
        result = CliRunner().invoke(cli, argv, catch_exceptions=False)
    assert result.exit_code == 0
    assert caplog.messages == []


def test_a_key_that_may_not_be_read_does_not_hide_what_was_learned(tmp_path: Path) -> None:
    with memory_of(path=tmp_path / "btm.db") as memory:
        memory.call(call("get_order"), Tools(get_order=[TimeoutError("timed out")]))
    (tmp_path / "btm.db.key").unlink(missing_ok=True)
    (tmp_path / "btm.db.key").mkdir()  # who runs the tests may be allowed to read every file
    argv = ["show", "--db", str(tmp_path / "btm.db")]
    assert CliRunner().invoke(cli, argv, catch_exceptions=False).exit_code == 0
    SqlStore(tmp_path / "btm.db", read_only=True).close()
    with pytest.raises(StoreError, match="cannot be read"):
        SqlStore(tmp_path / "btm.db")


def test_an_evaluations_key_is_kept_beside_its_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "demo.db"
    arm = memory_arm("btm", FallbackMap.empty(), 0, path)
    arm.memory.close()
    with caplog.at_level(logging.WARNING, "btm"), ToolMemory.open(path) as memory:
        assert memory.flush()
    assert caplog.messages == []


@pytest.mark.parametrize("content", ["", "no key", "é"])
def test_a_damaged_key_is_a_store_error_with_its_cure(content: str, tmp_path: Path) -> None:
    SqlStore(tmp_path / "btm.db").close()
    (tmp_path / "btm.db.key").write_text(content)
    with pytest.raises(StoreError, match=r"btm\.db\.key"):
        SqlStore(tmp_path / "btm.db")


def as_of_version_1(path: Path, secret: bytes) -> None:
    """Turn a database into what btm 0.1 left."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE intents")
        connection.execute("DROP INDEX attempts_by_key")
        connection.execute("DROP INDEX incidents_left_open")
        connection.execute("DELETE FROM btm_meta WHERE key LIKE 'hash_key%'")
        connection.execute("INSERT INTO btm_meta VALUES ('hash_key', ?)", (secret.hex(),))
        connection.execute("UPDATE btm_meta SET value = '1' WHERE key = 'schema_version'")
    path.with_name(f"{path.name}.key").unlink()
    path.chmod(0o644)


def test_an_older_database_is_brought_along_and_its_key_leaves_it(tmp_path: Path) -> None:
    path, secret = tmp_path / "btm.db", b"sixteen bytes it"
    old = SqlStore(path)
    old.write([event(1)])
    old.close()
    as_of_version_1(path, secret)
    store = SqlStore(path)
    assert stored(store).keys() == {key("get_order", "timeout", "retry")}
    assert store.load(NOW).hash_key == secret
    store.write([event(2)])
    store.close()
    assert stated(path)["schema_version"] == "2"
    assert "hash_key" not in stated(path)
    assert secret.hex().encode() not in path.read_bytes()
    assert mode(path) == mode(tmp_path / "btm.db.key") == 0o600
    with closing(sqlite3.connect(path)) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert {"intents", "attempts_by_key", "incidents_left_open"} <= names


def test_an_older_database_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    old = SqlStore(path)
    old.write([event(1)])
    old.close()
    as_of_version_1(path, b"sixteen bytes it")
    store = SqlStore(path, read_only=True)
    assert len(stored(store)) == 1
    store.close()
    assert stated(path)["schema_version"] == "1"


def test_reading_waits_for_no_writer_and_keeps_none_waiting(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    writer = SqlStore(path)
    writer.write([event(1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        reader = SqlStore(path, read_only=True)
        assert len(stored(reader)) == 1
        assert SqlStore(path).load(NOW).evidence, "a memory opens, too"
        other.execute("ROLLBACK")
    with reader._database.reading() as connection:
        connection.exec_driver_sql("SELECT * FROM calls").all()
        assert writer.write([event(2)]) == []


def test_what_is_opened_to_read_is_neither_made_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    with pytest.raises(StoreError):
        SqlStore(path, read_only=True)
    assert list(tmp_path.iterdir()) == []
    SqlStore(path).close()
    with pytest.raises(StoreError, match="opened to read"):
        SqlStore(path, read_only=True).write([event(1)])


def test_a_database_in_a_folder_that_cannot_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "what? 100%.db"
    store = SqlStore(path)
    store.write([event(1)])
    store.close()
    monkeypatch.setattr("os.access", lambda *_: False)  # as it is for others than root
    assert len(stored(SqlStore(path, read_only=True))) == 1
    assert {p.name for p in tmp_path.iterdir()} == {path.name, f"{path.name}.key"}


def test_a_merge_that_ends_half_way_leaves_no_file(tmp_path: Path) -> None:
    def half_way() -> None:
        with made_whole(str(tmp_path / "all.db")) as place:
            SqlStore(place).close()
            assert not (tmp_path / "all.db").exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_way()
    assert list(tmp_path.iterdir()) == []


def test_a_merge_replaces_no_file_that_came_meanwhile(tmp_path: Path) -> None:
    output = tmp_path / "all.db"

    def meanwhile() -> None:
        with made_whole(str(output)) as place:
            SqlStore(place).close()
            output.write_text("somebody else's")

    with pytest.raises(StoreError, match="exists"):
        meanwhile()
    assert output.read_text() == "somebody else's"


# -- a memory whose database fails -----------------------------------------------------------------------------------


def test_a_damaged_database_does_not_stop_the_agent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "btm.db"
    path.write_bytes(b"This is no database. " * 500)
    with caplog.at_level(logging.WARNING, "btm"):
        memory = ToolMemory.open(path)
    assert memory.call(ToolCall("get", {}, Effect.READ), lambda *_: "answer").result == "answer"
    assert memory.flush()
    assert "not a database" in memory.health().trouble
    assert len(caplog.records) == 1
    assert memory.close()
    assert path.read_bytes() == b"This is no database. " * 500
    with pytest.raises(StoreError):
        ToolMemory.open(path, strict=True)


def test_what_may_only_be_read_is_known_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    store = SqlStore(path)
    store.write([event(1)])
    store.close()
    memory = ToolMemory.open(path, read_only=True)
    assert len(memory.beliefs()) == 1
    memory.call(ToolCall("get", {}, Effect.READ), lambda *_: "answer")
    assert memory.flush()
    memory.close()
    assert len(SqlStore(path).log("calls")) == 1


def test_a_memory_says_what_waits_for_its_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btm.store.troubles.LOCK_WAIT_S", 0.05)
    path = tmp_path / "btm.db"
    memory = ToolMemory.open(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory.call(ToolCall("get", {}, Effect.READ), lambda *_: "answer")
        assert not memory.flush()
        assert memory.health().waiting == 1
        assert "locked" in memory.health().trouble
        assert not memory.close(), "it is not in the database"
        other.execute("ROLLBACK")
    assert len(list(tmp_path.glob("*.waiting-*"))) == 1
    again = ToolMemory.open(path)
    assert again.health().waiting == 0
    again.close()
    assert len(SqlStore(path).log("calls")) == 1


DAMAGE = pytest.mark.parametrize(
    "statement",
    [
        "UPDATE btm_meta SET value = '0' WHERE key = 'half_life_s'",
        "UPDATE btm_meta SET value = '-5' WHERE key = 'half_life_s'",
        "UPDATE btm_meta SET value = 'nan' WHERE key = 'half_life_s'",
        "UPDATE btm_meta SET value = '1e999' WHERE key = 'landmark'",
        "UPDATE evidence SET ordinal = 77",
        "UPDATE evidence SET ordinal = 'x'",
        "UPDATE evidence SET successes = 1e400",
        "UPDATE evidence SET kind = 'nope'",
        "UPDATE evidence SET tool = x'ff00'",
        "UPDATE calls SET ended_at = 'x'",
        """INSERT INTO btm_meta VALUES ('priors', '{"strengths": [0, 0, 0], "means": []}')""",
        "INSERT INTO btm_meta VALUES ('priors', '[1]')",
    ],
)


@DAMAGE
def test_values_that_no_btm_has_written_are_told_and_stop_no_agent(
    statement: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "btm.db"
    store = SqlStore(path)
    store.write([event(1)])
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    for argv in (["show", "--json"], ["show"], ["explain", "--tool", "get_order", "--error", "timeout"]):
        result = CliRunner().invoke(cli, [*argv, "--db", str(path)])
        assert isinstance(result.exception, StoreError)
        assert "holds what btm cannot read" in str(result.exception)
    with caplog.at_level(logging.WARNING, "btm"), ToolMemory.open(path) as memory:
        assert memory.call(ToolCall("get_x", {}, Effect.READ), lambda tool, given: 1).unwrap() == 1
    assert len(caplog.messages) == 1


def fitted_from_logs(path: Path) -> None:
    with closing(SqlStore(path, half_life_s=math.inf, now=NOW)) as store:
        store.add_learned(
            [(key("get_order", "timeout", "retry"), 8.0, 2.0)], fitted=[FittedConversation("d", "log:1", 20)]
        )


def test_what_was_fitted_from_logs_fades_once_it_goes_live_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fitted_from_logs(tmp_path / "btm.db")
    now = NOW + 1e8
    for _ in range(2):
        with closing(ToolMemory.open(tmp_path / "btm.db", clock=lambda: now)) as memory:
            belief = memory.belief(key("get_order", "timeout", "retry"))
            assert belief.n == pytest.approx(10.0)  # what was fitted counts in full on the first day
    assert caplog.text.count("forgets half in 14 days") == 1
    with closing(ToolMemory.open(tmp_path / "btm.db", clock=lambda: now + 14 * 86_400)) as memory:
        assert memory.belief(key("get_order", "timeout", "retry")).n == pytest.approx(5.0)


@pytest.mark.parametrize("how", [{"half_life_s": math.inf}, {"read_only": True}])
def test_who_asks_for_no_half_life_or_only_reads_keeps_what_was_fitted_for_good(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    fitted_from_logs(tmp_path / "btm.db")
    with closing(ToolMemory.open(tmp_path / "btm.db", clock=lambda: NOW + 1e9, **how)) as memory:
        assert memory.belief(key("get_order", "timeout", "retry")).n == pytest.approx(10.0)
    assert stated(tmp_path / "btm.db")["half_life_s"] == "inf"
