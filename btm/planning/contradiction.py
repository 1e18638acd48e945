"""Two tools say different things of one record: what can settle it."""

from __future__ import annotations

from collections.abc import Sequence

from btm.fallback import Step
from btm.model import Action, Incident

_LIKELY = 0.5


def third_source(incident: Incident, arbiter: str, worth: Sequence[Step]) -> list[Step]:
    """Return the step that could settle a contradiction of the incident's call, where there is one; else all of them.

    ``arbiter`` is the tool that the map names to confirm answers of the one that said otherwise. Asking
    that one again would tell nothing new, and a part of an answer is none. An arbiter that is like to answer goes first,
    whatever it costs.
    """
    thirds = [
        step
        for step in worth
        if step.action is Action.SWITCH
        and step.tool == arbiter
        and not (step.via or step.missing)
        and step.coverage >= 1.0
        and step.chance > _LIKELY
        and not incident.tried(Action.SWITCH, step.target)
    ]
    return thirds or [*worth]
