"""What a database of many attempts costs: ``python tests/benchmarks/large_database.py FILE [ATTEMPTS]``.

FILE is made unless it is there.
"""

from __future__ import annotations

import contextlib
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from btm import Effect, ToolCall, ToolMemory
from btm.store.sql import SqlStore

KINDS = (
    "timeout",
    "rate_limit",
    "server_error",
    "unavailable",
    "malformed",
    "auth_error",
    "schema_drift",
    "not_found",
)
TOOLS = 500
ERROR = "HTTP 503 Service Unavailable: upstream connect error or disconnect/reset before headers"
PLANS = 3_000


def make(path: Path, attempts: int) -> None:
    """Write what that many failed calls and their repeats leave, over 50,000 keys and thirty days."""
    now, rng = time.time(), random.Random(1)
    actions = [("retry", ""), ("revise", ""), ("switch", "other"), ("switch", "another")]
    keys = [
        (f"tool_{t}", k, a, to, n)
        for t in range(TOOLS)
        for k in KINDS
        for a, to in actions
        for n in (1, 2, 3)
    ]
    keys += [(f"tool_{t}", "unknown", "retry", "", n) for t in range(TOOLS) for n in (1, 2, 3)]
    rng.shuffle(keys)
    store = SqlStore(path, now=now - 30 * 86_400.0)
    decay = store.decay
    store.close()
    sums: dict[tuple[Any, ...], list[float]] = {}
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    for first in range(0, attempts, 50_000):
        calls, tries, incidents = [], [], []
        for number in range(first, min(first + 50_000, attempts)):
            key = keys[number % len(keys)]
            at = now - 30 * 86_400.0 * (1 - number / attempts) - 5
            worked, talk, a, b = (
                rng.random() < 0.6,
                f"thread-{number // 7:08x}",
                f"call_{number:024d}",
                f"call_{number:023d}b",
            )
            kind, print_ = key[1], f"{number * 7919:032x}"
            call = (
                talk,
                a,
                key[0],
                "read",
                print_,
                None,
                at - 2,
                at - 1,
                0.8,
                kind,
                0,
                0,
                503,
                ERROR,
                "status:503",
                0,
            )
            calls.append(call)
            repeat = (None, "", "success") if worked else (kind, "HTTP 503", "status:503")
            calls.append(
                (
                    talk,
                    b,
                    key[0],
                    "read",
                    print_,
                    None,
                    at - 1,
                    at,
                    0.8,
                    repeat[0],
                    0,
                    0,
                    None,
                    *repeat[1:],
                    0,
                )
            )
            tries.append((talk, b, f"{talk}/{a}", *key, worked, repeat[0], at, 0.8))
            state = "resolved" if worked else "abandoned"
            incidents.append((f"{talk}/{a}", talk, a, "", key[0], kind, state, at - 1, at))
            sums.setdefault(key, [0.0, 0.0])[not worked] += decay.weight(at)
        with connection:
            for table, rows in (("calls", calls), ("attempts", tries), ("incidents", incidents)):
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    with connection:
        evidence = [(*key, *both) for key, both in sums.items()]
        connection.executemany("INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?)", evidence)
    connection.close()


def cpu_s(run: Callable[[], object], who: int = resource.RUSAGE_SELF) -> float:
    began = resource.getrusage(who)
    run()
    ended = resource.getrusage(who)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def fails(tool: str, arguments: Mapping[str, Any]) -> Any:
    raise TimeoutError("timed out")


def plans(memory: ToolMemory) -> list[float]:
    """Return the milliseconds of CPU that a failing call takes with its plan and its text, the first one first."""
    took = []
    for number in range(PLANS):
        call = ToolCall(f"tool_{number % TOOLS}", {"id": number}, Effect.READ, f"c{number}", "1")
        began = time.thread_time()
        memory.call(call, fails)
        took.append(1e3 * (time.thread_time() - began))
        memory.end(call.conversation)
    return took


def main() -> None:
    path = Path(sys.argv[1])
    if not path.exists():
        make(path, int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        counted = [
            connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
            for t in ("attempts", "calls", "evidence")
        ]
    size = path.stat().st_size
    print(
        "{:,} attempts, {:,} calls, {:,} keys".format(*counted),
        f"{size / 1e6:,.0f} MB, {size / counted[1]:.0f} bytes a call",
    )
    opened: list[ToolMemory] = []
    print(
        f"open: {cpu_s(lambda: opened.append(ToolMemory.open(path, read_only=True, hooks=()))):.2f} s of CPU"
    )
    first, *others = plans(opened[0])
    others.sort()
    median, p99 = (others[len(others) * part // 100] for part in (50, 99))
    print(f"a failing call: median {median:.2f} ms, p99 {p99:.2f} ms of CPU; the first {first:.0f} ms")
    print(f"resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    commands = (
        ["show"],
        ["explain", "--tool", "tool_1", "--error", "timeout"],
        ["db", "info"],
        ["show", "--json"],
    )
    for argv in commands:
        command = [sys.executable, "-m", "btm", *argv, "--db", str(path)]
        took = cpu_s(
            lambda c=command: subprocess.run(c, stdout=subprocess.DEVNULL, check=True),
            resource.RUSAGE_CHILDREN,
        )  # type: ignore[misc]
        a_key = f", {1e6 * took / counted[2]:.0f} us a key" if "--json" in argv else ""
        print(f"btm {' '.join(argv)}: {took:.2f} s of CPU{a_key}")


if __name__ == "__main__":
    main()
