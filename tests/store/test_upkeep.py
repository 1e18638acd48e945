"""Looking after a database: sound or not, smaller, copied, thinned out, and forgetting what it must forget."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from core_kit import NO_MAP, Clock, Tools, call, key, memory_of, recounted, stored

from btm.errors import StoreError
from btm.model import Effect, ToolCall
from btm.store import forgetting, hash_key, meta, upkeep
from btm.store.dump import lines, read_into
from btm.store.sql import SqlStore

DAY = 86_400.0


def lived(path: Path, clock: Clock, *conversations: str, tool: str = "get_order") -> None:
    """Have each conversation fail once and get going again by a repeat."""
    with memory_of(clock, path=path, fallback_map=NO_MAP, half_life_s=14 * DAY) as memory:
        for conversation in conversations:
            for reply in (TimeoutError("timed out"), "fine"):
                memory.call(call(tool, conversation, order_id=f"o-{conversation}"), Tools(**{tool: [reply]}))
            memory.end(conversation)
            clock.now += 60.0


def bytes_of(path: Path) -> bytes:
    return b"".join(p.read_bytes() for p in path.parent.iterdir() if p.name.startswith(path.name))


def test_what_a_database_holds_is_counted(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    lived(path, clock, "one", "two")
    found = upkeep.info(SqlStore(path))
    assert (found.rows["calls"], found.rows["attempts"], found.tools, found.unsettled) == (4, 2, 1, 0)
    assert found.bytes > 4_096
    assert found.waiting == ()
    assert upkeep.problems(SqlStore(path)) == []


def test_what_is_wrong_is_told_with_its_cure(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    lived(path, Clock(), "one")
    path.chmod(0o644)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE evidence SET successes = 0")
    (tmp_path / f"{path.name}.waiting-0").touch(0o600)
    said = "\n".join(upkeep.problems(SqlStore(path, read_only=True)))
    for part in ("1 posteriors count less", "chmod 600", ".waiting-0"):
        assert part in said


def test_a_forgotten_tool_is_in_no_byte_of_the_file(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    lived(path, clock, *(f"talk{n}" for n in range(50)), tool="secret_tool")
    lived(path, clock, "other", tool="get_order")
    assert b"secret_tool" in bytes_of(path)
    store = SqlStore(path)
    removed = upkeep.forget(store, tool="secret_tool")
    store.close()
    assert (removed["calls"], removed["attempts"], removed["evidence"]) == (100, 50, 1)
    assert b"secret_tool" not in bytes_of(path)
    store = SqlStore(path)
    assert upkeep.info(store).rows["calls"] == 2
    assert {key.tool for key in stored(store)} == {"get_order"}
    assert upkeep.problems(store) == []


def test_a_tool_is_forgotten_as_a_substitute_too_and_no_other_of_a_like_name(tmp_path: Path) -> None:
    store = SqlStore(tmp_path / "btm.db", half_life_s=14 * DAY)
    from btm.model import Action, ErrorKind, EvidenceKey

    def key(tool: str, target: str) -> EvidenceKey:
        return EvidenceKey(tool, ErrorKind.TIMEOUT, Action.SWITCH, target, 1)

    kept = [key("a", "find_all"), key("a", "re_find"), key("finder", ""), key("a", "x > finder")]
    gone = [
        key("find", "b"),
        key("a", "find"),
        key("a", "find > b"),
        key("a", "b > find"),
        key("a", "b > find > c"),
    ]
    store.add_learned([(k, 1.0, 0.0) for k in (*kept, *gone)])
    upkeep.forget(store, tool="find")
    assert stored(store).keys() == set(kept)


def test_a_forgotten_conversation_takes_along_what_it_taught(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    lived(path, clock, "private-talk", "other")
    lived(path, clock, "private-talk-2", tool="only_there")
    store = SqlStore(path)
    before = stored(store)
    upkeep.forget(store, conversation="private-talk")
    upkeep.forget(store, conversation="private-talk-2")
    assert b"private-talk" not in bytes_of(path)
    after = stored(store)
    assert {key.tool for key in before} == {"get_order", "only_there"}
    assert {key.tool for key in after} == {"get_order"}
    assert after == {key: pytest.approx(sums) for key, sums in recounted(store).items()}
    assert upkeep.problems(store) == []


def test_what_is_old_goes_and_what_it_taught_stays(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    lived(path, clock, "old")
    clock.now += 40 * DAY
    lived(path, clock, "new")
    store = SqlStore(path, now=clock.now)
    sums = stored(store)
    assert upkeep.keep(store, 30 * DAY, clock.now)["calls"] == 2
    assert stored(store) == sums
    store.close()
    clock.now += 40 * DAY
    lived(path, clock, "newest")  # whoever opens it removes what has become too old
    assert {row["conversation"] for row in SqlStore(path).log("calls")} == {"new", "newest"}
    clock.now += 2 * DAY
    lived(path, clock)
    assert {row["conversation"] for row in SqlStore(path).log("calls")} == {"newest"}


def test_a_clock_that_is_ahead_and_a_write_in_doubt_remove_nothing(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    with memory_of(clock, path=path, fallback_map=NO_MAP, half_life_s=14 * DAY) as memory:
        memory.call(
            ToolCall("pay", {"id": 1}, Effect.WRITE, "c", "1"), Tools(pay=[TimeoutError("timed out")])
        )
    store = SqlStore(path)
    assert upkeep.keep(store, 30 * DAY, clock.now + 3_650 * DAY) == {}
    store.close()
    clock.now += 100 * DAY
    lived(path, clock, "new")
    store = SqlStore(path, now=clock.now + 100 * DAY)
    found = upkeep.info(store)
    assert (found.rows["calls"], found.unsettled) == (2, 1)


def test_a_database_in_memory_keeps_the_latest_calls_and_all_that_was_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forgetting, "KEPT_IN_MEMORY", 20)
    clock = Clock()
    with memory_of(clock, fallback_map=NO_MAP, half_life_s=math.inf) as memory:
        for number in range(50):
            for reply in (TimeoutError("timed out"), "fine"):
                memory.call(call("get_order", f"talk{number}"), Tools(get_order=[reply]))
            memory.end(f"talk{number}")
            memory.flush()
            clock.now += 60.0
        store = memory._store
        assert isinstance(store, SqlStore)
        for table, most in (("calls", 22), ("attempts", 12), ("incidents", 12)):
            kept = store.log(table)
            assert 0 < len(kept) <= most
            assert kept[-1]["conversation"] == "talk49"
        assert stored(store) == {key("get_order", "timeout", "retry"): (50.0, 0.0)}


def test_a_backup_is_whole_and_goes_on_under_the_same_key(tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    with memory_of(clock, path=path, fallback_map=NO_MAP) as memory:
        memory.call(call("get_order", "open"), Tools(get_order=[TimeoutError("timed out")]))
        assert memory.flush()
        source = SqlStore(path)
        upkeep.backup(source, str(tmp_path / "copy.db"))  # while it is used
        with pytest.raises(StoreError, match=r"copy\.db cannot be written"):
            upkeep.backup(source, str(tmp_path / "copy.db"))
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    copy = SqlStore(tmp_path / "copy.db")
    assert upkeep.info(copy).rows["calls"] == 1
    assert hash_key.in_file(str(path)) == hash_key.in_file(str(tmp_path / "copy.db"))


@pytest.mark.parametrize("with_key", [True, False])
def test_a_dump_makes_an_equal_database(with_key: bool, tmp_path: Path) -> None:
    path, clock = tmp_path / "btm.db", Clock()
    lived(path, clock, "one", "two\udcff", "thrée")
    store = SqlStore(path)
    dumped = list(lines(store, with_key=with_key))
    again = tmp_path / "again.db"
    counts = read_into(str(again), dumped)
    other = SqlStore(again)
    assert counts["calls"] == 6
    assert stored(other) == stored(store)
    assert other.log("calls") == store.log("calls")
    assert other.decay == store.decay
    assert (other.load(0.0).hash_key == store.load(0.0).hash_key) is with_key
    assert (store.load(0.0).hash_key.hex().encode() in b"".join(dumped)) is with_key
    with pytest.raises(StoreError, match="holds something already"):
        read_into(str(again), dumped)


@pytest.mark.parametrize(
    ("dumped", "said"),
    [
        ([], "nothing in it"),
        ([b"{"], "line 1 is not JSON"),
        ([b'{"a": 1}'], "line 1 is not how"),
        ([b"[" * 100_000], "line 1 is not JSON"),
        ([b'{"btm": 99, "stated": {}}'], "schema 99.*use a newer btm"),
        ([b'{"btm": 1, "stated": {}}'], "schema 1.*then export it again"),
        ([b'{"btm": 2, "stated": {}}'], "line 1 states"),
        ([b'{"btm": 2, "stated": 5}'], "line 1 is not how"),
        ([b'{"btm": 2, "stated": {"half_life_s": "x", "landmark": "0"}}'], "line 1 states"),
        ([b'{"btm": 2, "stated": {"half_life_s": "1", "landmark": "0"}, "hash_key": 5}'], "line 1 states"),
    ],
)
def test_what_is_no_dump_is_told_with_its_line(dumped: list[bytes], said: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=said):
        read_into(str(tmp_path / "x.db"), dumped)
    good = list(lines(SqlStore(tmp_path / "y.db")))
    with pytest.raises(StoreError, match=r"line 3 "):
        read_into(str(tmp_path / "z.db"), [*good[:2], b"[1]\n"])


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("calls", {"conversation": None}, "line 2: conversation is no str, but None"),
        ("calls", {"started_at": {"a": 1}}, "line 2: started_at is no float"),
        ("calls", {"status_code": 10**30}, "line 2: status_code is beyond"),
        ("calls", {}, "does not take these rows: UNIQUE"),
        ("evidence", {"kind": "nokind"}, "line 2: 'nokind' is not a valid error kind"),
        ("evidence", {"failures": float("nan")}, "line 2: failures is beyond"),
        ("attempts", {"ordinal": 99}, "line 2: try number 99"),
    ],
)
def test_a_dump_whose_row_is_wrong_makes_no_database(
    table: str, change: dict[str, object], said: str, tmp_path: Path
) -> None:
    lived(tmp_path / "btm.db", Clock(), "one")
    with closing(SqlStore(tmp_path / "btm.db")) as store:
        dumped = list(lines(store))
    at = next(n for n, line in enumerate(dumped) if f'"table":"{table}"'.encode() in line)
    row = dict(zip(json.loads(dumped[at])["columns"], json.loads(dumped[at + 1]), strict=True)) | change
    wrong = [*dumped[: at + 1], json.dumps([*row.values()]).encode(), *dumped[at + 1 :]]
    with pytest.raises(StoreError, match=said.replace("line 2:", f"line {at + 2}:")):
        read_into(str(tmp_path / "new.db"), wrong)
    with pytest.raises(StoreError, match="ends in the middle"):
        read_into(str(tmp_path / "new.db"), dumped[:-1])
    with pytest.raises(StoreError, match="rows stand before it"):
        read_into(str(tmp_path / "new.db"), [*dumped[: at + 1], *dumped[at + 2 :]])
    with pytest.raises(StoreError, match="names"):
        read_into(str(tmp_path / "new.db"), [*dumped[:at], b'{"table": ["calls"], "columns": []}'])
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith("btm.db")] == []


SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("schema-*.sql"))


@pytest.mark.parametrize("dumped", SCHEMAS, ids=[path.stem for path in SCHEMAS])
def test_a_database_of_every_schema_opens_and_a_copy_of_it_is_kept(
    dumped: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, version = tmp_path / "btm.db", int(dumped.stem.rpartition("-")[2])
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dumped.read_text("utf-8"))
    before = path.read_bytes()
    store = SqlStore(path, now=1_700_000_300.0, hash_key=b"fixed for tests!")
    (sums,) = stored(store).values()
    assert sums == pytest.approx((0.0, 4.0), rel=1e-3)
    assert upkeep.info(store).schema_version == meta_version()
    assert {row["tool"] for row in store.log("calls")} == {"get_order", "pay"}
    assert [p for p in upkeep.problems(store) if "chmod" not in p] == []
    store.close()
    kept = tmp_path / f"btm.db.schema-{version}"
    assert kept.exists() is (version < meta_version())
    if kept.exists():
        assert kept.stat().st_mode & 0o777 == 0o600
        with closing(sqlite3.connect(kept)) as copy, closing(sqlite3.connect(":memory:")) as was:
            was.deserialize(before)
            assert list(copy.iterdump()) == list(was.iterdump())
        assert f"schema-{version}" in caplog.text


def meta_version() -> int:
    from btm.store.schema import SCHEMA_VERSION

    return SCHEMA_VERSION


def test_the_present_schema_is_among_the_kept_ones() -> None:
    assert SCHEMAS[-1].stem == f"schema-{meta_version()}"
    assert meta.KEEP


def test_a_newer_database_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    SqlStore(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE btm_meta SET value = '99' WHERE key = 'schema_version'")
    with pytest.raises(StoreError, match="use a newer btm, or name another database"):
        SqlStore(path)
