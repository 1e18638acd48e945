"""The failure-trajectory record: one task, its calls, its failures and what the agent decided.

The record is made for training and audits; its field names are fixed. Fields that btm does not know are kept, and
written again where they stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

from btm.model import ErrorKind, Family, Outcome

SUCCESS, FAILURE, PARTIAL, ESCALATED = "success", "failure", "partial", "escalated"
INFRASTRUCTURE, PARAMETER, LOGIC = "infrastructure", "parameter", "logic"

Type = tuple[str, str]
"""A failure's type and subtype."""

TYPE_OF_KIND: Mapping[ErrorKind, Type] = MappingProxyType(
    {
        ErrorKind.TIMEOUT: (INFRASTRUCTURE, "timeout"),
        ErrorKind.AUTH_ERROR: (INFRASTRUCTURE, "authz"),
        ErrorKind.SERVER_ERROR: (INFRASTRUCTURE, "server_error"),
        ErrorKind.UNAVAILABLE: (INFRASTRUCTURE, "server_error"),
        ErrorKind.RATE_LIMIT: (INFRASTRUCTURE, "rate_limit"),
        ErrorKind.INVALID_ARGUMENTS: (PARAMETER, "syntactic"),
        ErrorKind.NOT_FOUND: (PARAMETER, "boundary"),
        ErrorKind.PRECONDITION_FAILED: (PARAMETER, "boundary"),
        ErrorKind.FACTUAL_ERROR: (PARAMETER, "semantic"),
        # The record has no subtype for these: the nearest stands in, and `btm_kind` keeps the exact one.
        ErrorKind.MALFORMED: (INFRASTRUCTURE, "server_error"),
        ErrorKind.QUOTA_EXHAUSTED: (INFRASTRUCTURE, "rate_limit"),
        ErrorKind.UNKNOWN_TOOL: (PARAMETER, "syntactic"),
        ErrorKind.SCHEMA_DRIFT: (PARAMETER, "syntactic"),
        ErrorKind.PARTIAL_DATA: (PARAMETER, "semantic"),
        ErrorKind.STALE_DATA: (PARAMETER, "semantic"),
        ErrorKind.EMPTY_RESULT: (PARAMETER, "semantic"),
        ErrorKind.UNKNOWN: (INFRASTRUCTURE, "server_error"),
    }
)
"""What the record calls each of btm's error kinds."""

