"""The vocabulary: frozen values and closed sets that every other module speaks in.

Nothing here decides or stores anything. Times are seconds since the epoch (float), durations are seconds,
probabilities are in [0, 1].
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Self

from btm.errors import did_you_mean

NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({})


class ChoiceEnum(StrEnum):
    """A closed set whose members users may write as text. A wrong text raises ValueError with the texts there are."""

    __hash__ = (
        str.__hash__
    )  # that of an enumeration is written in Python, and keys of evidence are looked up often

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        known = [member.value for member in cls]
        what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__).lower()
        hint = did_you_mean(value.lower(), known) if isinstance(value, str) else ""
        raise ValueError(f"{reprlib.repr(value)} is not a valid {what}; use one of {', '.join(known)}{hint}")


class Effect(ChoiceEnum):
    """What a call does to the world: a read may be repeated freely, a write may not."""

    READ = "read"
    WRITE = "write"


class Family(StrEnum):
    """Groups of error kinds that call for the same kind of answer."""

    __hash__ = str.__hash__

    TRANSIENT = "transient"
    PERSISTENT = "persistent"
    CALLER = "caller"
    SILENT = "silent"
    UNKNOWN = "unknown"


class ErrorKind(ChoiceEnum):
    """What went wrong with a call. The set is closed: stores, maps and policies rely on these names.

    ``family`` is the group a kind belongs to. ``repeatable`` says whether the same call with the same arguments can
    succeed later, ``arguments_at_fault`` whether other arguments are a sensible answer to this error.
    """

    family: Family
    repeatable: bool
    arguments_at_fault: bool

    def __new__(cls, value: str, family: Family = Family.UNKNOWN) -> Self:
        """Make a member: plain attributes, since every failing call reads them a dozen times."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.family = family
        kind.repeatable = family in (Family.TRANSIENT, Family.UNKNOWN)
        kind.arguments_at_fault = family in (Family.CALLER, Family.UNKNOWN) or value == "empty_result"
        return kind

    TIMEOUT = "timeout", Family.TRANSIENT
    RATE_LIMIT = "rate_limit", Family.TRANSIENT
    SERVER_ERROR = "server_error", Family.TRANSIENT
    UNAVAILABLE = "unavailable", Family.TRANSIENT
    MALFORMED = "malformed", Family.TRANSIENT
    AUTH_ERROR = "auth_error", Family.PERSISTENT
    SCHEMA_DRIFT = "schema_drift", Family.PERSISTENT
    QUOTA_EXHAUSTED = "quota_exhausted", Family.PERSISTENT
    UNKNOWN_TOOL = "unknown_tool", Family.PERSISTENT
    INVALID_ARGUMENTS = "invalid_arguments", Family.CALLER
    NOT_FOUND = "not_found", Family.CALLER
    PRECONDITION_FAILED = "precondition_failed", Family.CALLER
    PARTIAL_DATA = "partial_data", Family.SILENT
    STALE_DATA = "stale_data", Family.SILENT
    FACTUAL_ERROR = "factual_error", Family.SILENT
    EMPTY_RESULT = "empty_result", Family.SILENT
    UNKNOWN = "unknown", Family.UNKNOWN


class Action(ChoiceEnum):
    """What can be done about a failed call."""

    RETRY = "retry"  # same tool, same arguments
    REVISE = "revise"  # same tool, other arguments
    REPAIR = "repair"  # run a repair tool such as a token refresh, then retry
    SWITCH = "switch"  # a fallback tool
    VERIFY = "verify"  # a read that checks what happened
    ESCALATE = "escalate"  # hand to a human
    ABANDON = "abandon"


LAST_RESORTS = frozenset({Action.ESCALATE, Action.ABANDON})
"""What is done when nothing is left to try."""


class Mode(ChoiceEnum):
    """How far btm may go: each mode includes what the ones before it do.

    ``advises`` says whether a recovery context is handed to the agent, ``guards`` whether forbidden calls are refused,
    ``acts`` whether btm carries out recovery steps itself.
    """

    advises: bool
    guards: bool
    acts: bool

    def __new__(cls, value: str, reach: int = 0) -> Self:
        """Make a member that reaches so far."""
        mode = str.__new__(cls, value)
        mode._value_ = value
        mode.advises, mode.guards, mode.acts = reach >= 1, reach >= 2, reach >= 3
        return mode

    OBSERVE = "observe", 0  # learn only
    ADVISE = "advise", 1  # learn, and hand the agent a recovery context
    GUARD = "guard", 2  # also refuse calls that an enforced policy forbids
    ACT = "act", 3  # also retry, repair, verify and switch before the model ever sees the error


