import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from btm.errors import EvaluationError
from btm.lab.database import is_evaluation, new_database
from btm.store.sql import SqlStore


def test_a_database_of_an_earlier_evaluation_is_replaced(tmp_path: Path) -> None:
    path = new_database(tmp_path / "demo.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE old (x)")
    path.with_name("demo.db-wal").write_bytes(b"")
    assert new_database(path) == path
    with closing(sqlite3.connect(path)) as connection:
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    assert tables == {"btm_meta"}


def test_a_database_with_evidence_of_real_calls_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    SqlStore(path).close()
    before = path.read_bytes()
    with pytest.raises(EvaluationError, match="no evaluation wrote it"):
        new_database(path)
    assert path.read_bytes() == before


def test_any_other_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("dear all")
    assert not is_evaluation(path)
    with pytest.raises(EvaluationError, match="is there already"):
        new_database(path)
    assert path.read_text() == "dear all"


def test_a_place_that_cannot_hold_a_database_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="is a folder"):
        new_database(tmp_path)
    with pytest.raises(EvaluationError, match="there is no folder"):
        new_database(tmp_path / "nowhere" / "x.db")


def test_a_store_opens_on_a_marked_database(tmp_path: Path) -> None:
    path = new_database(tmp_path / "demo.db")
    SqlStore(path).close()
    assert is_evaluation(path)


def test_a_database_that_cannot_be_made_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "demo.db").symlink_to(tmp_path / "no-such-folder" / "demo.db")
    with pytest.raises(EvaluationError, match=r"demo\.db cannot be made"):
        new_database(tmp_path / "demo.db")
