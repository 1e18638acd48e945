"""The scenarios: each tries one thing in its own folder, and says what was done, what had to hold, and whether it did."""

from __future__ import annotations

import logging
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from btm import Effect, ToolCall, ToolMemory

logging.getLogger("btm").setLevel(logging.ERROR)
CHILD = Path(__file__).with_name("child.py")
Told = tuple[str, str, bool]


def opened(path: Path, **options: Any) -> ToolMemory:
    """Open a memory that does not wait by itself before a repeat: time is not what is tried out here."""
    return ToolMemory.open(path, sleep=lambda seconds: None, **options)


def failing(tool: str, arguments: object) -> object:
    raise TimeoutError("timed out")


def fine(tool: str, arguments: object) -> object:
    return {"ok": True}


def lived(memory: ToolMemory, name: str, worked: bool = True) -> None:
    """One conversation: a call fails, and its repeat works or fails."""
    for call_id, invoke in (("1", failing), ("2", fine if worked else failing)):
        memory.call(ToolCall("get_order", {"id": name}, Effect.READ, name, call_id), invoke)
    memory.end(name)


def counts(path: Path) -> tuple[int, int, float, str]:
    """Calls, attempts, the evidence's sum, and SQLite's own check."""
    with closing(sqlite3.connect(path)) as connection:
        one = (f"SELECT count(*) FROM {table}" for table in ("calls", "attempts"))
        calls, attempts = (connection.execute(statement).fetchone()[0] for statement in one)
        total = connection.execute("SELECT total(successes + failures) FROM evidence").fetchone()[0]
        return calls, attempts, total, connection.execute("PRAGMA integrity_check").fetchone()[0]


