"""Write-behind: the agent's thread never waits, and nothing that was acknowledged is lost."""

from __future__ import annotations

import gc
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from btm.errors import StoreError
from btm.learning.posterior import Decay, Priors
from btm.model import (
    SUCCESS,
    Action,
    Attempt,
    Effect,
    ErrorKind,
    EvidenceKey,
    Incident,
    Outcome,
    ToolCall,
)
from btm.store import CallEvent, Event, IncidentEvent, Reported, Snapshot
from btm.store import journal as journal_module
from btm.store import writer as writer_module
from btm.store.event_lines import from_line, to_line
from btm.store.journal import Journal, write_what_was_left
from btm.store.writer import Waiting, WriteBehind


def event(number: int) -> CallEvent:
    return CallEvent(ToolCall("t", {}, conversation="talk", call_id=f"c{number}"), "print", SUCCESS, 0.0)


class FakeStore:
    """Keeps events in a list; can be made to fail, to be slow, or to choke on one event."""

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self.writes = 0
        self.error: Exception | None = None
        self.chokes_on: Event | None = None
        self.gate = threading.Event()
        self.gate.set()

    def write(self, events: Sequence[Event]) -> Sequence[CallEvent]:
        self.gate.wait()
        self.writes += 1
        if self.error is not None:
            raise self.error
        if self.chokes_on in events:
            raise OverflowError("no column takes this")
        duplicates = [e for e in events if isinstance(e, CallEvent) and e in self.kept]
        self.kept += [e for e in events if e not in duplicates]
        return duplicates

    def load(self, now: float) -> Snapshot:
        return Snapshot(Decay(), Priors(), b"")

    def report(self, conversation: str, call_id: str, kind: ErrorKind) -> Reported:
        return Reported()

    def forget_shape(self, tool: str) -> None:
        """Nothing to forget."""

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def writer(store: FakeStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriteBehind]:
    monkeypatch.setattr(writer_module, "_RETRY_S", 0.02)
    made = WriteBehind(store)
    yield made
    store.gate.set()
    store.error = None
    made.close()


def test_events_are_written_in_order(writer: WriteBehind, store: FakeStore) -> None:
    events = [event(n) for n in range(2_000)]
    for item in events:
        writer.put(item)
    assert writer.flush()
    assert store.kept == events
    assert store.writes < 200, "many events share a transaction"


def test_who_flushes_while_a_try_fails_waits_for_the_next_one(writer: WriteBehind, store: FakeStore) -> None:
    store.gate.clear()
    begun = threading.Event()

    def fail_once(events: Sequence[Event]) -> Sequence[CallEvent]:
        del store.write  # type: ignore[method-assign] # the next try is the store's own
        begun.set()
        store.gate.wait()
        raise StoreError("the disk is full")

    store.write = fail_once  # type: ignore[method-assign]
    writer.put(event(1))
    assert begun.wait(10.0)
    flushed: list[bool] = []
    waiting = threading.Thread(target=lambda: flushed.append(writer.flush()))
    waiting.start()
    while not writer._queue._markers:
        time.sleep(0.001)
    store.gate.set()
    waiting.join(10.0)
    assert flushed == [True]
    assert store.kept == [event(1)]


def test_an_unused_writer_starts_no_thread_and_is_flushed(store: FakeStore) -> None:
    before = threading.active_count()
    writer = WriteBehind(store)
    assert writer.flush()
    assert writer.close()
    assert threading.active_count() == before


def test_handing_over_does_not_wait_for_a_slow_store(writer: WriteBehind, store: FakeStore) -> None:
    store.gate.clear()
    for n in range(500):
        writer.put(event(n))
    assert not store.kept
    assert not writer.flush(timeout_s=0.05)
    store.gate.set()
    assert writer.flush()
    assert len(store.kept) == 500


