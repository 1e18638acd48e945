"""A look at the beginning of a log: how it is framed, and what its first records look like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson

from btm.logs.lenient import NO_JSON, after_prefix, loads
from btm.logs.scanner import Element, Scanner
from btm.logs.source import ByteStream

SIZE = 64 << 10
_LARGEST = 4 << 20
_RECORDS = 20
_LINES = 200


_SIGN = re.compile(rb'"([\w$.@:-]{1,40})"\s*:\s*(?:"([^"\\]{1,60})")?')


class Shape(Enum):
    """How a log is framed."""

    LINES = "lines"  # JSONL: a record a line
    ARRAY = "array"  # a JSON array of records
    OBJECT = "object"  # a JSON object, or several one after the other
    OTHER = "other"  # nothing that looks like JSON


@dataclass(frozen=True, slots=True)
class Sample:
    """What is known of a log before it is read.

    ``records`` are its first records: lines, elements of the array, or the object itself when it is small.
    ``keys`` are the keys of the first record, as far as the sample reaches.
    """

    head: bytes
    shape: Shape
    records: tuple[Any, ...] = ()
    keys: frozenset[str] = frozenset()

    @property
    def signs(self) -> frozenset[str]:
        """Every key that comes up in the beginning, at any depth, and ``key=value`` for short texts."""
        return _signs(self.head[:SIZE])

    @classmethod
    def of(cls, stream: ByteStream) -> Sample:
        """Look at the beginning of ``stream``, further when the first record is large. Nothing is used up."""
        size = SIZE
        while True:
            head = stream.peek(size)
            complete = len(head) < size
            # A first line longer than this may be a long conversation or a whole document: its end tells.
            if complete or size >= _LARGEST or b"\n" in head.rstrip():
                sample = _look(head, complete=complete)
                whole = complete or size >= _LARGEST or sample.shape not in (Shape.ARRAY, Shape.OBJECT)
                if sample.records or whole:
                    return sample
            size *= 4

    @property
    def objects(self) -> Iterator[Mapping[str, Any]]:
        """Those first records that are objects."""
        return (record for record in self.records if isinstance(record, dict))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.head.strip()


@lru_cache(maxsize=4)
def _signs(head: bytes) -> frozenset[str]:
    found: set[str] = set()
    for key, value in set(_SIGN.findall(head)):
        name = key.decode("utf-8", "replace")
        found.add(name)
        if value:
            found.add(f"{name}={value.decode('utf-8', 'replace')}")
    return frozenset(found)


def _look(head: bytes, *, complete: bool) -> Sample:
    if (records := _as_lines(head, complete=complete)) is not None:
        return Sample(head, Shape.LINES, records, _keys_of(records))
    start = head[:SIZE].lstrip()
    if start.startswith(b"["):
        records = _elements(start) or _elements(head)
        return Sample(head, Shape.ARRAY, records, _keys_of(records) or Scanner(iter([start[1:]])).keys()[0])
    if start.startswith(b"{"):
        if complete and (value := _container(head)) is not None:
            return Sample(head, Shape.OBJECT, (value,), _keys_of((value,)))
        keys, whole = Scanner(iter([start])).keys()
        return Sample(
            head, Shape.OBJECT, tuple(_values(Scanner(iter([start])).values())) if whole else (), keys
        )
    return Sample(head, Shape.OTHER)


def _as_lines(head: bytes, *, complete: bool) -> tuple[Any, ...] | None:
    """Return the first records if these are lines of JSONL, a few of which may be broken.

    A single line is a document: read as one it gives the same, and a long array in it is streamed.
    """
    if b"\n" not in head.rstrip():
        return None
    lines = head.split(b"\n", _LINES)
    whole = lines if complete and len(lines) <= _LINES else lines[:-1]
    filled = [line for line in whole if line.strip()]
    if not filled or (len(filled) == 1 and not (lines[-1].strip() and lines[-1] is not filled[0])):
        return None
    if _container(filled[0]) is None and not (NO_JSON.match(filled[0]) and any(map(_container, filled))):
        # Either the first line is broken, or this is a document over several lines, whose lines are no JSON of
        # their own; only the last element of an array may look like it, and is followed by a bracket.
        following = [_container(line) for line in filled[1:4]]
        if not following or any(value is None for value in following):
            return None
    values = (value for value in map(_container, filled) if value is not None)
    return tuple(islice(values, _RECORDS))


def _container(line: bytes) -> Any:
    """Return the non-empty object or array that this line is, or None."""
    try:
        value = orjson.loads(line)
    except ValueError:
        line = after_prefix(line.strip())
        if line[:1] not in (b"{", b"["):
            return None
        try:
            value = loads(line)
        except ValueError:
            return None
    return value if isinstance(value, dict | list) and value else None


def _elements(head: bytes) -> tuple[Any, ...]:
    return tuple(_values(Scanner(iter([head])).elements()))


def _values(found: Iterator[object]) -> Iterator[Any]:
    return islice((element.value for element in found if isinstance(element, Element)), _RECORDS)


def _keys_of(records: tuple[Any, ...]) -> frozenset[str]:
    return frozenset(records[0]) if records and isinstance(records[0], dict) else frozenset()
