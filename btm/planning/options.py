"""What a fallback map, and skill cards, say about an incident, in the forms that the tracker and the planner ask for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from btm.fallback import FallbackMap, Step
from btm.fallback.checking import steps_of
from btm.learning.judging import CONTRADICTED, IN_A_ROW
from btm.learning.posterior import BetaPosterior
from btm.learning.relations import Emptiness, StandIn, VerifyingRead
from btm.model import Action, Effect, ErrorKind, Incident, ToolCall
from btm.planning.kinship import related

ITS_ARGUMENTS = "its arguments"
"""What the agent must supply for a substitute that no map describes."""

_NOTHING_KNOWN: Mapping[str, Any] = {}


class MapRelations:
    """A fallback map as the tracker's :class:`~btm.learning.relations.Relations`.

    A later call is only taken for what the map offers if it agrees with the failed call wherever the map fills an
    argument from it: reading another order does not verify this one.
    """

    def __init__(self, fallback_map: FallbackMap) -> None:
        self._map = fallback_map
        # The tools that have a part in standing in for each: most calls can be told apart by name alone.
        self._involved = {
            name: frozenset(step.tool for fallback in entry.fallbacks for step in steps_of(fallback))
            for name, entry in fallback_map.tools.items()
        }

    def knows(self, tool: str) -> bool:
        """Whether the map has an entry for ``tool``."""
        return tool in self._map.tools

    def stands_in(self, failed: ToolCall, call: ToolCall) -> StandIn | None:
        """The substitute that ``call`` is, or else the row of calls that it is a part of."""
        if call.tool == failed.tool or call.tool not in self._involved.get(failed.tool, ()):
            return None
        offers = self._map.candidates(failed, None, _NOTHING_KNOWN)
        for offer in offers:
            if not offer.via and offer.tool == call.tool and _agrees(offer, call):
                return StandIn(offer.tool)
        for offer in offers:
            if call.tool in offer.via:
                place = offer.via.index(call.tool)
                return StandIn(
                    offer.target,
                    complete=place == len(offer.via) - 1,
                    underway=any(self._map.effect(tool) is Effect.WRITE for tool in offer.via[:place]),
                )
        return None

    def repairs(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether ``call`` runs one of the failed tool's repairs."""
        return call.tool in self._map.repair_tools(failed.tool)

    def verifies(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether ``call`` is the verifying read of this very write."""
        offer = self._map.verifier(failed, _NOTHING_KNOWN)
        return offer is not None and offer.tool == call.tool and _agrees(offer, call)

    def shown_by(self, write: ToolCall) -> VerifyingRead | None:
        """The verifying read of a write."""
        offer = self._map.verifier(write, _NOTHING_KNOWN)
        if offer is None:
            return None
        settles = not self._map.irreversible(write.tool)
        return VerifyingRead(offer.tool, offer.arguments or {}, self._map.can_tell(write.tool), settles)

    def done(self, failed: ToolCall, result: Any) -> bool | None:
        """Whether the verifying read's result shows that the write happened."""
        return self._map.done(failed, result)

    def answers(self, failed: ToolCall, target: str, result: Any) -> bool | None:
        """Whether a substitute's result holds what the failed call asked for, in a form that the map can read."""
        for offer in self._map.candidates(failed, None, _NOTHING_KNOWN):
            if offer.target == target and not self._map.picks_from_several(failed, offer):
                return self._map.answer(failed, offer, [result]).ok
        return None

    def shown(self, failed: ToolCall, target: str, result: Any) -> Any:
        """What a substitute's result says in the form of the failed tool's, where the map can read it."""
        for offer in self._map.candidates(failed, None, _NOTHING_KNOWN):
            if offer.target == target and not self._map.picks_from_several(failed, offer):
                answer = self._map.answer(failed, offer, [result])
                return answer.value if answer.ok else None
        return None

    def emptiness(self, tool: str) -> Emptiness | None:
        """What the map says an empty answer of ``tool`` is."""
        return self._map.emptiness(tool)

    def cross_checked(self, tool: str) -> bool:
        """Whether the map names another tool that confirms this one's answers."""
        entry = self._map.tools.get(tool)
        return entry is not None and entry.cross_check is not None

    def same_wish(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether two calls agree in what makes the wish: the map's ``identity``, or all but notes and keys."""
        return self._map.same_wish(failed, call)

    def general(self, call: ToolCall) -> bool:
        """Whether the map says, or the name and arguments do, that the tool takes any command."""
        return self._map.general(call)

    def related(self, failed: ToolCall, call: ToolCall, result: Any) -> bool:
        """Whether a call that the map knows nothing about asks for the same; see :mod:`btm.planning.kinship`."""
        return related(failed, call, result)

    def escalates(self, tool: str) -> bool:
        """Whether ``tool`` hands over to a human."""
        return tool in self._map.escalations()


def _agrees(offer: Step, call: ToolCall) -> bool:
    return all(call.arguments.get(name, value) == value for name, value in (offer.arguments or {}).items())


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


@dataclass(frozen=True, slots=True)
class Options:
    """What the map offers for an incident, ready for weighing.

    ``irreversible`` and ``idempotent`` are of the tool that failed; ``cost`` is its cost per call. ``general`` says that
    every call of it is another command, ``mapped`` that the map knows it. ``hints`` are substitutes that no map names,
    known from what worked before; their arguments are the agent's to find. ``down`` says that the tool does not work for
    anyone now: calling it again, in whatever way, is no step; ``worked_before`` that it did lately. ``skills`` are cards
    that speak for steps among these. ``assumed`` says that the call is a write only because nothing is known of its tool.
    ``arbiter`` confirms the tool that said otherwise than the call in question.
    """

    switches: tuple[Step, ...] = ()
    repairs: tuple[Step, ...] = ()
    verify: Step | None = None
    escalation_tool: str = ""
    irreversible: bool = False
    idempotent: bool = False
    cost: float = 1.0
    health: str = ""
    general: bool = False
    mapped: bool = False
    hints: tuple[Step, ...] = ()
    down: bool = False
    worked_before: bool = False
    skills: tuple[SkillOffer, ...] = ()
    assumed: bool = False
    arbiter: str = ""

    def skill_for(self, step: Step) -> SkillOffer | None:
        """Return the best card that speaks for a step."""
        return next((s for s in self.skills if s.action is step.action and s.target == step.target), None)


@runtime_checkable
class Skills(Protocol):
    """Cards in use by one memory."""

    def extended(self, fallback_map: FallbackMap) -> FallbackMap:
        """Return the map with the steps that only cards offer; called once, before anything else."""

    def options(self, options: Options, incident: Incident, now: float, *, healed: bool) -> Options:
        """Return what there is to do about an incident, with the cards that fit and without steps of those that do not.

        ``healed`` says that the failed tool's calls before the latest one all worked.
        """


def options_for(
    incident: Incident,
    fallback_map: FallbackMap,
    known: Mapping[str, Any],
    *,
    available: Collection[str] | None = None,
    health: str = "",
    worked: Iterable[str] = (),
    down: Callable[[str, Effect], bool] | None = None,
    worked_before: bool = False,
    assumed: bool = False,
) -> Options:
    """Return what the map offers for an incident.

    ``known`` are values seen in the conversation, by field name. ``available`` names the tools that the agent has;
    None means that every tool of the map is there. ``worked`` names the tools that stood in for the failed one before:
    where the map has no substitute for it, they are hints. ``down`` tells of a tool with an effect whether it works for
    nobody now: it is no substitute then. ``worked_before`` says whether the failed tool did lately, ``assumed`` whether
    it is a write only because nothing is known of it.
    """
    call = incident.call
    # A search that finds nothing, whatever it is asked, is taken to be down.
    kind = ErrorKind.UNAVAILABLE if incident.outcome.rule == IN_A_ROW else incident.kind
    present = None if available is None else frozenset(available)

    def is_down(tool: str) -> bool:
        return down is not None and down(tool, fallback_map.effect(tool) or Effect.WRITE)

    def usable(offers: Iterable[Step]) -> tuple[Step, ...]:
        there = (o for o in offers if present is None or present.issuperset(o.via or (o.tool,)))
        return tuple(o for o in there if not any(map(is_down, o.via or (o.tool,))))

    verifier = fallback_map.verifier(call, known) if call.effect is Effect.WRITE else None
    checks = usable((verifier,) if verifier is not None else ())
    escalations = (
        t for t in fallback_map.escalations() if t != call.tool and (present is None or t in present)
    )
    entry = fallback_map.tools.get(call.tool)
    hints = () if entry is not None and entry.fallbacks else tuple(map(_hint, worked))
    return Options(
        switches=usable(fallback_map.candidates(call, kind, known)),
        repairs=usable(fallback_map.repairs(call, incident.kind, known)),
        verify=checks[0] if checks else None,
        escalation_tool=next(escalations, ""),
        irreversible=fallback_map.irreversible(call.tool),
        idempotent=fallback_map.idempotent(call.tool),
        cost=fallback_map.cost(call.tool),
        health=health,
        general=fallback_map.general(call),
        mapped=entry is not None,
        hints=usable(hints),
        down=down is not None and down(call.tool, call.effect),
        worked_before=worked_before,
        assumed=assumed,
        arbiter=fallback_map.second_source(fallback_map.second_source(call.tool))
        if incident.outcome.rule == CONTRADICTED
        else "",
    )


def _hint(tool: str) -> Step:
    """Return a substitute that no map names: what it takes is not known."""
    return Step(Action.SWITCH, tool, None, missing=(ITS_ARGUMENTS,))
