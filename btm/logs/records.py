"""One log as a sequence of records: lines of JSONL, elements of a JSON array, or documents one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import orjson

from btm.logs.conversation import Skipped
from btm.logs.lenient import after_prefix, loads
from btm.logs.rewriting import Rewrite, rewriter
from btm.logs.sample import Sample, Shape
from btm.logs.scanner import LIMIT, Broken, Path, Scanner
from btm.logs.source import ByteStream

_Given = TypeVar("_Given")


class Record(NamedTuple):
    """A JSON value of a log, its bytes, its line (from 1) and where that is, for people."""

    value: Any
    raw: bytes
    line: int
    place: str


class Piece(NamedTuple):
    """A record that was not parsed yet: its bytes, its line (from 1) and where that is, for people."""

    raw: bytes
    line: int
    place: str


DIGITS = 32
"""Hex digits of a digest that are kept: 128 bits."""


def digest_of(raw: bytes) -> str:
    """Return the name of a piece of raw content: the first 32 hex digits of its SHA-256.

    Current processors compute it in hardware, three times as fast as BLAKE2b.
    """
    return sha256(raw).hexdigest()[:DIGITS]


class Log:
    """An opened log, with a look at its beginning."""

    def __init__(self, name: str, stream: ByteStream) -> None:
        self.name = name
        self._stream = stream
        self.sample, self._rewrite = rewritten(Sample.of(stream))

    @property
    def is_rewritten(self) -> bool:
        """Whether its records are read in another form than they stand in: then they cannot be read apart."""
        return self._rewrite is not None

    def records(self, path: Path = ()) -> Iterator[Record | Skipped]:
        """Give every record, and a Skipped for every piece that is none.

        In JSONL each line is a record. In a JSON document the records are the elements of an array that is the
        document, or of the arrays at ``path`` in an object; an object without a path is itself the record.
        """
        lines = self.sample.shape is Shape.LINES
        found = parsed(self.name, self._raw_lines()) if lines else self._elements(path)
        if self._rewrite is not None:
            found = map(self._rewritten, found)
        yield from found
        if self._stream.problem:
            yield self._cut_short(self._stream.problem)

    def _rewritten(self, record: Record | Skipped) -> Record | Skipped:
        if isinstance(record, Skipped) or self._rewrite is None:
            return record
        return record._replace(value=self._rewrite(record.value))

    def pieces(self, path: Path = ()) -> Iterator[Piece | Skipped]:
        """Give every record as it stands, not parsed where that can be avoided; see ``records``."""
        if self.sample.shape is Shape.LINES:
            yield from self._raw_lines()
        else:
            for record in self._elements(path):
                yield record if isinstance(record, Skipped) else Piece(*record[1:])
        if self._stream.problem:
            yield self._cut_short(self._stream.problem)

    def _raw_lines(self) -> Iterator[Piece | Skipped]:
        name = self.name
        for number, line in split_lines(self._stream.chunks()):
            if line is None:
                yield Skipped(name, number, f"the line is larger than {LIMIT >> 20} MiB")
            else:
                yield Piece(line, number, f"{name}:{number}")

    def _elements(self, path: Path) -> Iterator[Record | Skipped]:
        scanner = Scanner(self._stream.chunks())
        found = scanner.elements(path) if path or self.sample.shape is Shape.ARRAY else scanner.values()
        for index, piece in enumerate(found):
            if isinstance(piece, Broken):
                yield Skipped(self.name, piece.line, piece.reason)
            else:
                yield Record(piece.value, piece.raw, piece.line, f"{self.name}#{index}")

    def _cut_short(self, problem: str) -> Skipped:
        return Skipped(self.name, 0, f"read up to where it was cut or damaged: {problem}")


def rewritten(sample: Sample) -> tuple[Sample, Rewrite | None]:
    """Return the look at a log as its records are read, and how these are rewritten (None: as they stand)."""
    make = rewriter(sample.records)
    if make is None:
        return sample, None
    records = tuple(map(make(), sample.records))
    keys = frozenset(records[0]) if isinstance(records[0], dict) else frozenset()
    head = orjson.dumps(records) if "rows" in keys else sample.head
    return Sample(head, sample.shape, records, keys), make()


class Excerpt(Log):
    """Some records of a log, taken out of it to be read by another process."""

    def __init__(self, name: str, pieces: Iterable[Piece | Skipped]) -> None:
        self.name = name
        self.sample = Sample(b"", Shape.LINES)
        self._pieces = pieces

    def records(self, path: Path = ()) -> Iterator[Record | Skipped]:  # noqa: ARG002 - the pieces lay there
        """Give every record of the excerpt."""
        return parsed(self.name, self._pieces)


def parsed(name: str, pieces: Iterable[Piece | Skipped]) -> Iterator[Record | Skipped]:
    """Parse pieces of a log; blank ones are passed over."""
    for piece in pieces:
        if isinstance(piece, Skipped):
            yield piece
            continue
        raw, line, place = piece
        try:
            value = orjson.loads(raw)
        except ValueError:
            if not raw or raw.isspace():
                continue
            try:
                value = loads(after_prefix(raw))
            except ValueError as error:
                yield Skipped(name, line, f"not JSON: {error}")
                continue
        yield Record(value, raw, line, place)


MALFORMED = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What reading a record of an unexpected form can raise: a text where an object belongs, and so on."""


def reason(error: Exception) -> str:
    """Return why a record could not be read, for people: ``error`` is one of ``MALFORMED``."""
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r}" if error.args else "something is missing in it"
    if isinstance(error, ValueError):
        return str(error)
    return (
        "it is nested too deep" if isinstance(error, RecursionError) else "a value in it is of another form"
    )


def read_each(
    log: Log, what: str, read: Callable[[Record], Iterable[_Given]], path: Path = ()
) -> Iterator[_Given | Skipped]:
    """Give what ``read`` gives of every record; one that it cannot read, being not ``what`` it has to be, is skipped."""
    for record in log.records(path):
        if isinstance(record, Skipped):
            yield record
            continue
        try:
            yield from read(record)
        except MALFORMED as error:
            yield Skipped(log.name, record.line, f"not {what}: {reason(error)}")


def split_lines(chunks: Iterator[bytes], limit: int = LIMIT) -> Iterator[tuple[int, bytes | None]]:
    """Give each line with its number, without its line end; None for one that is longer than ``limit`` bytes."""
    number = 1
    begun: list[bytes] = []  # the pieces of a line whose end has not been seen
    size = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        size += len(first)
        if size <= limit:
            begun.append(first)
        else:
            begun.clear()
        if not others:
            continue
        yield number, _line(begun, size, limit)
        number += 1
        last = others.pop()
        for line in others:
            yield number, line[:-1] if line.endswith(b"\r") else line
            number += 1
        begun, size = [last], len(last)
    if size:
        yield number, _line(begun, size, limit)


def _line(pieces: list[bytes], size: int, limit: int) -> bytes | None:
    return b"".join(pieces).rstrip(b"\r") if size <= limit else None
