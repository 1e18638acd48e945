"""Verdicts: what a judge says of one call, and the states that two judges and a person bring it to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from btm.model import ChoiceEnum, ErrorKind


class ErrorCategory(ChoiceEnum):
    """What a call that seemed to work got wrong."""

    SEMANTIC_PARAM_ERROR = "semantic_param_error"
    SEMANTIC_RESULT_MISMATCH = "semantic_result_mismatch"
    SCOPE_ERROR = "scope_error"
    TEMPORAL_ERROR = "temporal_error"

    @property
    def kind(self) -> ErrorKind:
        """The error kind that the call's outcome turns into."""
        return _KINDS[self]


_KINDS: Mapping[ErrorCategory, ErrorKind] = {
    ErrorCategory.SEMANTIC_PARAM_ERROR: ErrorKind.INVALID_ARGUMENTS,
    ErrorCategory.SEMANTIC_RESULT_MISMATCH: ErrorKind.FACTUAL_ERROR,
    ErrorCategory.SCOPE_ERROR: ErrorKind.PARTIAL_DATA,
    ErrorCategory.TEMPORAL_ERROR: ErrorKind.STALE_DATA,
}


class JudgeReply(BaseModel):
    """The strict JSON that a judge answers with."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    satisfied: bool
    gap_description: str | None = None
    error_category: str | None = None
    confidence: float = Field(ge=0.0, le=1.0, allow_inf_nan=False)
    reasoning: str = ""

    @property
    def category(self) -> ErrorCategory | None:
        """What was wrong; a semantic mismatch where a judge names nothing."""
        if self.satisfied:
            return None
        return ErrorCategory(self.error_category or ErrorCategory.SEMANTIC_RESULT_MISMATCH)


_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


def parsed_reply(text: str) -> JudgeReply | None:
    """Return a judge's reply; None for anything but one JSON object of the asked form (a fence around it may stand)."""
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=_no_twins)
        reply = JudgeReply.model_validate(value)
        _ = reply.category
    except (ValueError, ValidationError, RecursionError):
        return None
    return reply


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a field twice: which one counts would be the parser's choice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands twice")
    return found


class CallState(ChoiceEnum):
    """Where a judged call stands."""

    AGREED = "agreed"  # both judges said the same
    SPLIT = "split"  # they differ, or one gave no verdict: a person decides
    REVIEWED = "reviewed"  # a person has decided