@pytest.mark.parametrize("error", [StoreError("locked"), OSError("disk full"), RuntimeError("odd")], ids=repr)
def test_events_wait_while_the_store_fails_and_are_written_when_it_is_back(
    error: Exception, writer: WriteBehind, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.error = error
    events = [event(n) for n in range(10)]
    with caplog.at_level(logging.WARNING, "btm"):
        for item in events[:5]:
            writer.put(item)
        assert not writer.flush()
        for item in events[5:]:
            writer.put(item)
        assert not writer.flush()
        store.error = None
        assert writer.flush()
    assert store.kept == events
    said = [record.getMessage() for record in caplog.records]
    assert len([line for line in said if "cannot be written" in line]) == 1, "one warning while it fails"
    assert len([line for line in said if "can be written again" in line]) == 1


def test_the_store_is_tried_again_without_further_events(writer: WriteBehind, store: FakeStore) -> None:
    store.error = StoreError("locked")
    writer.put(event(1))
    assert not writer.flush()
    store.error = None
    deadline = time.monotonic() + 5
    while not store.kept and time.monotonic() < deadline:
        time.sleep(0.01)
    assert store.kept == [event(1)]


def test_a_failing_store_is_not_tried_at_every_event(
    store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_RETRY_S", 5.0)
    writer = WriteBehind(store)
    store.error = StoreError("locked")
    for n in range(200):
        writer.put(event(n))
        time.sleep(0.0005)
    assert store.writes <= 2
    store.error = None
    assert writer.close()
    assert len(store.kept) == 200


def test_what_memory_cannot_hold_waits_in_a_journal_and_nothing_is_lost(
    writer: WriteBehind, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "BUFFER", 100)
    store.error = StoreError("locked")
    for n in range(1_000):
        writer.put(event(n))
        assert len(writer._queue._pending) <= 100
    assert not writer.flush()
    assert writer.waiting().events == 1_000
    store.error = None
    assert writer.flush(), "all of it is in the store"
    assert store.kept == [event(n) for n in range(1_000)]
    assert writer.waiting() == Waiting()


def test_what_even_the_journal_cannot_hold_is_dropped_counted_and_said_once(
    writer: WriteBehind, store: FakeStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "BUFFER", 100)
    monkeypatch.setattr(journal_module, "LIMIT_BYTES", 0)
    store.error = StoreError("locked")
    for n in range(1_000):
        writer.put(event(n))
    assert not writer.flush()
    store.error = None
    assert not writer.flush(), "not everything since the start was written"
    assert store.kept[-1] == event(999)
    assert not writer.flush(), "nor is it the second time"
    assert writer.waiting().dropped >= 400
    assert caplog.text.count("events are dropped") == 1


def test_what_a_process_leaves_is_written_by_the_next(tmp_path: Path, store: FakeStore) -> None:
    store.error = StoreError("locked")
    first = WriteBehind(store, journal=tmp_path / "btm.db")
    for n in range(20):
        first.put(event(n))
    assert not first.close(), "it is not in the store"
    store.error = None
    (left,) = tmp_path.iterdir()
    assert left.stat().st_mode & 0o077 == 0
    assert write_what_was_left(tmp_path / "btm.db", store.write) == 20
    assert store.kept == [event(n) for n in range(20)]
    assert list(tmp_path.iterdir()) == []


def test_the_journal_of_a_living_process_is_its_own(tmp_path: Path, store: FakeStore) -> None:
    journal = Journal(tmp_path / "btm.db")
    assert journal.append(event(1))
    assert write_what_was_left(tmp_path / "btm.db", store.write) == 0
    assert journal.take(10) == [event(1)]
    journal.close(keep=True)
    assert write_what_was_left(tmp_path / "btm.db", store.write) == 1


def test_a_journal_that_was_cut_off_gives_what_it_has(tmp_path: Path, store: FakeStore) -> None:
    journal = Journal(tmp_path / "btm.db")
    assert all(journal.append(event(n)) for n in range(3))
    assert journal.path is not None
    path = journal.path
    journal.close(keep=True)
    path.write_bytes(path.read_bytes()[:-20])
    assert write_what_was_left(tmp_path / "btm.db", store.write) == 2


def test_an_event_comes_back_from_a_journal_as_it_is_stored(tmp_path: Path) -> None:
    key = EvidenceKey("t\ud800", ErrorKind.TIMEOUT, Action.SWITCH, "u", 2)
    call = ToolCall("t\ud800", {}, Effect.WRITE, "talk", "c1", 5.0)
    opened = Incident("talk/c1", "talk", call, ErrorKind.TIMEOUT, Outcome(ErrorKind.TIMEOUT), 5.0)
    item = CallEvent(
        call,
        "print",
        Outcome(ErrorKind.TIMEOUT, "slow", 504, ambiguous=True, rule="r"),
        6.0,
        1.0,
        "{}",
        (Attempt("talk/c0", "c1", key, False, 6.0, 1.0, ErrorKind.TIMEOUT),),
        (opened,),
        (("t", "$.a", "number", 1.0),),
    )
    assert from_line(to_line(item)) == item
    assert from_line(to_line(IncidentEvent((opened,)))) == IncidentEvent((opened,))


def test_a_memory_that_nobody_holds_is_collected_and_its_events_are_written(store: FakeStore) -> None:
    class Owner:
        def __init__(self) -> None:
            self.writer = WriteBehind(store, self.told)

        def told(self, events: Sequence[CallEvent]) -> None:
            """Nothing to do."""

    owner = Owner()
    owner.writer.put(event(1))
    thread = owner.writer._queue._thread
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
    assert thread is not None
    thread.join(10.0)
    assert not thread.is_alive()
    assert store.kept == [event(1)]


def test_an_event_that_no_store_can_take_does_not_block_the_others(
    writer: WriteBehind, store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    events = [event(n) for n in range(9)]
    store.chokes_on = events[4]
    with caplog.at_level(logging.WARNING, "btm"):
        for item in events:
            writer.put(item)
        assert not writer.flush()
    assert store.kept == [e for e in events if e is not events[4]]
    assert "what no store can take" in caplog.text
    assert writer.waiting().dropped == 1


def test_the_first_event_may_be_the_one(writer: WriteBehind, store: FakeStore) -> None:
    store.chokes_on = event(0)
    writer.put(event(0))
    assert not writer.flush(), "one event alone does not tell whether it is the store or the event"
    writer.put(event(1))
    assert not writer.flush()
    assert store.kept == [event(1)]


def test_what_the_store_had_already_is_told(store: FakeStore) -> None:
    told: list[CallEvent] = []
    writer = WriteBehind(store, told.extend)
    writer.put(event(1))
    assert writer.flush()
    writer.put(event(1))
    writer.put(event(2))
    assert writer.close()
    assert told == [event(1)]


def test_a_listener_that_fails_does_not_stop_the_writer(
    store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    def listener(_events: Sequence[CallEvent]) -> None:
        raise RuntimeError("odd")

    writer = WriteBehind(store, listener)
    for n in (1, 1, 2):
        writer.put(event(n))
        assert writer.flush()
    assert store.kept == [event(1), event(2)]
    assert writer.close()


def test_closing_a_writer_whose_store_fails_loses_events_but_says_so(
    store: FakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    writer = WriteBehind(store)
    store.error = StoreError("locked")
    writer.put(event(1))
    with caplog.at_level(logging.WARNING, "btm"):
        assert not writer.close()
    assert "the memory was closed while the store did not take them" in caplog.text
    assert writer.waiting().dropped == 1


def test_after_closing_nothing_is_acknowledged(store: FakeStore) -> None:
    writer = WriteBehind(store)
    writer.put(event(1))
    assert writer.close()
    assert writer.close()
    writer.put(event(2))
    assert not writer.flush(timeout_s=1.0)
    assert store.kept == [event(1)]


def test_many_threads_lose_nothing(writer: WriteBehind, store: FakeStore) -> None:
    def work(start: int) -> None:
        for n in range(start, start + 500):
            writer.put(event(n))
            if n % 100 == 0:
                assert writer.flush()

    threads = [threading.Thread(target=work, args=(k * 500,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.flush()
    assert sorted(store.kept, key=str) == sorted((event(n) for n in range(4_000)), key=str)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_writes_its_own_events_and_not_its_parents(
    writer: WriteBehind, store: FakeStore
) -> None:
    store.gate.clear()
    writer.put(event(1))
    time.sleep(0.05)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # the child
        store.gate.set()
        writer.put(event(2))
        fine = writer.flush(timeout_s=5.0)
        os.write(write, f"{fine} {store.kept == [event(2)]}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 100) == b"True True"
    store.gate.set()
    assert writer.flush()
    assert store.kept == [event(1)]
    os.close(read)
    os.close(write)


def test_an_applications_seeded_generator_is_left_alone(writer: WriteBehind) -> None:
    random.seed(7)
    before = random.getstate()
    for _ in range(20):
        writer.put(event(1))
        assert writer.flush()
    assert random.getstate() == before
