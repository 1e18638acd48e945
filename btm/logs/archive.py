"""Zip archives (inspect_ai's .eval, exports of platforms), read as the documents in them, and tables in Parquet, as lines.

Python's zipfile finds the members; those packed with Zstandard, which it cannot unpack before Python 3.14, are unpacked
here.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import orjson

from btm.errors import MissingExtraError

PARQUET = b"PAR1"
"""What a Parquet file begins and ends with."""

_ZSTANDARD = 93
_CHUNK = 1 << 20
_LARGEST = 32 << 20  # bytes of a document that is read whole
_ROWS = 64
_HEADER = 30  # bytes of a member's local header, before its name
_LOGS = (".json", ".jsonl", ".ndjson")


def members(path: str) -> Iterator[bytes]:
    """Give the logs in an archive as one file. Of an .eval only the samples are logs: the rest sums them up."""
    try:
        with zipfile.ZipFile(path) as archive:
            logs = [member for member in archive.infolist() if member.filename.endswith(_LOGS)]
            samples = [member for member in logs if member.filename.startswith("samples/")]
            for member in samples or logs:
                chunks = _member(path, archive, member)
                if member.filename.endswith(".json") and member.file_size <= _LARGEST:
                    chunks = iter((_on_one_line(b"".join(chunks)),))
                yield from chunks
                yield b"\n"
    except (
        zipfile.BadZipFile,
        RuntimeError,
        NotImplementedError,
    ) as error:  # damaged, locked, or packed oddly
        raise OSError(f"the zip archive cannot be read: {error}") from error


def _member(path: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    if member.compress_type == _ZSTANDARD:
        yield from _zstandard(path, member)
        return
    with archive.open(member) as file:
        yield from iter(lambda: file.read(_CHUNK), b"")


def rows(path: str) -> Iterator[bytes]:
    """Return a table in a Parquet file as lines of JSON. Raises MissingExtraError where pyarrow is not installed."""
    parquet: Any = None
    if _ends_as_parquet(path):
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError as missing:
            raise MissingExtraError("pyarrow", "parquet", "reading a Parquet file") from missing
    return _lines(path, parquet)


def _lines(path: str, parquet: Any) -> Iterator[bytes]:
    if parquet is None:  # whoever reads it, there is no table
        raise OSError("the Parquet file cannot be read: it does not end like one, as if it were cut off")
    try:
        for batch in parquet.ParquetFile(path).iter_batches(_ROWS):
            for row in batch.to_pylist():
                yield orjson.dumps(row, default=str) + b"\n"
    except (ValueError, NotImplementedError) as error:  # pyarrow's own errors are of these kinds
        raise OSError(f"the Parquet file cannot be read: {error}") from error


def _ends_as_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - len(PARQUET), 0))
        return file.read() == PARQUET


def _on_one_line(document: bytes) -> bytes:
    """Return a document as a line, so that those of an archive are the lines of one log; broken ones stay as they are."""
    try:
        return orjson.dumps(orjson.loads(document))
    except ValueError:
        return document


def _zstandard(path: str, member: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        import zstandard  # noqa: PLC0415 - optional, and only some archives need it
    except ImportError as missing:
        raise MissingExtraError("zstandard", "zstd", "reading an archive that is packed with it") from missing
    with open(path, "rb") as file:
        file.seek(member.header_offset)
        header = file.read(_HEADER)
        file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
        with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as reader:
            left = member.file_size
            while left > 0 and (chunk := reader.read(min(_CHUNK, left))):
                left -= len(chunk)
                yield chunk
