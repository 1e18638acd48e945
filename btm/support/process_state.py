"""What a process keeps beyond one memory: each table has an owner, a bound, and a way back to the beginning.

Functions that cache by themselves (``functools.lru_cache``) are their own owners. Everything else that changes and
belongs to a module, not to an object, is named here, so that it can be listed, and reset between tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import NamedTuple, Protocol, TypeVar


class Table(Sized, Protocol):
    """What can be kept, and emptied."""

    def clear(self) -> None:
        """Forget everything."""


class KeptTable(NamedTuple):
    """A table of one module. ``most`` is how many entries it grows to; None: as many as there are living objects."""

    owner: str
    table: Sized
    most: int | None
    reset: Callable[[], None]


_KEPT: list[KeptTable] = []

T = TypeVar("T", bound=Table)
S = TypeVar("S", bound=Sized)


def kept(owner: str, table: T, *, most: int) -> T:
    """Name a table that its ``owner`` (a module) keeps to ``most`` entries; return it."""
    _KEPT.append(KeptTable(owner, table, most, table.clear))
    return table


def follows_the_living(owner: str, table: S) -> S:
    """Name a table that forgets dead objects by itself, so that it is never reset; return it."""
    _KEPT.append(KeptTable(owner, table, None, lambda: None))
    return table


def all_kept() -> tuple[KeptTable, ...]:
    """Return every table of the modules that are loaded."""
    return tuple(_KEPT)


def reset() -> None:
    """Forget everything that may be forgotten: for tests."""
    for kept_table in _KEPT:
        kept_table.reset()
