"""Bringing together what a log holds apart: records by key, in bounded memory.

Spans and runs are exported in the order in which they end, those of many conversations mixed. Up to a budget they
are held; beyond it they go to temporary files, split by key, that are read back one after the other.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO, Self

BUDGET = 64 << 20
"""Bytes of records that are held in memory before the files are used."""

_FILES = 64
_SIZES = struct.Struct(">II")
_OVERHEAD = 150  # bytes of memory that a record costs beside its own


class Groups:
    """Collects records by key; a context manager, whose end removes the temporary files."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._left = budget
        self._held: dict[str, list[bytes]] = {}
        self._files: list[BinaryIO] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, key: str, record: bytes) -> None:
        """Add a record to its group."""
        if self._files:
            self._write(key, record)
            return
        # A copy takes what it needs; what a serializer returns can hold on to the kilobytes it was built in.
        self._held.setdefault(key, []).append(bytes(memoryview(record)))
        self._left -= len(record) + _OVERHEAD
        if self._left < 0:
            self._spill()

    def __iter__(self) -> Iterator[tuple[str, list[bytes]]]:
        """Give each key with its records in the order in which they came."""
        yield from self._held.items()
        for file in self._files:
            file.seek(0)
            groups: dict[str, list[bytes]] = {}
            while sizes := file.read(_SIZES.size):
                key_size, record_size = _SIZES.unpack(sizes)
                key = file.read(key_size).decode("utf-8", "surrogatepass")
                groups.setdefault(key, []).append(file.read(record_size))
            yield from groups.items()

    def _spill(self) -> None:
        for _ in range(_FILES):
            self._files.append(self._stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115 - the stack closes it
        for key, records in self._held.items():
            for record in records:
                self._write(key, record)
        self._held = {}

    def _write(self, key: str, record: bytes) -> None:
        name = key.encode("utf-8", "surrogatepass")
        self._files[zlib.crc32(name) % _FILES].write(_SIZES.pack(len(name), len(record)) + name + record)