class BeliefModel(ChoiceEnum):
    """How evidence becomes a belief about an action. ``POOLED`` is what btm is for; the others are baselines."""

    POOLED = "pooled"  # a key borrows from like keys until it has evidence of its own
    FLAT = "flat"  # Beta(1, 1) for every key, each on its own
    NONE = "none"  # evidence is not used: rules and the map alone


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that an agent made.

    ``call_id`` is the framework's id where it gave one: the same call (tool and arguments) that comes again with the
    same id in the same conversation counts once, unless another answer of the model is known to have asked for it.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: NO_ARGUMENTS)
    effect: Effect = Effect.READ
    conversation: str = ""
    call_id: str = ""
    at: float = 0.0
    intent: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: success (``kind is None``), or an error kind with what is known about it.

    ``detail`` is a short, redacted piece of the error's text. ``silent`` marks a failure that came back looking
    like a success; ``ambiguous`` a write that may have happened although the call failed. ``confidence`` is how
    likely the kind is right (for a success: that it is one), measured on answers that were new to the classifier,
    ``reason`` says why in a sentence, ``rule`` names the rule that decided. ``suspected`` is the failure that a success
    may be all the same: a hint, and never evidence. ``missing`` is the required field that an answer lacks.
    """

    kind: ErrorKind | None = None
    detail: str = ""
    status_code: int | None = None
    retry_after_s: float | None = None
    silent: bool = False
    ambiguous: bool = False
    confidence: float = 1.0
    reason: str = ""
    rule: str = ""
    suspected: ErrorKind | None = None
    missing: str = ""

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.kind is None

    @property
    def family(self) -> Family | None:
        """The error kind's family, or None for a success."""
        return None if self.kind is None else self.kind.family


SUCCESS = Outcome(reason="nothing in the result says that it failed", rule="success")


class EvidenceKey(NamedTuple):
    """What a posterior is about: after ``kind`` of ``tool``, does the nth ``action`` (on ``target``) succeed?

    ``target`` is the other tool that the action runs (switch, repair, verify, escalate), else ``""``.
    ``ordinal`` is 1, 2 or 3, where 3 stands for the third and every later try.
    """

    tool: str
    kind: ErrorKind
    action: Action
    target: str
    ordinal: int


MAX_ORDINAL = 3


_OF_THE_TOOL_ITSELF = frozenset({Action.RETRY, Action.REVISE, Action.REPAIR})


class IncidentState(StrEnum):
    """Where an incident stands. Only ``OPEN`` incidents take attempts."""

    OPEN = "open"
    RESOLVED = "resolved"
    ESCALATED = "escalated"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One action on an incident, and whether it worked.

    ``call_id`` is the call that was the attempt; the key's ``tool`` and ``kind`` are what had failed when it was
    made, ``failed_as`` is how the attempt itself failed.
    """

    incident_id: str
    call_id: str
    key: EvidenceKey
    success: bool
    at: float
    latency_s: float | None = None
    failed_as: ErrorKind | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """A failed call and what has been tried about it so far.

    ``kind`` and ``outcome`` are those of the failed tool's latest failure: what an agent sees when it decides what
    to do next. ``parent_id`` names the incident on which this failed call was itself an attempt (a substitute that
    failed too). ``happened`` is what a verify found out about an ambiguous write: True, False, or None (unknown).
    ``changed`` says that a write succeeded since the latest failure: the same call may now do better.
    """

    incident_id: str
    conversation: str
    call: ToolCall
    kind: ErrorKind
    outcome: Outcome
    opened_at: float
    state: IncidentState = IncidentState.OPEN
    attempts: tuple[Attempt, ...] = ()
    parent_id: str = ""
    happened: bool | None = None
    changed: bool = False
    closed_at: float | None = None

    @property
    def tool(self) -> str:
        """The tool whose call failed."""
        return self.call.tool

    def tried(self, action: Action, target: str = "") -> int:
        """How many attempts of this action (on this target) were made."""
        return sum(1 for a in self.attempts if a.key.action is action and a.key.target == target)

    def next_ordinal(self, action: Action, target: str = "") -> int:
        """The ordinal that one more attempt of this action would have, capped at ``MAX_ORDINAL``."""
        return min(self.tried(action, target) + 1, MAX_ORDINAL)

    def last(self, action: Action, target: str = "") -> Attempt | None:
        """The latest attempt of this action (on this target), or None."""
        for attempt in reversed(self.attempts):
            if attempt.key.action is action and attempt.key.target == target:
                return attempt
        return None

    @property
    def latest_at(self) -> float:
        """When the incident opened, or its latest attempt ended."""
        return self.attempts[-1].at if self.attempts else self.opened_at

    @property
    def failed_at(self) -> float:
        """When the failed tool itself failed last."""
        own = (a.at for a in reversed(self.attempts) if a.key.action in _OF_THE_TOOL_ITSELF)
        return next(own, self.opened_at)

    @property
    def due_at(self) -> float | None:
        """When the failed tool asked to be called again (its Retry-After), None if it did not say."""
        wait = self.outcome.retry_after_s
        return None if wait is None else self.failed_at + wait

    @property
    def uncertain_write(self) -> bool:
        """Whether the failed call is a write that may have happened, and no verify has settled that."""
        return self.outcome.ambiguous and self.happened is None
