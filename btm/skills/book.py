"""The cards that a memory uses. A card is a step that the map need not have, and at most four tries of evidence for it.

It is learned about like any other step: under its key (tool, kind, action, target), with the memory's decay. A card whose
own step keeps failing falls behind; one that leaves a tool whose calls work again is silent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

from btm.authored.expressions import compile_expression
from btm.errors import TemplateError
from btm.fallback import FallbackMap, ToolEntry, ToolRole
from btm.fallback.fields import FULL, PARTIAL
from btm.fallback.schema import Fallback, Repair
from btm.learning.posterior import Decay
from btm.model import Action, Effect, Incident
from btm.planning.plan import MOST_WEIGHT, Options, SkillOffer
from btm.planning.policy import situation_of
from btm.skills.card import SkillCard, load_cards
from btm.skills.tries import signature
from btm.support.effects import guess_effect
from btm.support.untrusted import harmless

FEWEST = 5.0
"""Tries after which a card that works less often than not is no longer offered."""


class SkillBook:
    """Cards, ready for a memory: ``ToolMemory.open("btm.db", skills=SkillBook.load("skills/"))``.

    ``half_life_s`` is how fast a card's evidence from logs is forgotten, from its ``created_at`` on; infinite: never.
    """

    def __init__(self, cards: Iterable[SkillCard], *, half_life_s: float = 14 * 86_400.0) -> None:
        self.cards = tuple(cards)
        self._half_life_s = half_life_s
        self._of_tool: dict[str, list[SkillCard]] = {}
        for card in self.cards:
            self._of_tool.setdefault(card.trigger.tool, []).append(card)
        self._only: frozenset[tuple[str, str]] = frozenset()
        self._new: frozenset[str] = frozenset()

    @classmethod
    def load(cls, *places: str | Path) -> Self:
        """Read cards from files and folders. Raises SkillError for a wrong one."""
        return cls(load_cards(*places))

    def extended(self, fallback_map: FallbackMap) -> FallbackMap:
        """Return the map with the steps that only cards offer.

        A read is never replaced by a write, a hand-over or what cannot be undone is no step, whatever a card says.
        """
        tools: dict[str, ToolEntry] = dict(fallback_map.tools)
        only: set[tuple[str, str]] = set()
        for card in self.cards:
            tool, first = card.trigger.tool, card.first
            if tool == "*" or not card.target or card.target == tool:
                continue
            if card.target in self._offered(fallback_map, tool, first.action):
                continue
            entry, other = (_entry(tools, name) for name in (tool, card.target))
            if other.role is not None and first.action is Action.SWITCH:
                continue
            if other.role is ToolRole.ESCALATION or other.irreversible:
                continue
            writes = other.effective is Effect.WRITE and entry.effective is Effect.READ
            if writes and first.action is Action.SWITCH:
                continue
            tools[card.target] = other
            tools[tool] = _with_step(entry, card)
            only.add((tool, card.target))
        self._only = frozenset(only)
        self._new = frozenset(tools) - frozenset(fallback_map.tools)
        if not only:
            return fallback_map
        return FallbackMap(fallback_map.model.model_copy(update={"tools": tools}), fallback_map.file)

    @staticmethod
    def _offered(fallback_map: FallbackMap, tool: str, action: Action) -> frozenset[str]:
        return fallback_map.repair_tools(tool) if action is Action.REPAIR else fallback_map.substitutes(tool)

    def options(self, options: Options, incident: Incident, now: float, *, healed: bool) -> Options:
        """Return what there is to do about an incident, with the cards that fit and without steps of those that do not."""
        tool, offers = incident.tool, self.offers(incident, now, healed=healed)
        gone = {target for name, target in self._only if name == tool} - {offer.target for offer in offers}
        return replace(
            options,
            skills=offers,
            mapped=options.mapped and tool not in self._new,
            switches=tuple(step for step in options.switches if step.target not in gone),
            repairs=tuple(step for step in options.repairs if step.target not in gone),
        )

    def offers(self, incident: Incident, now: float, *, healed: bool = False) -> tuple[SkillOffer, ...]:
        """Return the cards that fit an incident, the best first: by the error's wording, then by what they came to.

        What they found not to work stands last, as evidence against it.
        """
        wording = signature(incident.outcome.detail)
        found: list[tuple[bool, bool, float, SkillOffer, SkillCard]] = []
        for card in (*self._of_tool.get(incident.tool, ()), *self._of_tool.get("*", ())):
            if incident.kind not in card.trigger.kinds or (healed and _leaves(card)):
                continue
            if not _holds(card.when, incident, empty=True) or _holds(card.not_when, incident, empty=False):
                continue
            offer = self._offer(card, now)
            if offer.tried >= FEWEST and offer.worked < 0.5 * offer.tried:
                continue
            same = bool(wording) and card.trigger.signature == wording
            found.append((same, _proven(card), card.chance, offer, card))
        best = [one[3:] for one in sorted(found, key=lambda one: one[:3], reverse=True)]
        against: dict[Action, float] = {}
        for _, card in best:
            for action in card.avoid:
                against[action] = max(against.get(action, 0.0), MOST_WEIGHT * self._fresh(card, now))
        return (
            *(offer for offer, _ in best),
            *(SkillOffer(action, "", "", 0.0, weight) for action, weight in sorted(against.items())),
        )

    def _fresh(self, card: SkillCard, now: float) -> float:
        """Return what is left of a card's evidence, in (0, 1]; all of it where nobody knows how old it is."""
        return Decay(self._half_life_s, now).weight(min(card.created_at or now, now))

    def _offer(self, card: SkillCard, now: float) -> SkillOffer:
        fresh, said = self._fresh(card, now), card.evidence
        counted = f" (worked {said.worked:.0f} of {said.tried:.0f} times in logs)" if said.tried else ""
        only = (card.trigger.tool, card.target) in self._only
        worked, tried = said.worked * fresh, said.tried * fresh
        return SkillOffer(card.first.action, card.target, harmless(card.text) + counted, worked, tried, only)


