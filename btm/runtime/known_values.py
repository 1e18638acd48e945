"""Values that a conversation has shown, by field name: what a map's templates may fill arguments from.

Only unambiguous places are read: fields of objects, and lists of exactly one element. A list of several orders does
not say which ``order_id`` is meant, so its fields are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from btm.fallback.values import plain

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
