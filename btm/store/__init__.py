"""Where evidence is kept: the seam (:class:`Store`) and the values that cross it.

:class:`btm.store.sql.SqlStore` keeps it in SQLite or PostgreSQL; :class:`btm.store.writer.WriteBehind` lets the
agent's thread hand over events without waiting for a disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from btm.learning.posterior import Decay, Priors
from btm.model import Attempt, Effect, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall

EvidenceRow = tuple[EvidenceKey, float, float]
"""A key with its summed weights of successes and failures."""

SKEW_S = 300.0
"""Seconds that two clocks may be apart before a warning is logged."""

RECENT_ATTEMPTS = 1_000
"""The latest attempts that a memory keeps one by one, and finds in the store when it opens."""

ShapeRow = tuple[str, str, str, float]
"""A learned result shape: tool, JSON path, JSON type, and in how many answers it stood so."""


class CallEvent(NamedTuple):
    """Everything one finished call adds to the store. ``arguments`` is JSON text, or None when not to be kept.

    ``incidents`` are those opened, changed or closed by the call; the latest event about an incident wins.
    """

    call: ToolCall
    fingerprint: str
    outcome: Outcome
    ended_at: float
    latency_s: float | None = None
    arguments: str | None = None
    attempts: tuple[Attempt, ...] = ()
    incidents: tuple[Incident, ...] = ()
    shapes: tuple[ShapeRow, ...] = ()


@dataclass(frozen=True, slots=True)
class IncidentEvent:
    """Incidents that opened or ended without a call: a conversation is over, or a second source contradicts a read.

    ``found_wrong`` names, by conversation and id, a call that had seemed to succeed, with how it had failed.
    """

    incidents: tuple[Incident, ...]
    found_wrong: tuple[str, str, ErrorKind] | None = None


class IntentState(StrEnum):
    """How a write that was noted before it ran stands."""

    BEGUN = "begun"  # it may be running, or its process ended while it ran
    DOUBT = "doubt"  # it ended, and may have happened
    DONE = "done"  # it happened
    NOT_DONE = "not done"  # it is known not to have happened, or was not run after all

    @property
    def settled(self) -> bool:
        """Whether it is known whether the write happened."""
        return self in (IntentState.DONE, IntentState.NOT_DONE)


class Intent(NamedTuple):
    """A write, noted before it runs. What is begun and has no end may have happened.

    ``wish`` holds keyed hashes of the arguments one by one, as JSON, so that the same wish is known again in another
    spelling. ``owner`` is the process that runs it. ``keep``: it stays on record when it is done, so that its replay is
    known.
    """

    conversation: str
    call_id: str
    tool: str
    fingerprint: str
    at: float
    state: IntentState = IntentState.BEGUN
    wish: str = ""
    owner: str = ""
    kind: ErrorKind | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class IntentEvent:
    """A write begins, or it turned out whether it happened."""

    intent: Intent
    incidents: tuple[Incident, ...] = ()


Event = CallEvent | IncidentEvent | IntentEvent


class RecentCall(NamedTuple):
    """How a call of the last minutes ended, whichever process made it."""

    tool: str
    at: float
    kind: ErrorKind | None
    effect: Effect
    conversation: str
    call_id: str
    began_at: float


PERSON = "a person"


class TaughtRule(NamedTuple):
    """What a person, or a model that was asked, said of an answer. ``kind`` None: no error. ``tool`` "": any tool's.

    ``name`` is what it is undone by and what such answers are known by, ``example`` the redacted text of the first,
    ``source`` who said so, ``at`` when (epoch seconds). ``as_it_was``: nothing was said that changes anything, so that it
    is only known not to be asked about again.
    """

    name: str
    tool: str
    kind: ErrorKind | None
    source: str
    example: str
    at: float
    as_it_was: bool = False

    @property
    def by_person(self) -> bool:
        """Whether a person said so, whom no model contradicts."""
        return self.source == PERSON

    @staticmethod
    def name_of(tool: str, likeness: str) -> str:
        """Return the name of what is said of a tool's answers that are known by ``likeness``."""
        return hashlib.sha256(f"{tool}\0{likeness}".encode("utf-8", "replace")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a memory starts from, as of one moment.

    ``left_open`` are incidents that nobody ended, lately, with the fingerprints of their calls. ``recent_attempts`` are the
    latest attempts, the oldest first: key, whether it worked, when.

    ``latest_at`` is when the latest attempt was made, or the moment of reading if that is much earlier: attempts that
    lie ahead of the reader's clock count in ``evidence`` as made at that moment.
    """

    decay: Decay
    priors: Priors
    hash_key: bytes
    evidence: tuple[EvidenceRow, ...] = ()
    latest_at: float = 0.0
    recent_calls: tuple[RecentCall, ...] = ()
    left_open: tuple[tuple[Incident, str], ...] = ()
    shapes: tuple[ShapeRow, ...] = ()
    recent_attempts: tuple[tuple[EvidenceKey, bool, float], ...] = ()
    taught: tuple[TaughtRule, ...] = ()

    def scale(self, now: float) -> float:
        """What evidence is multiplied by when it is read at ``now``; a clock that is set back cannot inflate it."""
        return self.decay.scale(max(now, self.latest_at))


class FittedConversation(NamedTuple):
    """A conversation of a log that was learned from. ``digest`` names its content, so that it is added once."""

    digest: str
    source: str
    calls: int


@dataclass(frozen=True, slots=True)
class Reported:
    """What a late report changed: each attempt whose success became a failure."""

    attempts: tuple[Attempt, ...] = field(default=())
    found: bool = False


class Store(Protocol):
    """A place that keeps evidence. Every method is atomic and may be called from any thread."""

    def load(self, now: float) -> Snapshot:
        """Return what a memory starts from."""

    def write(self, events: Sequence[Event]) -> Sequence[CallEvent]:
        """Write events in one transaction; return those that were already there and so added nothing."""

    def report(self, conversation: str, call_id: str, kind: ErrorKind) -> Reported:
        """Note that a call which had seemed to succeed had failed as ``kind``, and move its evidence."""

    def forget_shape(self, tool: str) -> None:
        """Forget what a tool's good results looked like."""

    def close(self) -> None:
        """Close connections."""


@runtime_checkable
class SharedCalls(Protocol):
    """A store in which other processes' calls can be read: what is down for one is then known to all."""

    @property
    def shared(self) -> bool:
        """Whether other processes can write here."""

    def recent_calls(self, since: float, now: float) -> tuple[RecentCall, ...]:
        """Return the calls that ended after ``since`` (epoch seconds), oldest first, the latest 2,000 at most."""


@runtime_checkable
class Teachable(Protocol):
    """A store that keeps rules which were taught."""

    def teach(self, rule: TaughtRule) -> None:
        """Keep a rule, in place of an earlier one for the same texts of the same tool."""


class WriteLog(Protocol):
    """A place that all processes of a memory note their writes in before they run."""

    def unsettled(self, conversation: str) -> Sequence[Intent]:
        """Return the writes of a conversation of which it is not known whether they happened, oldest first."""

    def claim(self, intent: Intent, blocks: Callable[[Intent], bool]) -> Intent | None:
        """Note a write durably, at once, unless one of its conversation blocks it: return that one.

        Asked are those that are not settled, and the one with the same id in whatever state.
        """
