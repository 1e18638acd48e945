"""Two tools say different things of one record: what can settle it."""

from __future__ import annotations

from collections.abc import Sequence

from btm.fallback import Step
from btm.model import Action, Incident

_LIKELY = 0.5


def third_source(incident: Incident, contradicted_by: str, worth: Sequence[Step]) -> list[Step]:
    """Return the steps that could settle a contradiction of the incident's call, where there are any; else all of them.

    ``contradicted_by`` is the tool that said otherwise; "": none did. Asking it again tells nothing new, and a part of an
    answer is none. A third that is like to answer goes first, whatever it costs.
    """
    if not contradicted_by:
        return [*worth]
    thirds = [
        step
        for step in worth
        if step.action is Action.SWITCH
        and not step.missing
        and step.coverage >= 1.0
        and step.chance > _LIKELY
        and contradicted_by not in (step.tool, *step.via)
        and not incident.tried(Action.SWITCH, step.target)
    ]
    return thirds or [*worth]
