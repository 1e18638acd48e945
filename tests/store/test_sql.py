"""The store on a SQL database: SQLite always, PostgreSQL where BTM_TEST_POSTGRES names one (a scratch database)."""

from __future__ import annotations

import logging
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from core_kit import Clock, call, key, known, memory_of, recounted, stored
from sqlalchemy.event import listens_for

from btm import ToolMemory
from btm.errors import StoreError
from btm.learning.posterior import Decay, Evidence, Priors, pooled
from btm.model import (
    SUCCESS,
    Action,
    Attempt,
    Effect,
    ErrorKind,
    EvidenceKey,
    Incident,
    IncidentState,
    Outcome,
    ToolCall,
)
from btm.store import CallEvent, IncidentEvent, additions, meta, troubles
from btm.store.merging import merged
from btm.store.meta import DEFAULT_HALF_LIFE_S
from btm.store.rows import name
from btm.store.sql import SqlStore

POSTGRES = os.environ.get("BTM_TEST_POSTGRES", "")
NOW = 1_700_000_000.0


@pytest.fixture(params=["memory", "file", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | Path | None]:
    if request.param == "memory":
        yield None
    elif request.param == "file":
        yield tmp_path / "btm.db"
    elif not POSTGRES:
        pytest.skip("BTM_TEST_POSTGRES names no PostgreSQL database")
    else:
        with postgres_schema() as url:
            yield url


@contextmanager
def postgres_schema() -> Iterator[str]:
    """An empty schema of the scratch database for this test process alone: tests run in several at once."""
    from sqlalchemy import create_engine, make_url, text

    schema = f"btm_{os.getpid()}"
    engine = create_engine(POSTGRES)
    anew = (f"DROP SCHEMA IF EXISTS {schema} CASCADE", f"CREATE SCHEMA {schema}")

    def run(*statements: str) -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))

    run(*anew)
    own = make_url(POSTGRES).update_query_dict({"options": f"-csearch_path={schema}"})
    try:
        yield own.render_as_string(hide_password=False)
    finally:
        run(anew[0])
        engine.dispose()


@pytest.fixture
def store(where: str | Path | None) -> Iterator[SqlStore]:
    made = SqlStore(where, half_life_s=math.inf, now=NOW)
    yield made
    made.close()


def event(
    number: int | str, *, ok: bool = True, at: float = NOW, attempts: int = 1, **changes: Any
) -> CallEvent:
    """A finished call that was an attempt on an incident."""
    made = ToolCall(changes.get("tool", "get_order"), {}, Effect.READ, "talk", f"c{number}")
    key_ = EvidenceKey(made.tool, ErrorKind.TIMEOUT, Action.RETRY, "", 1)
    outcome = SUCCESS if ok else Outcome(ErrorKind.TIMEOUT, detail="slow")
    return CallEvent(
        made,
        "f" * 32,
        outcome,
        at,
        1.0,
        attempts=tuple(
            Attempt(f"talk/i{n}", made.call_id, key_, ok, at, 1.0, outcome.kind) for n in range(attempts)
        ),
        incidents=changes.get("incidents", ()),
    )


def incident(state: IncidentState = IncidentState.OPEN, name_: str = "talk/i0") -> Incident:
    failed = ToolCall("get_order", {}, Effect.READ, "talk", "c0")
    return Incident(name_, "talk", failed, ErrorKind.TIMEOUT, Outcome(ErrorKind.TIMEOUT), NOW, state)


RETRY = key("get_order", "timeout", "retry")


# -- writing and reading -------------------------------------------------------------------------------------------


def test_what_was_written_is_loaded(store: SqlStore) -> None:
    assert store.write([event(1, ok=False), event(2)]) == []
    snapshot = store.load(NOW)
    assert snapshot.evidence == ((RETRY, 1.0, 1.0),)
    recent = [(call.tool, call.at, call.kind) for call in snapshot.recent_calls]
    assert recent == [("get_order", NOW, ErrorKind.TIMEOUT), ("get_order", NOW, None)]
    assert snapshot.priors == Priors()
    assert len(snapshot.hash_key) == 16
    assert [row["call_id"] for row in store.log("calls")] == ["c1", "c2"]
    assert store.log("calls")[0]["started_at"] == NOW - 1.0


