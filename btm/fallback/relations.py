"""A fallback map as the incident tracker asks it, and what speaks for a substitute where no map says which covers which.

Without a map, an agent goes on after a failure, and that the next call works says nothing by itself. What speaks for a
recovery is that the values which name things are there again: in the later call's arguments under a related name, or in
what it answered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.fallback.answers import Answer
from btm.fallback.checking import steps_of
from btm.fallback.map import FallbackMap
from btm.fallback.offers import Step
from btm.learning.relations import Emptiness, StandIn, VerifyingRead
from btm.model import Effect, ToolCall
from btm.support.effect_words import READ_VERBS
from btm.support.effects import name_words
from btm.support.untrusted import scalars, text_of

_NOTHING_KNOWN: Mapping[str, Any] = {}
_MAX_ANSWER = 100_000
_MAX_VALUES = 100
_NO_NOUN = frozenset(
    (
        "by", "for", "of", "the", "all", "my", "an", "to", "from", "in", "on", "with", "and", "or", "id", "info",
        "information", "detail", "data", "api", "tool", "new", "old", "one", "current",
    )
)  # fmt: skip
_ASKS = frozenset(("search", "find", "lookup", "query", "ask", "grep"))
_QUESTIONS = frozenset(
    ("q", "query", "queries", "question", "search", "text", "keywords", "term", "search_query")
)
_DATE_OR_NUMBER = re.compile(r"[\d\s.,:/+\-]*(?:[tT][\d:.]+)?(?:z|utc|am|pm)?\Z", re.IGNORECASE)


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
        settles = not self._map.entry(write.tool).irreversible
        return VerifyingRead(offer.tool, offer.arguments or {}, self._map.can_tell(write.tool), settles)

    def done(self, failed: ToolCall, result: Any) -> bool | None:
        """Whether the verifying read's result shows that the write happened."""
        return self._map.done(failed, result)

    def answers(self, failed: ToolCall, target: str, result: Any) -> bool | None:
        """Whether a substitute's result holds what the failed call asked for, in a form that the map can read."""
        answer = self._answer(failed, target, result)
        return None if answer is None else answer.ok

    def shown(self, failed: ToolCall, target: str, result: Any) -> Any:
        """What a substitute's result says in the form of the failed tool's, where the map can read it."""
        answer = self._answer(failed, target, result)
        return None if answer is None or not answer.ok else answer.value

    def _answer(self, failed: ToolCall, target: str, result: Any) -> Answer | None:
        for offer in self._map.candidates(failed, None, _NOTHING_KNOWN):
            if offer.target == target and not self._map.picks_from_several(failed, offer):
                return self._map.answer(failed, offer, [result])
        return None

    def emptiness(self, tool: str) -> Emptiness | None:
        """What the map says an empty answer of ``tool`` is."""
        return self._map.entry(tool).empty

    def cross_checked(self, tool: str) -> bool:
        """Whether the map names another tool that confirms this one's answers."""
        return self._map.entry(tool).cross_check is not None

    def same_wish(self, failed: ToolCall, call: ToolCall) -> bool:
        """Whether two calls agree in what makes the wish: the map's ``identity``, or all but notes and keys."""
        return self._map.same_wish(failed, call)

    def general(self, call: ToolCall) -> bool:
        """Whether the map says, or the name and arguments do, that the tool takes any command."""
        return self._map.general(call)

    def related(self, failed: ToolCall, call: ToolCall, result: Any) -> bool:
        """Whether a call that the map knows nothing about asks for the same; see :func:`related`."""
        return related(failed, call, result)

    def escalates(self, tool: str) -> bool:
        """Whether ``tool`` hands over to a human."""
        return tool in self._map.escalations()


def _agrees(offer: Step, call: ToolCall) -> bool:
    return all(call.arguments.get(name, value) == value for name, value in (offer.arguments or {}).items())


def related(failed: ToolCall, call: ToolCall, result: Any) -> bool:
    """Whether ``call`` asked for what ``failed`` did; ``result`` is what it answered, None if it did not."""
    same_noun = not _nouns(failed.tool).isdisjoint(_nouns(call.tool))
    wanted, given = _values(failed.arguments), _values(call.arguments)
    if not wanted:
        return same_noun
    missing = wanted - given
    if not missing:
        return same_noun or _same_question(failed, call)
    if result is None:
        return False
    answer = text_of(result, _MAX_ANSWER).casefold()
    return all(value in answer for value in missing)


def _same_question(failed: ToolCall, call: ToolCall) -> bool:
    """Whether one question in words was put to two tools that both search."""
    asked = {name for name in failed.arguments if name.lower() in _QUESTIONS}
    both_search = _ASKS & set(name_words(failed.tool)) & set(name_words(call.tool))
    return bool(asked and both_search)


def _nouns(tool: str) -> frozenset[str]:
    """Return what a tool's name is about, in the singular: ``list_orders`` and ``getOrder`` are about an order."""
    words = (word for word in name_words(tool) if len(word) > 1 and not word.isdigit())
    singular = (
        word.removesuffix("s") if len(word) > 3 and not word.endswith("ss") else word for word in words
    )
    return frozenset(word for word in singular if word not in READ_VERBS and word not in _NO_NOUN)


def _values(arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the values that name something: texts that are more than a date, a number or a letter, and large numbers."""
    found: set[str] = set()
    for value in scalars(arguments):
        text = text_of(value, 200).strip().casefold()
        plain = isinstance(value, str) and _DATE_OR_NUMBER.match(text) is None
        if len(text) > 1 and (plain or (text.isdigit() and len(text) >= 5)):
            found.add(text)
        if len(found) >= _MAX_VALUES:
            break
    return frozenset(found)
