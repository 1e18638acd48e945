"""Where a bare loop stands in its conversation: which of the assistant's messages asks for the calls that are made.

The message itself is not handed to the loop, but the messages before it are: it comes right after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from btm.adapters.outline import AnsweredCall, OutlinedMessage, answers, asks, last_answers, turn_of
from btm.support.call_ids import NO_TURN, Turn


class LoopPosition:
    """Follows one loop from request to request."""

    def __init__(self) -> None:
        self._entries: Sequence[OutlinedMessage] | None = None
        self._turns: Counter[int] = (
            Counter()
        )  # by place: a loop that sends its latest messages only stays where it is
        self._made: set[str] = set()

    @property
    def name(self) -> str:
        """The place of the message that asks next; ``""`` before the first request."""
        return "" if self._entries is None else f"#{len(self._entries)}"

    def reached(self, entries: Sequence[OutlinedMessage]) -> tuple[AnsweredCall, ...]:
        """Take in the messages of a request; return whose results they end with."""
        if self._made or self._entries is None or len(entries) != len(self._entries):
            self._turns[len(entries)] += 1
        self._entries = entries
        # What was made since the request before is no other message's, wherever it now stands.
        found = tuple(
            AnsweredCall(answer.call_id) if answer.call_id in self._made else answer
            for answer in last_answers(entries, asks, answers)
        )
        self._made = set()
        return found

    def turn(self, call_id: str) -> Turn:
        """Return which message asks for a call that is made now."""
        self._made.add(call_id)
        if self._entries is None or not call_id:
            return NO_TURN
        before = turn_of(self._entries, call_id, asks)
        if self._entries and any(asked.call_id == call_id for asked in self._entries[-1].calls):
            return before  # the message that asks was among them
        if not before.name:
            return Turn(self.name)
        again = self._turns[len(self._entries)]
        return Turn(self.name if again == 1 else f"{self.name}.{again}", repeats=True)
