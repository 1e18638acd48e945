"""Splitting a JSON document into its elements without holding it: a huge array is read one element at a time.

Finding where an element ends needs each string and bracket in between to be looked at, which in Python takes three
times as long as orjson takes to parse it. So the end is guessed instead, and the guess is proven by parsing: the
elements of one array are written by one program and begin alike, which makes the bytes between two of them
(``}, {"task_id":``) a separator that ``bytes.find`` looks for at memory speed. A slice that begins where an element
begins and parses as one whole value is that element, whatever the separator was. Where the guess fails, the
brackets are counted after all; where those do not balance, the next separator is where reading goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from btm.logs.lenient import loads
from btm.logs.marks import SPAN, Mark, mark_of
from btm.logs.source import CHUNK

LIMIT = 32 << 20
"""Bytes of one line, element or document that are read whole; a larger one is skipped, and said to be."""

Path = tuple[str, ...]
"""Where the elements lie: ``("simulations",)`` means the array under that key, ``("a", "b")`` the arrays under ``b``
of each element of ``a``, ``()`` an array that is the document itself."""

_SPACE = re.compile(rb"[ \t\r\n]*+")
_KEY = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\r\n]*+:', re.DOTALL)
_SCALAR = re.compile(rb"[^,\]}\s\[{\"]++")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# Everything up to the next bracket that stands outside of a string, or up to a string that has no end yet.
_NO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+', re.DOTALL)
_CLOSING = 3  # closing brackets at the end of a document that the last element is looked for before
_NEAR = 256 << 10  # how far a separator is looked for, at least
_SMALL = 8 << 20  # a document up to this size is parsed in one go
_MAX_MISSES = 16
_MAX_UNBALANCED = 3

_OPEN = frozenset(b"{[")
_QUOTE, _COMMA, _END_ARRAY, _END_OBJECT = b'",]}'


class Element(NamedTuple):
    """A value of the document: its bytes, what they say, and the line on which it begins."""

    raw: bytes
    value: Any
    line: int


class Broken(NamedTuple):
    """A part of a document or log that could not be read, the line on which it begins, and why."""

    line: int
    reason: str


class _UnreadableError(Exception):
    """The value at the reading position cannot be read; the text says why.

    ``length`` is how many bytes it takes as far as its brackets tell, 0 when they do not.
    """

    def __init__(self, reason: str, length: int = 0) -> None:
        super().__init__(reason)
        self.length = length
        self.line = 0


class Scanner:
    """Reads the values of a JSON document, or of several one after the other, from chunks of bytes."""

    def __init__(self, chunks: Iterator[bytes], limit: int = LIMIT) -> None:
        self._chunks = chunks
        self._limit = limit
        self._buffer = b""
        self._at = 0
        self._line = 1  # of `_counted`, the place up to which line ends have been counted
        self._counted = 0
        self._mark: Mark | None = None
        self._ended = False
        self._longest = 0
        self._misses = 0
        self._unbalanced = 0

    def values(self) -> Iterator[Element | Broken]:
        """Give each top-level value whole."""
        while len(self._buffer) < _SMALL and self._more():
            pass
        if len(self._buffer) < _SMALL and (whole := self._parsed(self._buffer)) is not None:
            yield whole
            return
        while self._peek() is not None:
            line = self._line_here()
            try:
                yield self._element()
            except _UnreadableError as problem:
                yield Broken(line, str(problem))
                if not problem.length:
                    return
                self._at += problem.length

    def elements(self, path: Path = ()) -> Iterator[Element | Broken]:
        """Give each element of the arrays at ``path``, and each top-level value that can hold no such array."""
        while (byte := self._peek()) is not None:
            line = self._line_here()
            try:
                if byte == _OPEN_ARRAY or (byte == _OPEN_OBJECT and path):
                    yield from self._inside(path if byte == _OPEN_OBJECT else ())
                else:
                    yield self._element()
            except _UnreadableError as problem:
                yield Broken(problem.line or line, str(problem))
                return

    def keys(self) -> tuple[frozenset[str], bool]:
        """Return the keys of the object that stands next, as far as they can be reached, and whether those are all."""
        found: list[str] = []
        if self._peek() != _OPEN_OBJECT:
            return frozenset(), False
        try:
            for key in self._members():
                found.append(key)
                self._skip()
        except _UnreadableError:
            return frozenset(found), False
        return frozenset(found), True

    # ---- walking down to the arrays

    def _inside(self, path: Path) -> Iterator[Element | Broken]:
        """Read the value at the position: an object's member ``path[0]`` or an array of such objects."""
        if self._peek() == _OPEN_ARRAY:
            if not path:
                yield from self._array()
                return
            for _ in self._items():
                yield from self._inside(path)
        elif self._peek() == _OPEN_OBJECT and path:
            for key in self._members():
                if key == path[0] and self._peek() == _OPEN_ARRAY:
                    yield from self._below(path[1:])
                else:
                    self._skip()
        else:
            self._skip()

    def _below(self, path: Path) -> Iterator[Element | Broken]:
        if not path:
            yield from self._array()
            return
        for _ in self._items():
            yield from self._inside(path)

    def _members(self) -> Iterator[str]:
        """Stop before the value of each member of the object at the position; the caller reads the value."""
        self._at += 1
        while (byte := self._peek()) is not None:
            if byte == _END_OBJECT:
                self._at += 1
                return
            if byte == _COMMA:
                self._at += 1
                continue
            while (key := _KEY.match(self._buffer, self._at)) is None:
                if byte != _QUOTE or len(self._buffer) - self._at > SPAN or not self._more():
                    raise _UnreadableError("the JSON is broken: a key was expected")
            self._at = key.end()
            if self._peek() is not None:
                yield key[1].decode("utf-8", "replace")
        raise _UnreadableError("the file ends in the middle")

    def _items(self) -> Iterator[None]:
        """Stop before each element of the array at the position; the caller reads the element."""
        self._at += 1
        while (byte := self._peek()) is not None:
            if byte == _END_ARRAY:
                self._at += 1
                return
            if byte == _COMMA:
                self._at += 1
                continue
            yield
        raise _UnreadableError("the file ends in the middle")

    def _array(self) -> Iterator[Element | Broken]:
        self._mark = None
        for _ in self._items():
            line = self._line_here()
            try:
                yield self._guessed() or self._element()
            except _UnreadableError as problem:
                problem.line = line
                if not self._resume(problem.length):
                    raise
                yield Broken(line, str(problem))

    # ---- one value

    def _guessed(self) -> Element | None:
        """Take everything up to where the next element seems to begin, if that parses."""
        if self._mark is None or self._misses > _MAX_MISSES:
            return None
        end = self._next_mark(self._mark, min(self._limit, max(_NEAR, 2 * self._longest)))
        element = self._parsed(self._buffer[self._at : end]) if end else self._last()
        if element is None:
            self._misses += 1 if end else 4  # a search in vain may have gone through much of what follows
            return None
        self._at += len(element.raw)
        self._misses = max(0, self._misses - 1)
        self._longest = max(self._longest, len(element.raw))
        return element

    def _next_mark(self, mark: Mark, reach: int, ahead: int = 0) -> int:
        """Return where the element before the next mark ends, or 0 when there is none within reach."""
        while True:
            found = self._buffer.find(mark.needle, self._at + ahead, self._at + reach)
            if found >= 0:
                start = self._buffer.rfind(
                    mark.separator, max(self._at, found - SPAN), found + len(mark.needle)
                )
                if start >= 0 and mark.pattern.match(self._buffer, start):
                    return start + 1
                ahead = found + 1 - self._at
                continue
            ahead = max(ahead, len(self._buffer) - self._at - len(mark.needle))
            if ahead > reach or not self._more():
                return 0

    def _last(self) -> Element | None:
        """Take everything up to the document's closing brackets, if that parses."""
        end = len(self._buffer)
        for _ in range(_CLOSING):
            if not self._ended or (end := self._buffer.rfind(b"]", self._at, end)) < 0:
                return None
            if (element := self._parsed(self._buffer[self._at : end].rstrip())) is not None:
                return element
        return None

    def _parsed(self, raw: bytes) -> Element | None:
        try:
            return Element(raw, orjson.loads(raw), self._line_here())
        except ValueError:
            return None

    def _element(self) -> Element:
        """Read the value at the position, whose end is found by counting brackets."""
        if self._unbalanced > _MAX_UNBALANCED:
            raise _UnreadableError("the JSON is broken, and its brackets do not tell where it ends")
        line = self._line_here()
        end = self._end(keep=True)
        raw = self._buffer[self._at : end]
        if len(raw) > self._limit:
            raise _UnreadableError(_too_large(self._limit), len(raw))
        try:
            value = loads(raw)
        except ValueError as error:
            raise _UnreadableError(f"not JSON: {error}", len(raw)) from None
        self._at = end
        self._longest = max(self._longest, len(raw))
        if self._mark is None:
            self._learn_mark(raw)
        return Element(raw, value, line)

    def _learn_mark(self, raw: bytes) -> None:
        """See how the element that follows ``raw`` begins."""
        while len(self._buffer) - self._at < SPAN and self._more(keep=1):
            pass
        self._mark = mark_of(raw, self._buffer, self._at - 1) or self._mark

    def _resume(self, length: int) -> bool:
        """Move to the end of an unreadable element; False when nothing shows where that is.

        The next mark is believed rather than the brackets: one quote too many turns strings inside out.
        """
        if length:
            end = self._next_mark(self._mark, length + SPAN, 1) if self._mark else 0
            self._at = end or self._at + length
            return True
        self._unbalanced += 1
        if self._mark is None:
            return False
        while not (end := self._next_mark(self._mark, _SMALL, 1)):
            if self._ended and len(self._buffer) - self._at <= _SMALL:
                return False
            self._at = max(self._at, min(self._at + _SMALL, len(self._buffer)) - SPAN)
        self._at = end
        return True

    def _skip(self) -> None:
        """Move behind the value at the position without keeping it."""
        self._at = self._end(keep=False)

    def _end(self, *, keep: bool) -> int:
        """Return where the value at the position ends; what it holds stays in the buffer only to ``keep`` it."""
        byte = self._peek()
        if byte in _OPEN:
            return self._end_of_container(keep)
        pattern = _STRING if byte == _QUOTE else _SCALAR
        while (found := pattern.match(self._buffer, self._at)) is None or found.end() == len(self._buffer):
            if len(self._buffer) - self._at > self._limit:
                raise _UnreadableError(_too_large(self._limit))
            if not self._more():
                if found is None:
                    raise _UnreadableError(
                        "the file ends in the middle" if byte == _QUOTE else "not JSON: a value was expected"
                    )
                break
        return found.end()

    def _end_of_container(self, keep: bool) -> int:
        depth, ahead = 0, 0  # `ahead` is relative to the position, which `_more` moves within the buffer
        while True:
            buffer = self._buffer
            at, size = self._at + ahead, len(buffer)
            while (at := _NO_BRACKET.match(buffer, at).end()) < size:  # type: ignore[union-attr] # it matches nothing too
                byte = buffer[at]
                if byte == _QUOTE:
                    break
                at += 1
                depth += 1 if byte in _OPEN else -1
                if not depth:
                    return at
            if keep:
                ahead = at - self._at
            else:
                self._at = at
            if size - self._at > self._limit:
                raise _UnreadableError(_too_large(self._limit))
            if not self._more():
                raise _UnreadableError(
                    "the file ends in the middle of a value, or its brackets do not balance"
                )

    # ---- the buffer

    def _peek(self) -> int | None:
        """Move over white space and return the byte that follows; None at the end."""
        while True:
            self._at = _SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr] # it matches nothing too
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return None

    def _more(self, keep: int = 0) -> bool:
        """Read on, dropping what lies more than ``keep`` bytes before the position; False when there is no more."""
        cut = max(0, self._at - keep)
        wanted = min(max(CHUNK, len(self._buffer) - cut), _SMALL)  # growing keeps the copying low
        fresh: list[bytes] = []
        while wanted > 0 and (chunk := next(self._chunks, None)) is not None:
            fresh.append(chunk)
            wanted -= len(chunk)
        self._ended = wanted > 0
        if not any(fresh):
            return False
        self._line_here()
        self._buffer = b"".join([self._buffer[cut:], *fresh])
        self._at -= cut
        self._counted -= cut
        return True

    def _line_here(self) -> int:
        if self._counted < self._at:
            self._line += self._buffer.count(b"\n", self._counted, self._at)
            self._counted = self._at
        return self._line


_OPEN_OBJECT, _OPEN_ARRAY = b"{["


def _too_large(limit: int) -> str:
    return f"larger than {limit >> 20} MiB"
