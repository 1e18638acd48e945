"""Blocks of code with a beginning and an end, through which any exception passes as it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator


class Block(ContextDecorator, AbstractContextManager[None]):
    """What ``with`` and a decorator take. ``begin`` begins it and returns what ends it.

    A generator with ``contextlib.contextmanager`` would do, but that sets the traceback of what is raised inside, and
    raises another exception in place of one that lets nothing be set.
    """

    def __init__(self, begin: Callable[[], Callable[[], object]]) -> None:
        self._begin = begin
        self._ends: list[Callable[[], object]] = []

    def __enter__(self) -> None:
        self._ends.append(self._begin())

    def __exit__(self, *_: object) -> None:
        self._ends.pop()()

    def _recreate_cm(self) -> Block:
        return Block(self._begin)
