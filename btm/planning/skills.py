"""What plans ask of skill cards: the seam to what was mined offline (:mod:`btm.skills`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from btm.fallback import FallbackMap
from btm.learning.posterior import BetaPosterior
from btm.model import Action, Incident

if TYPE_CHECKING:
    from btm.planning.planner import Options

MOST_WEIGHT = 4.0
"""Tries that a card's evidence is worth at most: what is seen here outweighs a library that may have gone stale."""


class SkillOffer(NamedTuple):
    """A card that fits an incident: the step it speaks for, the line it may take, and what its logs came to.

    ``worked`` of ``tried`` are decayed to now. ``only`` says that the map does not offer the step: btm advises it, and
    never takes it by itself.
    """

    action: Action
    target: str
    text: str
    worked: float
    tried: float
    only: bool = False

    def added_to(self, belief: BetaPosterior) -> BetaPosterior:
        """Return the step's belief with the card's evidence as at most ``MOST_WEIGHT`` tries more."""
        if self.tried <= 0.0:
            return belief
        weight = min(self.tried, MOST_WEIGHT) / self.tried
        worked, failed = self.worked * weight, (self.tried - self.worked) * weight
        return BetaPosterior(belief.alpha + worked, belief.beta + failed, belief.n, belief.worked)


@runtime_checkable
class Skills(Protocol):
    """Cards in use by one memory."""

    def extended(self, fallback_map: FallbackMap) -> FallbackMap:
        """Return the map with the steps that only cards offer; called once, before anything else."""

    def options(self, options: Options, incident: Incident, now: float, *, healed: bool) -> Options:
        """Return what there is to do about an incident, with the cards that fit and without steps of those that do not.

        ``healed`` says that the failed tool's calls before the latest one all worked.
        """
