"""What a conversation has shown: values by field name, and the answers that a second source can confirm.

A map's templates may fill arguments from the values. Only unambiguous places are read: fields of objects, and lists of
exactly one element. A list of several orders does not say which ``order_id`` is meant, so its fields are passed over.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from btm.fallback.values import plain
from btm.model import ToolCall
from btm.support.untrusted import text_of

Field = tuple[str, str | int | float | bool]

_MAX_NAMES = 300
_MAX_DEPTH = 4
_MAX_TEXT = 300
_MAX_BITS = 1_024  # of a whole number
_MAX_VALUES = 400
_MAX_OBJECTS = 16  # in one result: each is unpacked
_MAX_BLOCKS = 100
_MAX_RESULT = 100_000
_MAX_UNREAD = 16
_MAX_WAITING = 2_000  # characters of a text that may wait to be read


class Facts:
    """The latest value of every field seen in one conversation. Not thread-safe: its owner holds the lock.

    Nothing that a tool gave is held but small values, so a result is read when it comes in. Short texts, which most
    results are, wait: they are read when values are first asked for (a call failed), or a few at a time.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._unread: list[tuple[str, list[Field], str]] = []

    @property
    def known(self) -> Mapping[str, Any]:
        """Field names with their latest values; a tool whose result is one plain value stands under its own name."""
        self._read()
        return self._known

    def note(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Take in a successful call's arguments and result."""
        given = _quick_fields(arguments)
        text = result if type(result) is str else _text_in(result)
        if text is not None and len(text) <= _MAX_WAITING:
            self._unread.append((tool, given, text))
            if len(self._unread) >= _MAX_UNREAD:
                self._read()
            return
        self._read()
        self._put(given)
        if text is None:
            self._put(_shown(tool, result))
        elif len(text) <= _MAX_RESULT:
            self._put(_shown(tool, _plain(text)))

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for tool, given, text in unread:
            self._put(given)
            self._put(_shown(tool, _plain(text)))

    def _put(self, fields: list[Field]) -> None:
        for name, value in fields:
            if name in self._known:
                del self._known[name]  # the latest stands last, so that the oldest is forgotten first
            elif len(self._known) >= _MAX_NAMES:
                del self._known[next(iter(self._known))]
            self._known[name] = value


def _text_in(result: Any) -> str | None:
    """Return the text that a result is or, as a message, carries; None for a result of another form."""
    content: Any = None
    with suppress(Exception):  # a tool's own object may raise anything; then it shows no values
        if isinstance(result, bytes | bytearray):
            return bytes(result[: _MAX_RESULT + 1]).decode("utf-8", "replace")
        content = result if isinstance(result, str) else getattr(result, "content", None)
        if isinstance(content, str) and len(content) <= _MAX_RESULT:
            return str(content)  # nothing of a caller's own class
    return "" if isinstance(content, str) else None


def _shown(tool: str, result: Any) -> list[Field]:
    """Return the values that a result shows, within bounds."""
    value = result
    if (isinstance(value, list) and value and _are_blocks(value)) or not isinstance(value, Mapping | list):
        value = _plain(value)
    alone = _scalar(value)
    return _all_fields(value) if alone is None else [(tool, alone)] if tool and alone != "" else []


def _are_blocks(content: list[Any]) -> bool:
    """Whether a list may be a message's blocks: their texts together are one."""
    return len(content) <= _MAX_BLOCKS and all(
        isinstance(item, dict) and isinstance(text := item.get("text"), str) and len(text) <= _MAX_RESULT
        for item in content
    )


def _plain(result: Any) -> Any:
    with suppress(Exception):  # as above
        return plain(result)
    return None


def _scalar(value: Any) -> str | int | float | bool | None:
    """Return a small value as one that holds on to nothing else; None for any other."""
    if isinstance(value, str):
        return str(value) if len(value) <= _MAX_TEXT else None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _MAX_BITS else None
    return float(value) if isinstance(value, float) else None


def _quick_fields(arguments: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a call's arguments; most are a few texts and numbers, and seen to at once."""
    if type(arguments) is not dict or len(arguments) > _MAX_OBJECTS:
        return _all_fields(arguments)
    found: list[Field] = []
    for name, value in arguments.items():
        if type(name) is not str or len(name) > _MAX_TEXT or type(value) is not str or not value:
            return _all_fields(arguments)
        if len(value) <= _MAX_TEXT:
            found.append((name, value))
    return found


def _all_fields(value: Any) -> list[Field]:
    found: list[Field] = []
    with suppress(Exception):  # a mapping of the caller's own may raise anything; what was read before counts
        found.extend(_fields(value, 0, [_MAX_VALUES, _MAX_OBJECTS]))
    return found


def _fields(value: Any, depth: int, budget: list[int]) -> Iterator[Field]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list | tuple):
        if len(value) == 1:
            yield from _fields(_opened(value[0], budget), depth + 1, budget)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            budget[0] -= 1
            if budget[0] < 0:
                return
            opened = _opened(inner, budget)
            small = _scalar(opened)
            if small is None:
                yield from _fields(opened, depth + 1, budget)
            elif small != "" and isinstance(name, str) and len(name) <= _MAX_TEXT:
                yield str(name), small


def _opened(value: Any, budget: list[int]) -> Any:
    """Return a value of JSON as it is, and an object as JSON values."""
    if value is None or isinstance(value, str | int | float | Mapping | list | tuple):
        return value
    budget[1] -= 1
    return _plain(value) if budget[1] >= 0 else None


# -- answers that a second source can confirm --------------------------------------------------------------------------

MAX_TEXT = 100_000
"""Characters of an answer beyond which it is not kept, and of all answers that one conversation keeps."""

_MAX_READS = 20
_MAX_ARGUMENTS = 10_000


@dataclass(frozen=True, slots=True)
class SeenRead:
    """A read whose result a second source can confirm. ``size`` is about that of its text."""

    call: ToolCall
    result: Any  # as JSON values: the tool's own object, and what hangs on it, is let go
    digest: str  # of the call and what it gave: another answer to the same call needs its own confirmation
    size: float = 0.0


class Reads:
    """The latest reads of one conversation. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self._seen: deque[SeenRead] = deque(maxlen=_MAX_READS)
        self._confirmed: set[str] = set()
        self._doubted: set[str] = set()
        self._asked: set[str] = set()

    def keep(self, call: ToolCall, result: Any, digest: Callable[[ToolCall, Any], str]) -> None:
        """Take in an answer, named by ``digest``, unless it is too long. The oldest make room."""
        if isinstance(result, str | bytes) and len(result) > MAX_TEXT:
            return
        try:
            values = plain(result)
            size = _size(values) if _size(call.arguments) <= _MAX_ARGUMENTS else math.inf
        except Exception:  # noqa: BLE001 - too large, or an object of the tool's own that may raise anything
            return
        if size > MAX_TEXT:
            return
        self._seen.append(SeenRead(call, values, digest(call, result), size))
        while sum(read.size for read in self._seen) > MAX_TEXT:
            self._seen.popleft()

    def forget(self) -> None:
        """Forget every answer: what was read before a write may rightly read otherwise now."""
        self._seen.clear()

    def confirm(self, digests: Iterable[str]) -> None:
        """Note that these answers need no further second source."""
        self._confirmed.update(digests)

    def ask(self, digests: Iterable[str]) -> bool:
        """Note that the agent was asked to have these answers confirmed; return whether that is new of any."""
        new = set(digests) - self._asked
        self._asked |= new
        return bool(new)

    def doubt(self, tool: str) -> None:
        """Note that an answer of this tool was found wrong."""
        self._doubted.add(tool)

    def unconfirmed(self) -> tuple[SeenRead, ...]:
        """Return the answers that no second source has confirmed, newest first."""
        found = {read.digest: read for read in self._seen if read.digest not in self._confirmed}
        return tuple(reversed(found.values()))

    def doubtful(self, call: ToolCall) -> SeenRead | None:
        """Return what a call just gave, if its tool was found wrong before."""
        if call.tool not in self._doubted or not self._seen:
            return None
        latest = self._seen[-1]
        return latest if latest.call == call and latest.digest not in self._confirmed else None


def _size(value: Any) -> int:
    """Return about how many characters values come to; counting stops where it is too many."""
    size, left = 0, [value]
    while left and size <= MAX_TEXT:
        here = left.pop()
        size += len(here) if isinstance(here, str | bytes) else 8
        if isinstance(here, Mapping):
            left += [*here.keys(), *here.values()]
        elif isinstance(here, list | tuple):
            left += here
    return size


def behind(call: ToolCall, reads: Iterable[SeenRead]) -> tuple[SeenRead, ...]:
    """Return the reads whose values a call uses: they share an argument's value, or the read's result shows one."""
    values = [text for v in scalars_of(call.arguments) if len(text := text_of(v, MAX_TEXT)) > 1]
    return tuple(read for read in reads if _shows(read, values))


def scalars_of(arguments: Mapping[str, Any]) -> Iterable[Any]:
    """Return the texts and numbers among arguments, those in lists too."""
    for value in arguments.values():
        if isinstance(value, list | tuple):
            yield from (v for v in value[:100] if isinstance(v, str | int | float))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield value


def _shows(read: SeenRead, values: Iterable[str]) -> bool:
    text = text_of(read.call.arguments, _MAX_ARGUMENTS) + text_of(read.result, MAX_TEXT)
    return any(value in text for value in values)
