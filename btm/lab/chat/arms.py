"""The arms of a placement measurement: what the model is told after a failed call, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from btm.adapters.wording import Placement
from btm.lab.names import known_names
from btm.planning.context import Detail

NONE, NEUTRAL, NEUTRAL_CALL, FULL = "none", "neutral", "neutral_call", "user_reminder_full"

ARMS: Mapping[str, str] = MappingProxyType(
    {
        NONE: "the tool's error, and nothing after it",
        NEUTRAL: "the control: a last user message that repeats the request and advises nothing",
        NEUTRAL_CALL: "a stronger control: the same, asking for a call in the last line as btm's context does",
        Placement.USER_REMINDER.value: "btm's context as an ephemeral last message in the user's role (the default)",
        FULL: "the same, with reasons, what comes then and what to avoid",
        Placement.TOOL_RESULT.value: "btm's context at the end of the failed call's own result",
        Placement.SYSTEM.value: "btm's context at the end of the system message",
    }
)
"""Every arm, with what it is."""

CONTROLS: Mapping[str, str] = MappingProxyType(
    {
        NEUTRAL: "The call failed. Continue with: {request}",
        NEUTRAL_CALL: "The call failed. The request is still: {request}\n\nMake the next call now.",
    }
)
"""What the controls say. A message after an error helps by itself, so btm's arms are compared with these."""


def placement_of(arm: str) -> Placement | None:
    """Return where an arm places btm's context; None for the arms without btm."""
    if arm == FULL:
        return Placement.USER_REMINDER
    return None if arm == NONE or arm in CONTROLS else Placement(arm)


def detail_of(arm: str) -> Detail:
    """Return how much an arm's context says."""
    return Detail.FULL if arm == FULL else Detail.SHORT


def check_arms(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arms without doubles, in the order of ``ARMS``; raises EvaluationError for an unknown name."""
    known = known_names("arm", names, ARMS)
    return tuple(arm for arm in ARMS if arm in known)