_KIND_OF_TYPE: Mapping[Type, ErrorKind] = MappingProxyType(
    {
        (INFRASTRUCTURE, "timeout"): ErrorKind.TIMEOUT,
        (INFRASTRUCTURE, "authz"): ErrorKind.AUTH_ERROR,
        (INFRASTRUCTURE, "server_error"): ErrorKind.SERVER_ERROR,
        (INFRASTRUCTURE, "rate_limit"): ErrorKind.RATE_LIMIT,
        (PARAMETER, "syntactic"): ErrorKind.INVALID_ARGUMENTS,
        (PARAMETER, "boundary"): ErrorKind.INVALID_ARGUMENTS,
        (PARAMETER, "semantic"): ErrorKind.FACTUAL_ERROR,
    }
)
_UNAVAILABLE = frozenset({502, 503, 504})
_BOUNDARIES = {
    404: ErrorKind.NOT_FOUND,
    410: ErrorKind.NOT_FOUND,
    409: ErrorKind.PRECONDITION_FAILED,
    412: ErrorKind.PRECONDITION_FAILED,
    423: ErrorKind.PRECONDITION_FAILED,
    428: ErrorKind.PRECONDITION_FAILED,
}
_EXACT_KIND, _AMBIGUOUS = "btm_kind", "btm_ambiguous"
# After these a write may have happened; what a tool does is for the map to say.
_MAY_HAVE_HAPPENED = frozenset({ErrorKind.TIMEOUT, ErrorKind.SERVER_ERROR, ErrorKind.UNAVAILABLE})
_KINDS = frozenset(map(str, ErrorKind))


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """One call of a trajectory. Mappings hold JSON values under the record's own field names."""

    step_index: int
    tool_name: str
    intent: str | None = None
    input_params: Mapping[str, Any] = field(default_factory=dict)
    response: Mapping[str, Any] = field(default_factory=dict)
    failure_type: str | None = None
    failure_subtype: str | None = None
    failure_detail: str | None = None
    agent_observation: str | None = None
    agent_decision: Mapping[str, Any] | None = None
    decision_correctness: str | None = None
    correctness_reason: str | None = None
    correct_action: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Mapping[str, Any], index: int) -> Self:
        """Read a step; ``index`` stands in for a missing ``step_index``. Raises KeyError without a ``tool_name``."""
        known, extra = _split(cls, value)
        known.setdefault("step_index", index)
        for name in ("input_params", "response"):
            known[name] = known.get(name) or {}
        return cls(**{**known, "tool_name": value["tool_name"]}, extra=extra)

    def to_json(self) -> dict[str, Any]:
        """Return the record of the step."""
        return _record(self)

    @property
    def outcome(self) -> Outcome | None:
        """What the annotation says of the call itself; None where it says nothing and the response has to tell.

        The types of ``logic`` (a loop, a repeated write, a cascade) are about the agent, not about the call.
        """
        exact = self.extra.get(_EXACT_KIND)
        kind = ErrorKind(exact) if exact in _KINDS else self._kind()
        if kind is None:
            return None
        code = self.response.get("status_code")
        return Outcome(
            kind=kind,
            detail=self.failure_detail or "",
            status_code=code if isinstance(code, int) else None,
            silent=kind.family is Family.SILENT,
            ambiguous=bool(self.extra.get(_AMBIGUOUS, kind in _MAY_HAVE_HAPPENED)),
            reason="the trajectory is annotated so",
            rule="trajectory",
        )

    def _kind(self) -> ErrorKind | None:
        if self.failure_type in (None, LOGIC):
            return None
        subtype = self.failure_subtype or ""
        code = self.response.get("status_code")
        if subtype == "boundary" and code in _BOUNDARIES:
            return _BOUNDARIES[code]
        if subtype == "server_error" and code in _UNAVAILABLE:
            return ErrorKind.UNAVAILABLE
        return _KIND_OF_TYPE.get((self.failure_type or "", subtype))


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One task with its steps. Mappings hold JSON values under the record's own field names."""

    trajectory_id: str
    task_description: str = ""
    final_outcome: str = SUCCESS
    steps: tuple[TrajectoryStep, ...] = ()
    failure_summary: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read a trajectory. Raises KeyError, TypeError or ValueError when the record is not one."""
        known, extra = _split(cls, value)
        known["steps"] = tuple(TrajectoryStep.from_json(step, at) for at, step in enumerate(value["steps"]))
        for name in ("failure_summary", "metadata"):
            known[name] = known.get(name) or {}
        return cls(**{"trajectory_id": "", **known}, extra=extra)

    def to_json(self) -> dict[str, Any]:
        """Return the record: JSON values only, fields in the record's own order."""
        return {**_record(self), "steps": [step.to_json() for step in self.steps], **self.extra}

    @property
    def reward(self) -> float | None:
        """1.0 for a success, 0.0 for a failure, what the record adds about one between; None where nobody says."""
        if isinstance(own := self.extra.get("reward"), int | float):
            return float(own)
        return {SUCCESS: 1.0, FAILURE: 0.0}.get(self.final_outcome)


def failure_fields(outcome: Outcome) -> dict[str, Any]:
    """Return a step's ``failure_*`` fields, and our own ``btm_kind`` and ``btm_ambiguous``, for what came of its call."""
    kind = outcome.kind
    if kind is None:
        return {"failure_type": None, "failure_subtype": None, "failure_detail": None}
    failure_type, subtype = TYPE_OF_KIND[kind]
    return {
        "failure_type": failure_type,
        "failure_subtype": subtype,
        "failure_detail": outcome.detail or None,
        _EXACT_KIND: str(kind),
        _AMBIGUOUS: outcome.ambiguous,
    }


def _split(cls: type[Any], value: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    names = {entry.name for entry in fields(cls)} - {"extra"}
    known = {name: value[name] for name in value if name in names}
    return known, {name: value[name] for name in value if name not in names}


def _record(value: TrajectoryStep | Trajectory) -> dict[str, Any]:
    record = {
        entry.name: _plain(getattr(value, entry.name)) for entry in fields(value) if entry.name != "extra"
    }
    return {**record, **value.extra}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
