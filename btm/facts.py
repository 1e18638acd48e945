"""Values that a conversation has shown, by field name: what a map's templates may fill arguments from.

Only unambiguous places are read: fields of objects, and lists of exactly one element. A list of several orders does
not say which ``order_id`` is meant, so its fields are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from btm.fallback.values import plain

_MAX_NAMES = 300
_MAX_DEPTH = 4
_MAX_TEXT = 300
_MAX_VALUES = 400
_MAX_RESULT = 100_000
_MAX_UNREAD = 16


class Facts:
    """The latest value of every field seen in one conversation. Not thread-safe: its owner holds the lock.

    Results are read when their values are first asked for (a call failed), or a few at a time: on the path of a
    call that succeeds, taking one in only keeps it.
    """

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._unread: list[tuple[str, Mapping[str, Any], Any]] = []

    @property
    def known(self) -> Mapping[str, Any]:
        """Field names with their latest values; a tool whose result is one plain value stands under its own name."""
        self._read()
        return self._known

    def note(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Take in a successful call's arguments and result."""
        too_long = isinstance(result, str | bytes) and len(result) > _MAX_RESULT
        self._unread.append((tool, arguments, None if too_long else result))
        if len(self._unread) >= _MAX_UNREAD:
            self._read()

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        for tool, arguments, result in unread:
            self._read_one(arguments)
            value = _plain(result)
            if _is_scalar(value):
                self._put(tool, value)
            self._read_one(value)

    def _read_one(self, value: Any) -> None:
        # A mapping of the caller's own may raise anything; what was read before counts.
        with suppress(Exception):
            for name, inner in _fields(value, 0, [_MAX_VALUES]):
                self._put(name, inner)

    def _put(self, name: str, value: Any) -> None:
        if name in self._known:
            del self._known[name]  # the latest stands last, so that the oldest is forgotten first
        elif len(self._known) >= _MAX_NAMES:
            del self._known[next(iter(self._known))]
        self._known[name] = value


def _plain(result: Any) -> Any:
    with suppress(Exception):  # a tool's own object may raise anything; then it shows no values
        return plain(result)
    return None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _MAX_TEXT)


def _fields(value: Any, depth: int, budget: list[int]) -> Iterator[tuple[str, Any]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list | tuple) and len(value) == 1:
        yield from _fields(value[0], depth + 1, budget)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            budget[0] -= 1
            if budget[0] < 0:
                return
            if isinstance(name, str) and _is_scalar(inner):
                yield name, inner
            elif isinstance(inner, Mapping | list | tuple):
                yield from _fields(inner, depth + 1, budget)
