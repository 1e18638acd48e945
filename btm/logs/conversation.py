"""What a log reader gives: conversations with their calls and answers, and what had to be left out.

The values are NamedTuples where the rest of btm uses frozen dataclasses: a log holds millions of them, and a tuple
is made in a third of the time. They are values all the same: nothing changes them, and they can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, NamedTuple

from btm.model import Outcome, ToolCall


class NoResult(Enum):
    """Says that a log holds no result for a call. An enum of one member stays itself when it is pickled."""

    NO_RESULT = "no result"

    def __bool__(self) -> bool:
        return False


NO_RESULT: Final = NoResult.NO_RESULT
"""The ``result`` of a call whose result the log does not hold (it was cut off, or contents were not recorded)."""

AS_GIVEN: Final = "__as_given__"
"""Arguments that are no JSON object are kept as ``{AS_GIVEN: the text or value as it stood in the log}``."""

HASHED: Final = "__hash__"
"""Arguments of which the log holds only a keyed hash are kept as ``{HASHED: "hex digits"}``: enough to compare."""


class RecordedCall(NamedTuple):
    """A call and what the log says came of it.

    ``result`` is the answer as the log has it, not interpreted: a handled error looks like any other text, and only
    its content tells. ``is_error`` is set only where the format itself says so: True or False from an explicit
    flag, None where it keeps silent. ``error_type`` is an exception's or error's class name where one is recorded.
    ``latency_s`` is how long the call took, in seconds. ``outcome`` is set where the log holds a verdict instead of
    a result (btm's own event log, an annotated trajectory); it then stands in for a classification.

    ``intent_from`` says where the call's intent comes from: the ``"assistant"``'s text beside it, else the ``"user"``'s
    last words, or the ``"log"`` itself. ``observed`` is what the assistant said next after the answer, ``reasoning``
    what it thought before the call.
    """

    call: ToolCall
    result: Any = NO_RESULT
    is_error: bool | None = None
    error_type: str | None = None
    latency_s: float | None = None
    outcome: Outcome | None = None
    intent_from: str | None = None
    observed: str | None = None
    reasoning: str | None = None

    @property
    def answered(self) -> bool:
        """Whether anything can be learned: a result, an error flag or a verdict is there.

        False for a call that was still under way when the log ended. True with ``result is NO_RESULT`` for a span
        that says how the call ended and not what it returned.
        """
        return self.result is not NO_RESULT or self.is_error is not None or self.outcome is not None


Batch = tuple[RecordedCall, ...]
"""The calls of one turn of the assistant: they were made together, none having seen the answer of another."""


class Conversation(NamedTuple):
    """One conversation (task, trace, thread) of a log, its calls in the order in which they were made.

    ``source`` is ``file:line`` or ``file#index`` (of a JSON array, from 0), for people. ``digest`` names the raw
    content (SHA-256, 32 hex digits of it): equal for the same conversation whatever its file is called and however it is
    compressed, so that it can be learned from once. ``reward`` is the log's own score, usually in [0, 1].
    ``started_at`` is in seconds since the epoch. ``format`` is the name of the reader. ``task`` is what the
    conversation is about, in the user's first words, where the log has them. ``orphans`` counts answers to calls that the
    log does not hold. ``task_id`` is the log's own name of the task. ``described`` says how the log describes tools to the
    model, by their names. ``known`` counts the answered calls, from its first on, that an older copy told before.
    """

    conversation_id: str
    source: str
    batches: tuple[Batch, ...]
    reward: float | None = None
    started_at: float | None = None
    digest: str = ""
    format: str = ""
    task: str = ""
    orphans: int = 0
    task_id: str = ""
    described: tuple[tuple[str, str], ...] = ()
    known: int = 0

    @property
    def calls(self) -> Iterator[RecordedCall]:
        """Every call, in order."""
        return (recorded for batch in self.batches for recorded in batch)


class Entry(NamedTuple):
    """What one record says about a conversation, kept small until everything about that conversation is there.

    ``traces`` names the traces that it is of; ``again`` says that it counts only where no other entry of these is there.
    """

    format: str
    conversation: str
    record: bytes
    traces: tuple[str, ...] = ()
    again: bool = False


class Passed(NamedTuple):
    """Records of a log that hold nothing to learn from (a summary, a setting): how many, and what they are."""

    file: str
    reason: str
    records: int


class Skipped(NamedTuple):
    """A piece of a log that could not be read: ``line`` counts from 1; 0 stands for the file as a whole.

    ``lost`` says that there was something in it to learn from, as far as can be seen, and that all of it is missing.
    """

    file: str
    line: int
    reason: str
    lost: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}"


Read = Conversation | Skipped | Passed
"""What is read from logs."""

Item = Read | Entry
"""What a reader gives: entries are put together to conversations later."""
