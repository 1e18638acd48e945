"""Splitting a JSON document into its elements without holding it: a huge array is read one element at a time.

The standard library's decoder says where a value ends as it reads it, which is all that streaming needs: what is
incomplete is tried again with more of the document. Where an element is broken, reading goes on at the next one, told by
the keys with which the elements of one array begin.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from btm.logs.lenient import loads

LIMIT = 32 << 20
"""Bytes of one line, element or document that are read whole; a larger one is skipped, and said to be."""

Path = tuple[str, ...]
"""Where the elements lie: ``("simulations",)`` means the array under that key, ``("a", "b")`` the arrays under ``b``
of each element of ``a``, ``()`` an array that is the document itself."""

_SPACE = re.compile(r"[ \t\r\n,]*")
_COLON = re.compile(r"[ \t\r\n]*:")
_KEY = r'"[^"\\]{1,100}"'
_BEGINS = re.compile(
    rf'\{{\s*({_KEY})\s*:\s*(?:(?:"(?:[^"\\]|\\.){{0,400}}"|[-+.\w]{{1,40}})\s*,\s*({_KEY}))?'
)
_SIMPLE = r'\s*:\s*(?:"(?:[^"\\]|\\.){0,400}"|[-+.\w]{1,40})\s*,\s*'
_DOCUMENT = re.compile(r"\n(?=[\[{])")
_PIECE = 1 << 20  # characters that are read on at least
_NEAR = 64  # characters before the end of the buffer in which an error may only mean that more is to come
_SEARCHED = 8 << 20
_decode = json.JSONDecoder(strict=False).raw_decode


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
    """The value at the reading position cannot be read; the text says why."""


class Scanner:
    """Reads the values of a JSON document, or of several one after the other, from chunks of bytes."""

    def __init__(self, chunks: Iterator[bytes], limit: int = LIMIT) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._texts = (decoder.decode(chunk) for chunk in chunks)
        self._limit = limit
        self._buffer, self._at, self._line = "", 0, 1
        self._next: re.Pattern[str] | None = None  # how the next element begins

    def values(self) -> Iterator[Element | Broken]:
        """Give each top-level value whole."""
        self._next = _DOCUMENT
        while self._peek():
            try:
                yield self._element()
            except _UnreadableError as problem:
                yield Broken(self._line, str(problem))
                return

    def elements(self, path: Path = ()) -> Iterator[Element | Broken]:
        """Give each element of the arrays at ``path``, and each top-level value that can hold no such array."""
        while byte := self._peek():
            try:
                if byte == "[" or (byte == "{" and path):
                    yield from self._inside(path if byte == "{" else ())
                else:
                    self._next = _DOCUMENT
                    yield self._element()
            except _UnreadableError as problem:
                yield Broken(self._line, str(problem))
                return

    def keys(self) -> tuple[frozenset[str], bool]:
        """Return the keys of the object that stands next, as far as they can be reached, and whether those are all."""
        found: list[str] = []
        if self._peek() != "{":
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
        """Read the value at the position: an array of elements or, where a path is left, what lies on it."""
        byte = self._peek()
        if byte == "[":
            self._next = None
            for _ in self._items():
                if path:
                    yield from self._inside(path)
                else:
                    yield self._element()
        elif byte == "{" and path:
            for key in self._members():
                if key == path[0] and self._peek() == "[":
                    yield from self._inside(path[1:])
                else:
                    self._skip()
        else:
            self._skip()

    def _members(self) -> Iterator[str]:
        """Stop before the value of each member of the object at the position; the caller reads the value."""
        for byte in self._until("}"):
            if byte != '"':
                raise _UnreadableError("the JSON is broken: a key was expected")
            yield self._key()

    def _key(self) -> str:
        while True:
            try:
                key, end = _decode(self._buffer, self._at)
            except ValueError:
                end = 0
            if end and (colon := _COLON.match(self._buffer, end)):
                self._at = colon.end()
                self._peek()
                return str(key)
            if len(self._buffer) - self._at > _PIECE or not self._more():
                raise _UnreadableError("the JSON is broken: a key was expected")

    def _items(self) -> Iterator[str]:
        """Stop before each element of the array at the position; the caller reads the element."""
        return self._until("]")

    def _until(self, end: str) -> Iterator[str]:
        self._at += 1
        while byte := self._peek():
            if byte == end:
                self._at += 1
                return
            yield byte
        raise _UnreadableError("the file ends in the middle")

    # ---- one value

    def _element(self) -> Element | Broken:
        """Read the value at the position; where it is broken, move to the next."""
        line = self._line
        try:
            value, raw = self._value()
        except _UnreadableError as problem:
            if not self._resume():
                raise
            return Broken(line, str(problem))
        if self._next is None and (begins := _BEGINS.match(raw)):
            second = _SIMPLE + re.escape(begins[2]) if begins[2] else ""
            self._next = re.compile(rf"[}}\]]\s*,\s*(?=\{{\s*{re.escape(begins[1])}{second})")
        return Element(raw.encode("utf-8", "surrogatepass"), value, line)

    def _value(self) -> tuple[Any, str]:
        while True:
            why = ""
            try:
                value, end = _decode(self._buffer, self._at)
            except RecursionError:
                why = "not JSON: it is nested too deep"
            except json.JSONDecodeError as error:
                end, why = 0, f"not JSON: {error.msg}"
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._buffer) - _NEAR
                if len(self._buffer) - self._at > self._limit:
                    why = _too_large(self._limit)
                elif cut and self._more():
                    continue
                elif cut:
                    why = "the file ends in the middle of a value"
            except ValueError:
                why = "not JSON that can be read: a number has too many digits"
            if why:
                raise _UnreadableError(why)
            if end == len(self._buffer) and value.__class__ in (int, float) and self._more():
                continue  # a number may go on
            raw = self._buffer[self._at : end]
            if len(raw) > self._limit:
                raise _UnreadableError(_too_large(self._limit))
            self._move(end)
            return (loads(raw.encode("utf-8", "replace")) if "\\u" in raw else value), raw

    def _skip(self) -> None:
        """Move behind the value at the position; a large array is not held for it."""
        depth = 0
        while byte := self._peek():
            if byte == "[":
                self._at, depth = self._at + 1, depth + 1
            elif byte == "]" and depth:
                self._at, depth = self._at + 1, depth - 1
            else:
                self._value()
            if not depth:
                return
        raise _UnreadableError("the file ends in the middle")

    def _resume(self) -> bool:
        """Move to where the next element begins; False when nothing shows where that is."""
        if self._next is None:
            return False
        searched = 0
        while (found := self._next.search(self._buffer, self._at + 1)) is None:
            kept = max(self._at, len(self._buffer) - 2_000)
            searched += kept - self._at
            self._move(kept)
            if searched > max(_SEARCHED, 4 * self._limit) or not self._more():
                return False
        self._move(found.end())
        return True

    # ---- the buffer

    def _peek(self) -> str:
        """Move over white space and commas and return the character that follows; "" at the end."""
        while True:
            self._move(_SPACE.match(self._buffer, self._at).end())  # type: ignore[union-attr] # it matches nothing too
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def _move(self, to: int) -> None:
        self._line += self._buffer.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Read on, dropping what lies before the position; False when there is no more."""
        wanted = max(_PIECE, len(self._buffer) - self._at)  # growing keeps the copying low
        fresh = [self._buffer[self._at :]]
        for text in self._texts:
            fresh.append(text)
            wanted -= len(text)
            if wanted <= 0:
                break
        self._buffer, self._at = "".join(fresh), 0
        return any(fresh[1:])


def _too_large(limit: int) -> str:
    return f"larger than {limit >> 20} MiB"