def test_a_call_that_is_there_already_adds_nothing(store: SqlStore) -> None:
    first = event(1)
    store.write([first])
    assert store.write([event(1), event(2)]) == [event(1)]
    assert stored(store) == {RETRY: (2.0, 0.0)} == recounted(store)


def test_a_call_twice_in_one_batch_counts_once(store: SqlStore) -> None:
    one, copy = event(1), event(1, ok=False)
    (duplicate,) = store.write([one, copy, event(2)])
    assert duplicate is copy
    assert stored(store) == {RETRY: (2.0, 0.0)} == recounted(store)


def test_one_call_can_be_an_attempt_on_two_incidents(store: SqlStore) -> None:
    store.write([event(1, attempts=2)])
    assert stored(store) == {RETRY: (2.0, 0.0)} == recounted(store)


def test_an_incident_has_its_latest_ledger(store: SqlStore) -> None:
    store.write([event(1, incidents=(incident(),)), IncidentEvent((incident(IncidentState.ABANDONED),))])
    store.write([IncidentEvent((incident(IncidentState.RESOLVED, "talk/i1"),))])
    assert {row["incident_id"]: row["state"] for row in store.log("incidents")} == {
        "talk/i0": "abandoned",
        "talk/i1": "resolved",
    }


def test_a_failed_batch_leaves_nothing_behind(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("half way")

    monkeypatch.setattr(additions, "put_incidents", broken)
    with pytest.raises(RuntimeError):
        store.write([event(1)])
    monkeypatch.undo()
    assert stored(store) == {}
    assert store.log("calls") == []
    assert store.write([event(1)]) == []


@pytest.mark.parametrize("odd", ["\ud800", "a\0b", "é" * 600, "x" * 600, ""])
def test_any_name_can_be_stored_and_found_again(store: SqlStore, odd: str) -> None:
    made = ToolCall(odd or "t", {}, Effect.READ, odd, odd)
    odd_key = EvidenceKey(odd or "t", ErrorKind.TIMEOUT, Action.SWITCH, odd, 1)
    opened = Incident(f"{odd}/{odd}", odd, made, ErrorKind.TIMEOUT, Outcome(ErrorKind.TIMEOUT), NOW)
    attempt = Attempt(f"{odd}/{odd}", odd, odd_key, success=True, at=NOW)
    item = CallEvent(made, "f" * 32, SUCCESS, NOW, attempts=(attempt,), incidents=(opened,))
    assert store.write([item]) == []
    assert store.write([item]) == [item]
    assert store.report(odd, odd, ErrorKind.STALE_DATA).found


def test_long_names_that_begin_alike_stay_different() -> None:
    one, two = "x" * 300 + "1", "x" * 300 + "2"
    assert name(one) != name(two)
    assert len(name(one)) == 255
    assert name("short") == "short"


# -- late reports --------------------------------------------------------------------------------------------------


def test_a_report_turns_a_success_into_a_failure(store: SqlStore) -> None:
    store.write([event(1), event(2)])
    reported = store.report("talk", "c1", ErrorKind.FACTUAL_ERROR)
    assert reported.found
    assert [a.call_id for a in reported.attempts] == ["c1"]
    assert stored(store) == {RETRY: (1.0, 1.0)} == recounted(store)
    row = next(row for row in store.log("calls") if row["call_id"] == "c1")
    assert (row["kind"], row["silent"], row["reported"]) == ("factual_error", True, True)


def test_a_report_counts_once_and_only_for_what_had_seemed_to_succeed(store: SqlStore) -> None:
    store.write([event(1), event(2, ok=False)])
    assert store.report("talk", "c1", ErrorKind.STALE_DATA).found
    assert not store.report("talk", "c1", ErrorKind.STALE_DATA).found
    assert not store.report("talk", "c2", ErrorKind.STALE_DATA).found
    assert not store.report("talk", "nobody", ErrorKind.STALE_DATA).found
    assert stored(store) == {RETRY: (0.0, 2.0)} == recounted(store)


def test_a_report_moves_the_weight_that_the_attempt_had() -> None:
    store = SqlStore(None, half_life_s=100.0, now=NOW)
    store.write([event(1, at=NOW + 100), event(2, at=NOW + 300)])
    store.report("talk", "c1", ErrorKind.STALE_DATA)
    assert stored(store) == {RETRY: (8.0, 2.0)} == recounted(store)


# -- what a database states about itself ---------------------------------------------------------------------------


def test_a_database_keeps_its_half_life_landmark_and_key(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    first = SqlStore(path, half_life_s=3_600.0, now=NOW)
    again = SqlStore(path, now=NOW + 50)
    assert again.decay == first.decay == Decay(3_600.0, NOW)
    assert again.load(NOW).hash_key == first.load(NOW).hash_key
    assert SqlStore(path, half_life_s=3_600, now=NOW).decay == first.decay
    assert SqlStore(None, now=NOW).decay.half_life_s == DEFAULT_HALF_LIFE_S


def test_another_half_life_is_refused(tmp_path: Path) -> None:
    SqlStore(tmp_path / "btm.db", half_life_s=3_600.0).close()
    with pytest.raises(StoreError, match="half-life of 3600"):
        SqlStore(tmp_path / "btm.db", half_life_s=60.0)


@pytest.mark.parametrize("half_life", [0.0, -1, math.nan, -math.inf, 10**400, -(10**400)])
def test_a_half_life_is_positive(half_life: float) -> None:
    with pytest.raises(ValueError, match="half_life_s"):
        SqlStore(None, half_life_s=half_life)


@pytest.mark.parametrize("half_life", [True, False, "14", "inf", b"14", [14], 14j])
def test_a_half_life_that_is_no_number_is_refused_by_its_name(half_life: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="half_life_s is a number of seconds"):
        SqlStore(tmp_path / "btm.db", half_life_s=half_life)
    assert not (tmp_path / "btm.db").exists()


def test_any_kind_of_number_will_do_for_a_half_life(tmp_path: Path) -> None:
    SqlStore(tmp_path / "btm.db", half_life_s=Fraction(7_200, 2)).close()  # type: ignore[arg-type] # a real number
    assert SqlStore(tmp_path / "btm.db", half_life_s=3_600).decay.half_life_s == 3_600.0


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    SqlStore(tmp_path / "btm.db").close()
    with sqlite3.connect(tmp_path / "btm.db") as connection:
        connection.execute("UPDATE btm_meta SET value = '99' WHERE key = 'schema_version'")
    connection.close()
    with pytest.raises(StoreError, match="schema version 99"):
        SqlStore(tmp_path / "btm.db")


def test_fitted_priors_are_kept(store: SqlStore, where: str | Path | None) -> None:
    priors = Priors((1.5, 2.5, 3.5), {("family", "transient", "retry", "1"): 0.4})
    store.add_learned((), priors=priors)
    assert store.load(NOW).priors == priors


def test_an_old_landmark_is_moved_and_no_belief_changes(tmp_path: Path) -> None:
    path, later = tmp_path / "btm.db", NOW + 300 * 60.0
    store = SqlStore(path, half_life_s=60.0, now=NOW)
    store.write([event(1, at=NOW + 60), event(2, ok=False, at=NOW + 120)])
    before = pooled(Evidence(store.evidence()), RETRY, Priors(), store.decay.scale(later))
    store.close()
    moved = SqlStore(path, now=later)
    assert moved.decay == Decay(60.0, later)
    after = pooled(Evidence(moved.evidence()), RETRY, Priors(), moved.decay.scale(later))
    assert (after.alpha, after.beta) == pytest.approx((before.alpha, before.beta))


def test_the_landmark_is_moved_while_writing_too() -> None:
    store = SqlStore(None, half_life_s=60.0, now=NOW)
    for n in range(50):
        store.write([event(n, at=NOW + n * 60.0 * 50)])
    assert store.decay.landmark > NOW
    ((_, successes, _),) = store.evidence()
    assert successes * store.decay.scale(NOW + 49 * 60.0 * 50) == pytest.approx(1.0)


# -- places --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", ["what?.db", "100%.db", "a b#c.db", "ü.db"])
def test_any_file_name_will_do(tmp_path: Path, odd: str) -> None:
    SqlStore(tmp_path / odd).close()
    assert (tmp_path / odd).is_file()


def test_a_url_opens_the_same_database_with_the_same_care(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    by_url = SqlStore(f"sqlite:///{path}", half_life_s=60.0)
    by_url.write([event(1)])
    assert stored(SqlStore(path)) == stored(by_url)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize("where", [None, ":memory:", "sqlite://"])
def test_a_database_in_memory_is_shared_by_all_threads(where: str | None) -> None:
    store = SqlStore(where, half_life_s=math.inf)
    errors: list[Exception] = []

    def work(start: int) -> None:
        try:
            for n in range(start, start + 50):
                store.write([event(n)])
                store.load(NOW)
        except Exception as error:  # noqa: BLE001 - the test asks for none
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k * 50,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert stored(store) == {RETRY: (200.0, 0.0)}


def test_what_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("This is not a database, whatever its owner thinks of it. " * 50)
    with pytest.raises(StoreError, match="not a database; it is a file of another kind"):
        SqlStore(tmp_path / "note.txt")
    with pytest.raises(StoreError, match=r"unable to open .*; its folder is not there"):
        SqlStore(tmp_path / "missing" / "btm.db")
    with pytest.raises(StoreError, match=r"unable to open .*; it is a folder"):
        SqlStore(tmp_path)
    with pytest.raises(StoreError, match="NUL"):
        SqlStore("a\0b")
    with pytest.raises(StoreError, match="not in mysql"):
        SqlStore("mysql://db/orders")
    with pytest.raises(StoreError, match="cannot be read"):
        SqlStore("://nothing")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE evidence SET kind = 'tiredness'",
        "UPDATE evidence SET action = 'pray'",
        "UPDATE evidence SET successes = 'many'",
        "UPDATE calls SET ended_at = 'tomorrow'",
        "UPDATE btm_meta SET value = 'never' WHERE key = 'landmark'",
    ],
)
def test_rows_that_another_program_wrote_are_a_store_error(change: str, tmp_path: Path) -> None:
    store = SqlStore(tmp_path / "btm.db")
    store.write([event("c1")])
    store.close()
    with closing(sqlite3.connect(tmp_path / "btm.db")) as connection, connection:
        assert connection.execute(change).rowcount == 1
    with pytest.raises(StoreError, match="holds what btm cannot read"):
        ToolMemory.open(tmp_path / "btm.db", strict=True)


@pytest.mark.parametrize(
    "driver", ["postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+none"]
)
def test_a_password_is_not_shown(driver: str) -> None:
    with pytest.raises(StoreError) as failed:  # the driver may be absent, or the server
        SqlStore(f"{driver}://user:hunter22@localhost:1/nowhere")
    assert "user:***@localhost" in str(failed.value)
    assert "hunter22" not in str(failed.value)


@contextmanager
def held(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The database is being written by somebody else; it is not waited for as long as in earnest."""
    monkeypatch.setattr(troubles, "LOCK_WAIT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_a_locked_database_is_a_store_error_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "btm.db"
    monkeypatch.setattr(troubles, "LOCK_WAIT_S", 0.05)
    store = SqlStore(path)
    with held(path, monkeypatch), pytest.raises(StoreError, match="locked"):
        store.write([event(1)])
    assert store.write([event(1)]) == []


def test_opening_a_locked_database_ends_soon_and_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "btm.db"
    SqlStore(path).close()
    started = time.monotonic()
    with (
        held(path, monkeypatch),
        pytest.raises(StoreError, match=r"locked; another process kept it .* 'btm merge'"),
    ):
        ToolMemory.open(path, strict=True)
    assert time.monotonic() - started < 5.0
    assert troubles.LOCK_WAIT_S <= 5.0
    ToolMemory.open(path).close()


def test_a_memory_whose_database_is_locked_keeps_its_events_and_the_agent_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "btm.db"
    monkeypatch.setattr(troubles, "LOCK_WAIT_S", 0.3)
    memory = memory_of(path=path)
    with held(path, monkeypatch):
        started = time.monotonic()
        for n in range(20):
            assert memory.call(call("get_order", "talk", f"c{n}"), lambda *_: "answer").result == "answer"
        assert time.monotonic() - started < 4.0
        assert not memory.flush()
        with pytest.raises(StoreError, match="locked"):
            memory.report("c1", "stale_data", conversation="talk")
    assert memory.flush()
    assert memory.report("c1", "stale_data", conversation="talk")
    memory.close()


def noted_calls(path: Path) -> list[str]:
    store = SqlStore(path)
    found = [row["call_id"] for row in store.log("calls")]
    store.close()
    return found


@pytest.mark.parametrize("new", [True, False])
def test_a_memory_that_is_opened_while_the_database_is_locked_writes_as_soon_as_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, new: bool
) -> None:
    path = tmp_path / "btm.db"
    if new:
        sqlite3.connect(path).close()
    else:
        with memory_of(path=path) as before:
            before.call(call("get_order", "talk", "c0"), lambda *_: "answer")
    with held(path, monkeypatch), caplog.at_level(logging.WARNING, "btm"):
        memory = ToolMemory.open(path, strict=False)
        # One that is there is opened by reading.
        assert ("what is learned waits until it can be" in caplog.text) is new
        assert memory.call(call("get_order", "talk", "c1"), lambda *_: "answer").result == "answer"
        assert not memory.flush()
        assert memory.health().waiting == 1
    assert any(memory.flush() for _ in range(20))
    memory.close()
    assert noted_calls(path) == (["c1"] if new else ["c0", "c1"])


def test_what_a_memory_learned_of_a_locked_database_waits_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "btm.db"
    SqlStore(path).close()
    with held(path, monkeypatch):
        memory = ToolMemory.open(path, strict=False)
        memory.call(call("get_order", "talk", "c1"), lambda *_: "answer")
        memory.close()
    ToolMemory.open(path).close()
    assert noted_calls(path) == ["c1"]


def test_a_read_only_database_is_a_store_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqlStore(tmp_path / "btm.db")
    with store._transaction() as connection:
        connection.exec_driver_sql("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="readonly"):
        store.write([event(1)])


NO_ROOT = """
import ctypes, os
if os.geteuid() == 0:  # root may write anything, unless it gives its capabilities away (or, without any, its name)
    capset = getattr(ctypes.CDLL(None), "capset", None)
    if capset is None or capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) != 0:
        os.seteuid(65534)
"""
READ_ONLY = f"""
import os, sys
from btm import FallbackMap, ToolMemory
from btm.errors import StoreError
from btm.planning.policy import Policies
path = sys.argv[1]
folder = os.path.dirname(path)
authored = {{"fallback_map": FallbackMap.empty(), "policies": Policies.load("default")}}
ToolMemory.open(path, **authored).close()
try:  # imports all that naming a trouble needs, while the package can still be read
    ToolMemory.open(folder, **authored)
except StoreError:
    pass
os.chmod(path, 0o444)
os.chmod(folder, 0o555)
{NO_ROOT}
for name in (path, path + ".new"):
    try:
        ToolMemory.open(name, strict=True, **authored)
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this platform knows no users")
def test_opening_what_may_not_be_written_names_the_cure() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to other users
        os.chmod(folder, 0o755)
        inner = Path(folder) / "data"
        inner.mkdir()
        command = [sys.executable, "-c", READ_ONLY, str(inner / "btm.db")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        inner.chmod(0o755)
    old, new = done.stdout.splitlines()
    assert "readonly database; btm writes what it learns" in old, done.stderr
    assert "unable to open database file; the file and its folder must be" in new


WRITABLE_AGAIN = f"""
import os, sys
from pathlib import Path
from btm import Effect, ToolCall, ToolMemory
path = Path(sys.argv[1])
{NO_ROOT}
first = ToolMemory.open(path, half_life_s=float(sys.argv[2]))
first.call(ToolCall("get", {{}}, Effect.READ, "one", "1"), lambda tool, arguments: "answer")
assert first.flush()
files = [file for file in path.parent.iterdir() if not file.name.endswith(".key")]
for file in files:
    file.chmod(0o444)
path.parent.chmod(0o555)
late = ToolMemory.open(path)
late.call(ToolCall("get", {{}}, Effect.READ, "two", "1"), lambda tool, arguments: "answer")
print(late.flush())
path.parent.chmod(0o755)
for file in files:
    file.chmod(0o644)
print(late.flush())
print(late.close(), first.close())
"""


@pytest.mark.parametrize("half_life", ["1e6", "inf"])
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this platform knows no users")
def test_a_database_that_could_not_be_written_is_written_once_it_can_be(half_life: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = Path(folder) / "data" / "btm.db"
        path.parent.mkdir()
        path.parent.chmod(0o777)
        command = [sys.executable, "-c", WRITABLE_AGAIN, str(path), half_life]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        path.parent.chmod(0o777)
        assert done.stdout.splitlines() == ["False", "True", "True True"], done.stderr
        assert len(SqlStore(path).log("calls")) == 2


def test_a_full_disk_when_opening_names_the_cure() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this platform has no device that is always full")
    with pytest.raises(StoreError, match="full; make room"):
        ToolMemory.open("/dev/full", strict=True)


def test_a_memory_on_a_full_disk_goes_on_and_writes_when_there_is_room(tmp_path: Path) -> None:
    memory = memory_of(path=tmp_path / "btm.db")
    store: Any = memory._store
    with store._transaction() as connection:
        room = connection.exec_driver_sql("PRAGMA page_count").scalar()

    @listens_for(store._database._engine, "checkout")  # the limit is a connection's own
    def limit(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {room}")

    for n in range(500):
        assert memory.call(call("get_order", "talk", f"c{n}"), lambda *_: "answer").result == "answer"
    assert not memory.flush()
    room = 1_000_000
    assert memory.flush()
    assert len(store.log("calls")) == 500
    memory.close()


def test_a_damaged_database_is_a_store_error_wherever_it_is_found(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    store = SqlStore(path)
    store.write([event(n) for n in range(300)])
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="malformed; it is damaged"):
        ToolMemory.open(path, strict=True)
    path.write_bytes(whole)
    again = SqlStore(path)
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match=r"malformed|not a database"):
        again.load(NOW)
    again.close()


def test_a_database_of_another_program_is_a_store_error(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE evidence (exhibit TEXT)")
    with pytest.raises(StoreError, match="another program may have made it"):
        ToolMemory.open(tmp_path / "other.db", strict=True)


def test_a_full_disk_is_a_store_error_and_the_store_comes_back(tmp_path: Path) -> None:
    store = SqlStore(tmp_path / "btm.db")
    with store._transaction() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    events = [event(n) for n in range(5_000)]
    with pytest.raises(StoreError, match="full"):
        store.write(events)
    with store._transaction() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    assert store.write(events) == []
    assert len(store.log("calls")) == 5_000


def test_a_deleted_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    store = SqlStore(path, half_life_s=60.0, now=NOW)
    store.write([event(1)])
    before = store.load(NOW)
    for file in tmp_path.iterdir():
        file.unlink()
    assert store.write([event(2)]) == []
    reopened = SqlStore(path)
    assert [row["call_id"] for row in reopened.log("calls")] == ["c2"]
    after = reopened.load(NOW)
    assert (after.decay, after.hash_key) == (before.decay, before.hash_key)


def test_a_memory_goes_on_when_its_file_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    memory = memory_of(path=folder / "btm.db")
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with caplog.at_level(logging.WARNING, "btm"):
        assert memory.call(call("get_order", order_id="o1"), lambda *_: "answer").result == "answer"
        assert not memory.flush()
    folder.mkdir()
    assert memory.flush()
    assert len(memory._store.log("calls")) == 1  # type: ignore[attr-defined]
    memory.close()


# -- several processes ---------------------------------------------------------------------------------------------

WORKER = """
import sys
sys.path[:0] = {paths!r}
from test_sql import NOW, event
from btm.store.sql import SqlStore
store = SqlStore({where!r}, now=NOW)
print("open", flush=True)
sys.stdin.readline()
for n in range({start}, {start} + 60):
    store.write([event(n)])
"""


def _worker(where: str | Path, start: int) -> subprocess.Popen[str]:
    here = Path(__file__).resolve().parent
    code = WORKER.format(paths=[str(here), str(here.parent)], where=str(where), start=start)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)


def test_several_processes_open_and_write_at_once(where: str | Path | None) -> None:
    if where is None:
        pytest.skip("a database in memory belongs to one process")
    workers = [_worker(where, start) for start in (0, 60, 120, 150)]  # the last two overlap
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "open\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate()
        assert worker.returncode == 0
    store = SqlStore(where, now=NOW)
    ((_, successes, failures),) = store.evidence()
    assert (successes, failures) == pytest.approx((210.0, 0.0))
    assert stored(store) == recounted(store)
    store.close()


def test_two_memories_on_one_file_learn_a_call_once(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "btm.db"
    one, two = memory_of(clock, path=path), memory_of(clock, path=path)

    def failing(*_: Any) -> Any:
        raise TimeoutError("timed out")

    for memory in (one, two):  # the same run, resumed in another process
        for call_id in ("c1", "c2"):
            memory.call(call("get_order", "talk", call_id, order_id="o1"), failing)
        assert memory.flush()
    store: Any = one._store
    assert stored(store) == {RETRY: (0.0, 1.0)} == recounted(store)
    assert known(one) == {RETRY: (0.0, 1.0)}
    assert {k: v for k, v in known(two).items() if max(v) > 0} == {}, (
        "what was known before is not believed twice"
    )
    one.close()
    two.close()
    assert known(memory_of(clock, path=path)) == {RETRY: (0.0, 1.0)}


KILLED = """
import os, signal, sys
sys.path[:0] = {paths!r}
from core_kit import call, memory_of
memory = memory_of(path={path!r})
def failing(*_):
    raise TimeoutError("timed out")
for n in range(300):
    memory.call(call("get_order", "talk", f"c{{n}}", order_id="o1"), failing)
assert memory.flush()
print("acknowledged", flush=True)
for n in range(300, 100_000):
    memory.call(call("get_order", "talk", f"c{{n}}", order_id="o1"), failing)
    if n == 400:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform has no kill -9")
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parents[1]
    code = textwrap.dedent(KILLED).format(paths=[str(tests)], path=str(tmp_path / "btm.db"))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "acknowledged\n", done.stderr
    assert done.returncode == -signal.SIGKILL
    store = SqlStore(tmp_path / "btm.db")
    ids = {row["call_id"] for row in store.log("calls")}
    assert {f"c{n}" for n in range(300)} <= ids
    assert stored(store) == recounted(store)


FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
sys.path[:0] = {paths!r}
from core_kit import call, memory_of
memory = memory_of(path={path!r})
def failing(*_):
    raise TimeoutError("timed out")
def work(who):
    for n in range(20):
        memory.call(call("get_order", order_id=str(who)), failing)  # no ids of their own
    assert memory.flush()
work("before")
pids = []
for child in range(3):
    pid = os.fork()
    if pid == 0:
        try:
            work(child)
        except BaseException:
            os._exit(1)
        os._exit(0)
    pids.append(pid)
work("parent")
assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
memory.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_memory_goes_on_in_forked_children(tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parents[1]
    code = FORKED.format(paths=[str(tests)], path=str(tmp_path / "btm.db"))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    store = SqlStore(tmp_path / "btm.db")
    assert len(store.log("calls")) == 100
    assert stored(store) == recounted(store)


# -- merging -------------------------------------------------------------------------------------------------------


def test_databases_that_forget_at_another_pace_are_not_merged() -> None:
    with pytest.raises(
        StoreError, match=r"forgets half in 14 days and .* never forgets; only like databases"
    ):
        merged([SqlStore(None, half_life_s=math.inf), SqlStore(None, half_life_s=14 * 86_400.0)])


def test_an_incident_names_the_call_that_opened_it_also_when_a_later_one_failed_too(store: SqlStore) -> None:
    opened = incident()
    again = replace(opened, call=replace(opened.call, call_id="c7"))
    store.write([IncidentEvent((again,)), IncidentEvent((opened,))])
    assert [row["call_id"] for row in store.log("incidents")] == ["i0"]


# -- several writers at once -----------------------------------------------------------------------------------------


def _at_once(*work: Any) -> list[BaseException]:
    """Run functions in threads of their own that begin together; return what they raised."""
    raised: list[BaseException] = []
    together = threading.Barrier(len(work))

    def run(one: Any) -> None:
        try:
            together.wait(10.0)
            one()
        except BaseException as error:  # noqa: BLE001 - the test asks for none
            raised.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_writers_whose_batches_hold_the_same_keys_in_other_orders_do_not_block_each_other(
    where: str | Path | None,
) -> None:
    if where is None:
        pytest.skip("a database in memory belongs to one process")
    tools = [f"tool_{n}" for n in range(40)]

    def writing(who: str, order: list[str]) -> Any:
        store = SqlStore(where, half_life_s=math.inf, now=NOW)

        def write() -> None:
            for n in range(15):
                store.write([event(f"{who}-{n}-{tool}", tool=tool) for tool in order])
            store.close()

        return write

    writers = [writing(f"w{n}", tools if n % 2 else tools[::-1]) for n in range(4)]
    assert _at_once(*writers) == []
    store = SqlStore(where, now=NOW)
    assert set(stored(store).values()) == {(60.0, 0.0)}
    store.close()


def test_a_landmark_that_is_moved_while_another_writer_adds_inflates_nothing(
    where: str | Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where is None:
        pytest.skip("a database in memory belongs to one process")
    half_life = 3_600.0
    later = NOW + 201 * half_life
    slow, quick = (SqlStore(where, half_life_s=half_life, now=NOW) for _ in range(2))
    slow.write([event(1)])
    read, decay_of = threading.Event(), meta.current_decay

    def then_wait(connection: Any, now: float | None = None) -> Decay:
        decay = decay_of(connection, now)
        if threading.current_thread().name == "slow":
            read.set()
            time.sleep(0.3)
        return decay

    monkeypatch.setattr(meta, "current_decay", then_wait)
    first = threading.Thread(target=slow.write, args=([event(2, at=later - 1.5 * half_life)],), name="slow")
    first.start()
    assert read.wait(10.0)
    quick.write([event(3, at=later)])
    first.join()
    ((_, successes, _),) = quick.evidence()
    assert successes * quick.decay.scale(later) == pytest.approx(1.0 + 2**-1.5)
    slow.close()
    quick.close()
