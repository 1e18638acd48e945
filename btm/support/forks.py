"""What a fork needs: a moment in which nothing is half done, and a child that goes on by itself.

The child needs locks that nobody holds, threads that run, and ids that nobody else gives.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from btm.support.process_state import follows_the_living

LONGEST_PAUSE_S = 5.0
"""How long a fork waits, at most, for what must not be copied half done."""


class Forkable(Protocol):
    """Something that goes on in a forked child, after a word."""

    def after_fork(self) -> None:
        """Take leave of the parent; called in the child, which has this one thread."""


class _Gate:
    """Counts what is under way, and keeps more from beginning while a fork is made."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside: dict[int, int] = {}  # how often each thread is inside
        self._forking = 0  # the thread that forks

    def enter(self) -> None:
        me = threading.get_ident()
        with self._changed:
            # Who is inside already may go deeper, or the fork would wait for it and it for the fork.
            while self._forking not in (0, me) and me not in self._inside:
                self._changed.wait()
            self._inside[me] = self._inside.get(me, 0) + 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()

    def shut(self) -> None:
        me, until = threading.get_ident(), time.monotonic() + LONGEST_PAUSE_S
        with self._changed:
            while self._forking and self._changed.wait(until - time.monotonic()):
                pass  # another thread's fork comes first
            self._forking = me
            while self._inside.keys() - {me} and self._changed.wait(max(until - time.monotonic(), 0.0)):
                pass

    def open(self) -> None:
        with self._changed:
            self._forking = 0
            self._changed.notify_all()


_gate = _Gate()
_alive: weakref.WeakSet[Forkable] = follows_the_living(__name__, weakref.WeakSet())


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep this process from being forked while the block runs; keep the block short.

    A child has copies of what other threads were in the middle of, and nobody who would finish it: SQLite, for one,
    then holds a database for locked that nobody holds. A fork waits at most ``LONGEST_PAUSE_S``.
    """
    gate = _gate
    gate.enter()
    try:
        yield
    finally:
        if gate is _gate:  # else this is the child of a thread that forked inside
            gate.leave()


def go_on_in_children(thing: Forkable) -> None:
    """Have ``thing.after_fork()`` called in every forked child, for as long as there is the thing."""
    _alive.add(thing)


def _before_fork() -> None:
    _gate.shut()


def _after_fork() -> None:
    global _gate  # noqa: PLW0603 - the parent's may be held by threads that the child does not have
    _gate = _Gate()
    for thing in list(_alive):
        thing.after_fork()


def _in_parent() -> None:
    _gate.open()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_after_fork)
