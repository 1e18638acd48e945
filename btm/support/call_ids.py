"""What calls are named that come without names: by the block of code they are made in, or by this run."""

from __future__ import annotations

import contextvars
import itertools
import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator
from dataclasses import replace
from typing import NamedTuple

from btm.model import ToolCall
from btm.support.forks import go_on_in_children


class Turn(NamedTuple):
    """The answer of the model that asked for a call, where that is known: what tells a repeated id from a replay.

    ``name`` is the answer's own id or its place in the conversation, the same when the run is resumed or replayed, and
    ``""`` when nothing tells. ``repeats`` says that an earlier answer in the conversation's messages used the id too.
    """

    name: str = ""
    repeats: bool = False


NO_TURN = Turn()


def name_beside(name: str, fingerprint: str, taken_by: str) -> str:
    """Return the name of a call that comes with an id which another one has; ``taken_by`` is that one's fingerprint.

    The one rule for memory, store and logs: the same tool with the same arguments is a replay, which keeps the name and
    teaches nothing; anything else is another call, whose own name is the same in every run.
    """
    return name if fingerprint == taken_by else f"{name}~{fingerprint[:12]}"


class Block(ContextDecorator, AbstractContextManager[None]):
    """A block of code, or a decorated function. ``begin`` begins it and returns what ends it. Any exception passes as it is.

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


_conversation: contextvars.ContextVar[str] = contextvars.ContextVar("btm_conversation", default="")


def current_conversation() -> str:
    """Return the conversation that :func:`conversation` names in this thread or task, or ``""``."""
    return _conversation.get()


def conversation(name: str) -> Block:
    """Name the conversation of the calls made inside, in this thread or task."""

    def begin() -> Callable[[], None]:
        token = _conversation.set(name)
        return lambda: _conversation.reset(token)

    return Block(begin)


class Names:
    """Gives names in one run of one memory. ``rng`` draws the run's own."""

    def __init__(self, rng: random.Random) -> None:
        self._run = f"{rng.getrandbits(48):012x}"
        self._numbers = itertools.count(1)
        go_on_in_children(self)

    def conversation(self, given: str = "") -> str:
        """Return a conversation: the given one, that of the block of code, or this run's own."""
        return given or _conversation.get() or f"run-{self._run}"

    def complete(self, call: ToolCall) -> ToolCall:
        """Return a call with the ids that it lacks."""
        if call.conversation and call.call_id:
            return call
        call_id = call.call_id or f"{self._run}-{next(self._numbers)}"
        return replace(call, conversation=self.conversation(call.conversation), call_id=call_id)

    def after_fork(self) -> None:
        """Give other names than the parent does."""
        self._run = f"{self._run}.{os.getpid()}"
