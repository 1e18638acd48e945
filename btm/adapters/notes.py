"""What an adapter remembers between a failed call and the model's next turn. In memory, bounded, thread-safe."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from btm.adapters.outline import AnsweredCall
from btm.planning.plan import RecoveryContext
from btm.runtime.drivers import Handled
from btm.support.bounded import BoundedDict

_MAX_CONTEXTS = 4_096
_MAX_CONVERSATIONS = 2_000
_MAX_LATE = 8


class Notes:
    """Recovery contexts by call, and late answers by conversation, until they are told to the model."""

    def __init__(self) -> None:
        self._contexts: BoundedDict[tuple[str, str], tuple[str, RecoveryContext]] = BoundedDict(_MAX_CONTEXTS)
        self._late: BoundedDict[str, list[str]] = BoundedDict(_MAX_CONVERSATIONS)
        self._lock = threading.Lock()

    @property
    def empty(self) -> bool:
        """Whether nothing is kept: asked without a lock, on the way of every call."""
        return not self._contexts and not self._late

    def keep(self, handled: Handled, call_id: str, turn: str = "") -> None:
        """Keep the context of a call, if it has one; a call that went well clears what was kept of it.

        ``turn`` names the message that asked for it. An id stands for the latest call that had it.
        """
        if handled.context is None and not self._contexts:
            return
        key = (handled.call.conversation, call_id)
        with self._lock:
            if handled.context is None:
                self._contexts.pop(key, None)
                return
            self._contexts[key] = turn, handled.context

    def contexts(self, conversation: str, answers: Iterable[AnsweredCall]) -> list[RecoveryContext]:
        """Return the contexts of these calls, in their order. They stay: a model's turn may be run again."""
        with self._lock:
            found = [(answer.turn, self._contexts.get((conversation, answer.call_id))) for answer in answers]
        # Where both are known, the message that asks must be the one that asked.
        return [
            kept[1] for turn, kept in found if kept is not None and (turn in ("", kept[0]) or not kept[0])
        ]

    def add_late(self, conversation: str, line: str) -> None:
        """Keep a line about a late answer for the conversation's next turn."""
        with self._lock:
            lines = self._late.setdefault(conversation, [])
            lines.append(line)
            del lines[:-_MAX_LATE]

    def take_late(self, conversation: str) -> list[str]:
        """Return the lines about late answers and forget them: they are told once."""
        with self._lock:
            return self._late.pop(conversation, [])
