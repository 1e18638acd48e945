"""How fast the store takes in events, beside a bare writer: ``python tests/benchmarks/writer_throughput.py``."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from btm import Effect, FallbackMap, ToolCall, ToolMemory
from btm.planning.policy import Policies
from btm.runtime.options import MemoryOptions
from btm.store import CallEvent, Event
from btm.store.sql import SqlStore

CONVERSATIONS = 6_000
BATCH = 500
ADD = {
    "calls": " ON CONFLICT DO NOTHING",
    "attempts": "",
    "incidents": " ON CONFLICT DO NOTHING",
    "evidence": " ON CONFLICT DO UPDATE SET successes = successes + excluded.successes,"
    " failures = failures + excluded.failures",
}


def lived() -> list[Event]:
    """Return what a memory hands to its store for that many failures, each with one repeat."""
    events: list[Event] = []
    tried: set[int] = set()

    class Listening(SqlStore):
        def write(self, batch: Sequence[Event]) -> Sequence[CallEvent]:
            events.extend(batch)
            return super().write(batch)

    def tool(name: str, arguments: Mapping[str, Any]) -> Any:
        first = arguments["n"] not in tried
        tried.add(arguments["n"])
        if first or arguments["n"] % 4 == 0:
            raise TimeoutError("timed out")
        return {"ok": 1}

    options = MemoryOptions(sleep=lambda seconds: None, hooks=())
    with ToolMemory(
        Listening(), fallback_map=FallbackMap.empty(), policies=Policies.load(), options=options
    ) as memory:
        for n in range(CONVERSATIONS):
            for again in (False, True):
                call = ToolCall(f"tool{n % 5}", {"n": n}, Effect.READ, f"c{n}", f"k{again}")
                memory.call(call, tool)
            memory.end(f"c{n}")
    return events


def bare(path: Path, rows: Mapping[str, list[tuple[Any, ...]]]) -> None:
    """Write the same rows with nothing but executemany."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    size = BATCH * len(rows["calls"]) // CONVERSATIONS // 2
    for first in range(0, len(rows["calls"]), size):
        connection.execute("BEGIN IMMEDIATE")
        for table, all_rows in rows.items():
            share = (
                len(all_rows) * first // len(rows["calls"]),
                len(all_rows) * (first + size) // len(rows["calls"]),
            )
            part = all_rows[slice(*share)]
            connection.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(all_rows[0]))}){ADD[table]}", part
            )
        connection.execute("COMMIT")
    connection.close()


def cpu_s(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    events = lived()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "btm.db", Path(folder) / "bare.db"
        store = SqlStore(ours)
        batches = [events[first : first + BATCH] for first in range(0, len(events), BATCH)]
        took = cpu_s(lambda: [store.write(batch) for batch in batches])
        store.close()
        with sqlite3.connect(ours) as connection:
            rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in ADD}
            key = "tool, kind, action, target, ordinal, success, 1 - success"
            rows["evidence"] = connection.execute(
                f"SELECT {key} FROM attempts"
            ).fetchall()  # one upsert an attempt
        SqlStore(theirs).close()
        plain = cpu_s(lambda: bare(theirs, rows))
    ours_s, bare_s = CONVERSATIONS / took, CONVERSATIONS / plain
    print(
        f"attempts a second of CPU: btm {ours_s:,.0f}, bare sqlite3 {bare_s:,.0f}; {ours_s / bare_s:.2f} of it"
    )


if __name__ == "__main__":
    main()
