"""Finding logs and opening them: files, folders, globs and stdin; plain, gzip or Zstandard, known by content.

Everything is a stream of chunks, so that memory stays flat whatever the size, compressed or not. Input that ends in
the middle (a killed writer, a half copy) or is damaged gives all that could be read, and then says so in
``ByteStream.problem``.
"""

from __future__ import annotations

import codecs
import glob
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

from btm.errors import MissingExtraError, TraceError
from btm.logs import archive, foreign
from btm.logs.archive import PARQUET
from btm.support.open_files import open_to_read

CHUNK = 1 << 20
"""Bytes that are read, or unpacked, at a time."""

STDIN = "-"

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # what PowerShell writes
# Zstandard gives all that a piece of input unpacks to: at most 128 KiB for each 4 bytes, so pieces are small.
_ZSTD_PIECE = 8 << 10


Paths = Iterable[str | os.PathLike[str]]
"""Files, folders, globs, or ``-`` for stdin."""

Watch = Callable[[int], None]
"""Is told, as a log is read, how many bytes more."""


class Readable(Protocol):
    """What a log is read from."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""


class LogFile(NamedTuple):
    """A log to read. ``named`` is False for one that a folder or a glob brought along."""

    path: str
    named: bool


def find_logs(paths: Paths) -> Iterator[LogFile]:
    """Give each log that ``paths`` mean, folders and globs in sorted order; hidden files of folders stay out.

    Raises TraceError for a path that does not exist and for a glob that matches nothing.
    """
    for given in paths:
        path = os.fspath(given)
        if path == STDIN:
            yield LogFile(path, named=True)
        elif Path(path).is_dir():
            yield from (LogFile(found, named=False) for found in _files_below(path))
        elif Path(path).exists():
            yield LogFile(path, named=True)
        else:
            matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
            if not matches:
                raise TraceError(f"{path}: no such file or folder, and no file that matches it as a pattern")
            for match in matches:
                inside: Iterable[str] = (match,) if Path(match).is_file() else ()
                if Path(match).is_dir():
                    inside = _files_below(match)
                yield from (LogFile(found, named=False) for found in inside)


def _files_below(folder: str) -> Iterator[str]:
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(base, name)
            if not name.startswith(".") and path.is_file():  # a pipe or socket among them would be waited for
                yield str(path)


class ByteStream:
    """The unpacked bytes of one log, as chunks. ``problem`` says, once all is read, what cut the input short."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.problem: str | None = None
        self._seen: list[bytes] = []
        self._rest = self._guarded(chunks)

    def peek(self, size: int) -> bytes:
        """Return the first ``size`` bytes (fewer if there are no more); ``chunks`` gives them again."""
        have = sum(map(len, self._seen))
        while have < size and (chunk := next(self._rest, None)) is not None:
            self._seen.append(chunk)
            have += len(chunk)
        return b"".join(self._seen)[:size]

    def chunks(self) -> Iterator[bytes]:
        """Give everything once, from the beginning."""
        while self._seen:
            yield self._seen.pop(0)
        yield from self._rest

    def _guarded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            first = next(chunks, b"")
            if first.startswith(_UTF16):
                yield from _from_utf16(first, chunks)
                return
            first = first.removeprefix(_BOM)
            as_json = foreign.as_json(first, chunks)
            yield from chain((first,), chunks) if as_json is None else as_json
        except (EOFError, OSError, zlib.error) as error:
            self.problem = str(error) or type(error).__name__


class _Watched:
    """A file that says how many bytes were read from it."""

    def __init__(self, file: Readable, watch: Watch) -> None:
        self._file = file
        self._watch = watch

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._watch(len(data))
        return data


@contextmanager
def open_log(path: str, watch: Watch | None = None) -> Iterator[ByteStream]:
    """Open a log for reading; ``watch`` is told of the bytes as they are read, before they are unpacked.

    Raises TraceError when it cannot be opened, MissingExtraError for a lone .zst.
    """
    if path == STDIN:
        yield ByteStream(_unpacked(sys.stdin.buffer))
        return
    try:
        file = open_to_read(path)
    except OSError as error:
        raise TraceError(f"{path}: cannot be opened: {error.strerror or error}") from error
    with file:
        begins = file.read(len(_ZIP)) if file.seekable() else b""
        if begins in (_ZIP, PARQUET):
            yield ByteStream(archive.members(path) if begins == _ZIP else archive.rows(path))
            return
        if file.seekable():
            file.seek(0)
        yield ByteStream(_unpacked(file if watch is None else _Watched(file, watch)))


def _unpacked(file: Readable) -> Iterator[bytes]:
    first = b""
    while len(first) < len(_ZSTD) and (more := file.read(CHUNK)):  # a pipe may give a byte at a time
        first += more
    rest = iter(lambda: file.read(CHUNK), b"")
    if first.startswith(_GZIP):
        yield from _gunzip(first, rest)
    elif first.startswith(_ZSTD):
        yield from _unzstd(first, rest)
    else:
        yield from chain((first,), rest)


def _from_utf16(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for chunk in chain((first,), rest):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _gunzip(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack gzip members one after the other; never more than a chunk at a time, however well it was packed."""
    member = zlib.decompressobj(wbits=31)
    for piece in chain((first,), rest):
        data = piece
        while data:
            if member.eof:
                data = data.lstrip(b"\0")  # some writers pad with zeros
                if not data:
                    break
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(data, CHUNK)
            data = member.unused_data if member.eof else member.unconsumed_tail
    yield member.flush()
    if not member.eof:
        raise EOFError("the gzip data ends in the middle")


def _unzstd(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    try:
        import zstandard  # noqa: PLC0415 - optional, and only a .zst log needs it
    except ImportError as missing:
        raise MissingExtraError("zstandard", "zstd", "reading a .zst log") from missing
    frame = zstandard.ZstdDecompressor().decompressobj()
    fresh = True
    for data in chain((first,), rest):
        at = 0
        while at < len(data):
            if frame.eof:
                frame, fresh = zstandard.ZstdDecompressor().decompressobj(), True
            piece = data[at : at + _ZSTD_PIECE]
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise EOFError(f"damaged Zstandard data: {error}") from error
            fresh = False
            at += len(piece) - len(frame.unused_data)
    if not frame.eof and not fresh:
        raise EOFError("the Zstandard data ends in the middle")
