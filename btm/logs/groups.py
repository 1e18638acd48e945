"""Bringing together what a log holds apart: records by key, in bounded memory.

Spans and runs are exported in the order in which they end, those of many conversations mixed. A temporary database holds
them, in memory as long as they are few.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from typing import Self

BUDGET = 64 << 20
"""Bytes of records that are held in memory before they go to disk."""

_AT_ONCE = 1 << 20  # bytes


class Groups:
    """Collects records by key; a context manager, whose end removes the temporary database."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._database = sqlite3.connect(
            "", isolation_level=None
        )  # nameless: it is deleted when it is closed
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(f"PRAGMA cache_size = {-(budget >> 10) or -1}")
        self._database.execute("CREATE TABLE records (place INTEGER, record BLOB)")
        self._places: dict[str, int] = {}
        self._waiting: list[tuple[int, bytes]] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add(self, key: str, record: bytes) -> None:
        """Add a record to its group."""
        self._waiting.append((self._places.setdefault(key, len(self._places)), record))
        self._size += len(record)
        if self._size >= _AT_ONCE:
            self._write()

    def __iter__(self) -> Iterator[tuple[str, list[bytes]]]:
        """Give each key with its records, both in the order in which they came."""
        self._write()
        rows = self._database.execute("SELECT place, record FROM records ORDER BY place, rowid")
        for (_, found), key in zip(groupby(rows, lambda row: row[0]), list(self._places), strict=True):
            yield key, [record for _, record in found]

    def _write(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO records VALUES (?, ?)", self._waiting)
        self._database.execute("COMMIT")
        self._waiting, self._size = [], 0
