"""What one finished call is to the tracker, and what it teaches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from btm.learning.matching import Match, Ticket
from btm.model import Action, Attempt, Incident, Outcome


class Undone(NamedTuple):
    """A write that had answered well and was not done: its incident, and the attempts as which it had counted."""

    incident: Incident
    attempts: tuple[Attempt, ...]


class Learned(NamedTuple):
    """What one finished call taught.

    ``outcome`` is what came of the call as it looks from the conversation: an empty answer answers a read that was to
    show whether something is there. ``incident`` is the open one it belongs to: its own if it failed, and the one it
    left open if it was a verifying read which did not settle it or a substitute which did not answer it. ``undone`` is a
    write that the call, a read, showed not to have been done.
    """

    outcome: Outcome
    attempts: tuple[Attempt, ...] = ()
    incident: Incident | None = None
    opened: bool = False
    closed: tuple[Incident, ...] = ()
    undone: Undone | None = None


class Ending(NamedTuple):
    """How and when a call ended."""

    ticket: Ticket
    outcome: Outcome
    at: float
    latency_s: float | None
    result: Any


def too_early(incident: Incident, match: Match, ending: Ending) -> bool:
    """Whether a repeat failed that was made before the tool had asked for it."""
    due, begun = incident.due_at, ending.ticket.at
    repeats = match.action is Action.RETRY and not ending.outcome.ok
    return repeats and due is not None and 0.0 < begun < due


def in_doubt(incident: Incident) -> Incident:
    """Return an incident whose write may have happened, as far as anyone knows."""
    return replace(incident, outcome=replace(incident.outcome, ambiguous=True), happened=None)