def _leaves(card: SkillCard) -> bool:
    """Whether a card keeps the agent off the failed tool."""
    return card.first.action is Action.SWITCH or Action.RETRY in card.avoid


def _proven(card: SkillCard) -> bool:
    """Whether tasks were done with the card's step when it was replayed: then what it gives suffices."""
    return card.verified is not None and card.verified.worked * 2 > card.verified.tried


def _entry(tools: Mapping[str, ToolEntry], name: str) -> ToolEntry:
    return tools.get(name) or ToolEntry(effect=guess_effect(name))


def _with_step(entry: ToolEntry, card: SkillCard) -> ToolEntry:
    arguments = dict(card.first.arguments or {})
    if card.first.action is Action.REPAIR:
        repair = Repair(on=card.trigger.kind, tool=card.target, arguments=arguments)
        return entry.model_copy(update={"repairs": (*entry.repairs, repair)})
    switch = Fallback(
        tool=card.target,
        coverage=FULL if _proven(card) else PARTIAL,
        arguments=arguments,
        only_for=(card.trigger.kind,),
    )
    return entry.model_copy(update={"fallbacks": (*entry.fallbacks, switch)})


def _holds(text: str, incident: Incident, *, empty: bool) -> bool:
    """Whether a card's condition holds; one that cannot be told does not."""
    if not text:
        return empty
    try:
        names = situation_of(incident.call, incident.outcome, incident)
        return bool(compile_expression(text).evaluate(names))
    except TemplateError:
        return False


def retired(card: SkillCard, worked: float, tried: float) -> bool:
    """Whether what a database has seen of a card's step, with its logs, says that it works less often than not."""
    return tried + card.evidence.tried >= FEWEST and (worked + card.evidence.worked) < 0.5 * (
        tried + card.evidence.tried
    )