def child(*arguments: object) -> subprocess.Popen[str]:
    argv = [sys.executable, str(CHILD), *map(str, arguments)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def kills(folder: Path, nightly: bool) -> Told:
    """Kill a process that writes, at a random moment, again and again on one database."""
    number, rng, path = (200 if nightly else 10), random.Random(1), folder / "btm.db"
    acknowledged: list[str] = []
    opened(path, half_life_s=float("inf")).close()  # sums that do not fade are counts, however long it takes
    for run in range(number):
        process = child("acknowledge", path, run)
        assert process.stdout is not None
        process.stdout.readline()
        first = (
            process.stdout.readline() if run % 5 else ""
        )  # a slow machine would be killed before it wrote anything
        time.sleep(rng.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        lines = f"{first}{process.stdout.read()}".splitlines()
        acknowledged += [line.strip() for line in lines if line.endswith(".")]
        process.wait()
    opened(path).close()  # what is left in journals is written
    with closing(sqlite3.connect(path)) as connection:
        there = {row[0] for row in connection.execute("SELECT conversation FROM attempts")}
    _, attempts, total, check = counts(path)
    missing = [name for name in acknowledged if name.rstrip(".") not in there]
    held = bool(acknowledged) and not missing and attempts == len(there) == total and check == "ok"
    if not held:
        print(
            f"   missing {missing}; {attempts} attempts, {len(there)} conversations, sum {total}; {check}",
            flush=True,
        )
    done = f"{number} kill -9 of a process that writes; {len(acknowledged):,} conversations acknowledged"
    return done, "none missing, none double, the sums equal the log", held


def processes(folder: Path, nightly: bool) -> Told:
    """Have eight processes write at once."""
    each, path = (20_000 if nightly else 250), folder / "btm.db"
    opened(path, half_life_s=float("inf")).close()
    running = [child("attempts", path, number, each) for number in range(8)]
    said = [process.communicate()[0].strip() for process in running]
    _, attempts, total, check = counts(path)
    held = (attempts, total, check) == (8 * each, 8.0 * each, "ok") and said == ["True"] * 8
    return (
        f"8 processes x {each:,} attempts at once",
        "every attempt once, in log and sums; all told True",
        held,
    )


def locked(folder: Path, nightly: bool) -> Told:
    """Hold the database's write lock while an agent works."""
    seconds, path = (30.0 if nightly else 7.0), folder / "btm.db"
    memory = opened(path)
    slowest = 0.0
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        until, number = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            began = time.monotonic()
            lived(memory, f"talk{number}")
            slowest, number = max(slowest, time.monotonic() - began), number + 1
            time.sleep(0.01)
        holder.execute("ROLLBACK")
    written = memory.close()
    held = written and counts(path)[0] == 2 * number
    return (
        f"the write lock held by another for {seconds:.0f} s, {2 * number:,} calls meanwhile",
        "all written when it ends",
        held,
    )


def no_room(folder: Path, nightly: bool) -> Told:
    """Let the database's files grow no further, then let them."""
    path, number = folder / "btm.db", 2_000 if nightly else 400
    memory = opened(path)
    lived(memory, "first")
    memory.flush()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        for item in range(number):
            lived(memory, f"talk{item}")
        full = memory.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    written = any(memory.flush() for _ in range(20))
    memory.close()
    calls, _, _, check = counts(path)
    held = not full and written and calls == 2 * (number + 1) and check == "ok"
    return (
        f"no room on the disk for {2 * number:,} calls, then room again",
        "flush tells the truth, then all is written",
        held,
    )


def read_only(folder: Path, nightly: bool) -> Told:
    """Make database and folder read-only while they are used, and writable again."""
    rounds, path = (50 if nightly else 8), folder / "btm.db"
    opened(path, half_life_s=float("inf")).close()
    said = child("read_only", path, rounds).communicate()[0].strip()
    calls, attempts, total, check = counts(path)
    held = (calls, attempts, total, check) == (4 * rounds + 2, 2 * rounds + 1, 2 * rounds + 1, "ok")
    return (
        f"database and folder made read-only {rounds} times, under a memory and before another is opened",
        "flush tells the truth; all is written when they can be again",
        held and said == "True",
    )


def replaced(folder: Path, nightly: bool) -> Told:
    """Delete the database, and put another in its place, while a memory has it open."""
    rounds, path = (20 if nightly else 4), folder / "btm.db"
    memory = opened(path)
    held = True
    for number in range(rounds):
        lived(memory, f"a{number}")
        memory.flush()
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        lived(memory, f"b{number}")
        held &= any(memory.flush() for _ in range(5))
        with closing(sqlite3.connect(path)) as connection:
            held &= f"b{number}" in {row[0] for row in connection.execute("SELECT conversation FROM calls")}
    memory.close()
    return (
        f"the file deleted under a running memory, {rounds} times",
        "what comes later is in the new file",
        held,
    )


def damaged(folder: Path, nightly: bool) -> Told:
    """Overwrite a random part of a database, and have an agent open it."""
    rounds, rng, held = (100 if nightly else 15), random.Random(2), True
    source = folder / "source.db"
    with opened(source) as memory:
        for number in range(50):
            lived(memory, f"talk{number}")
    whole = source.read_bytes()
    for number in range(rounds):
        path = folder / f"{number}.db"
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + rng.randbytes(600) + whole[at + 600 :])
        with opened(path) as memory:
            handled = memory.call(ToolCall("get_order", {}, Effect.READ, "c", "1"), fine)
            held &= handled.unwrap() == {"ok": True}
    return (
        f"600 random bytes in {rounds} copies of a database",
        "every agent starts and gets its tool's answer",
        held,
    )


def clocks(folder: Path, nightly: bool) -> Told:
    """Set the clock ten years ahead and back, again and again."""
    now, rounds = [1_700_000_000.0], 40 if nightly else 8
    years = 3_650 * 86_400.0
    with opened(folder / "btm.db", clock=lambda: now[0], half_life_s=86_400.0) as memory:
        for number in range(rounds):
            now[0] = 1_700_000_000.0 + years * (number % 3)
            lived(memory, f"talk{number}")
        now[0] = 1_700_000_000.0
        most = max(belief.n for _, belief in memory.beliefs())
    held = 0.0 < most <= rounds + 1e-6
    return (
        f"the clock ten and twenty years ahead and back, {rounds} jumps",
        "no belief counts more than was seen",
        held,
    )


def forks(folder: Path, nightly: bool) -> Told:
    """Fork while other threads write."""
    number, path = (100 if nightly else 10), folder / "btm.db"
    memory, stop = opened(path), threading.Event()

    def busy(thread: int) -> None:
        item = 0
        while not stop.is_set():
            lived(memory, f"parent{thread}-{item}")
            item += 1
            time.sleep(0.002)

    threads = [threading.Thread(target=busy, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    codes = []
    for item in range(number):
        pid = os.fork()
        if pid == 0:
            lived(memory, f"child{item}")
            os._exit(0 if memory.flush() else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    memory.close()
    with closing(sqlite3.connect(path)) as connection:
        there = {row[0] for row in connection.execute("SELECT conversation FROM attempts")}
    held = codes == [0] * number and all(f"child{item}" in there for item in range(number))
    return f"{number} forks while three threads write", "every child writes what it learned", held


def payments(folder: Path, nightly: bool) -> Told:
    """Kill a payment while it runs, and have a new process asked to make it again."""
    number, held = (50 if nightly else 6), True
    for item in range(number):
        path, ledger = folder / f"{item}.db", folder / f"{item}.paid"
        mode = ("guard", "act")[item % 2]
        for how in ("kill", "repeat", "repeat"):
            process = child("pay", path, mode, how, ledger)
            process.communicate()
        held &= ledger.read_text().count("paid") == 1
    return (
        f"{number} payments killed while they ran, each asked for twice more by new processes",
        "each is made once",
        held,
    )


ALL: dict[str, Callable[[Path, bool], Told]] = {
    "kill -9": kills,
    "processes": processes,
    "payments": payments,
    "locked": locked,
    "disk full": no_room,
    "read-only": read_only,
    "deleted": replaced,
    "damaged": damaged,
    "clock": clocks,
    "fork": forks,
}
