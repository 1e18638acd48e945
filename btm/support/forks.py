"""What a forked child needs of its own: locks that nobody holds, threads that run, ids that nobody else gives."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from btm.support.process_state import follows_the_living


class Forkable(Protocol):
    """Something that goes on in a forked child, after a word."""

    def after_fork(self) -> None:
        """Take leave of the parent; called in the child, which has this one thread."""


_alive: weakref.WeakSet[Forkable] = follows_the_living(__name__, weakref.WeakSet())


def go_on_in_children(thing: Forkable) -> None:
    """Have ``thing.after_fork()`` called in every forked child, for as long as there is the thing."""
    _alive.add(thing)


def _after_fork() -> None:
    for thing in list(_alive):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
