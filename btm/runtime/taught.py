"""Answers that a person, or a model that was asked, told of: what came of a call goes by that from then on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from btm.classify.engine import renamed
from btm.classify.likeness import FLAGGED, likeness_of
from btm.model import SUCCESS, ErrorKind, Outcome, ToolCall
from btm.store import TaughtRule
from btm.support.bounded import BoundedDict

_MOST = 4_000
_SURE, _SURELY_FINE = 0.95, 0.9
"""How sure a failure, and a success, is told to be that no model is asked about."""
_BY_WORDS = (["text"], ["plain"])
_WEIGHED_BY = ("opinion", "guess", "look", "suspected")
"""What stands before a rule that was found and then weighed once more."""


def is_unsure(outcome: Outcome) -> bool:
    """Whether a model may be asked about what came of a call."""
    if outcome.kind is None:
        return outcome.suspected is not None or outcome.confidence < _SURELY_FINE
    # Of what fails in silence the model would be sent data, and no words of an error.
    return outcome.kind is ErrorKind.UNKNOWN or (outcome.confidence < _SURE and not outcome.silent)


def is_open(outcome: Outcome, answer: Any) -> bool:
    """Whether a model may call an answer fine: one that is only suspected, or that failed by the words of a text alone.

    What a status, a code, a flag or a field of an error tells, no model may talk away: the text may have talked to it.
    """
    if outcome.kind is None:
        return True
    parts = [part for part in outcome.rule.split(":") if part not in _WEIGHED_BY]
    return isinstance(answer, str) and answer.lstrip()[:1] not in ("{", "[", "<") and parts[:1] in _BY_WORDS


class TaughtAnswers:
    """What was taught, by its name. Read without a lock: entries are only added."""

    def __init__(self, rules: Iterable[TaughtRule] = ()) -> None:
        self._rules: BoundedDict[str, TaughtRule] = BoundedDict(_MOST)
        self._tools: BoundedDict[str, None] = BoundedDict(_MOST)
        for rule in rules:
            self.add(rule)

    def add(self, rule: TaughtRule) -> None:
        """Go by one more rule, in place of an earlier one for the same answers."""
        if not rule.as_it_was:
            self._rules[rule.name] = rule
            self._tools[rule.tool] = None

    def applied(self, outcome: Outcome, call: ToolCall, answer: Any) -> Outcome:
        """Return what came of a call, as it was taught. ``answer`` is its result, or the exception."""
        if call.tool not in self._tools and "" not in self._tools:
            return outcome
        try:
            likeness = likeness_of(answer)
        except ValueError:
            return outcome
        names = (TaughtRule.name_of(tool, likeness) for tool in (call.tool, ""))
        rule = next((self._rules[name] for name in names if name in self._rules), None)
        if rule is None or not (rule.by_person or is_unsure(outcome)):
            return outcome
        if rule.kind is not None:
            named = renamed(outcome, rule.kind, call, answer, f"taught:{rule.name}")
            # A model does not know whether a write went through.
            return replace(named, ambiguous=named.ambiguous or (outcome.ambiguous and not rule.by_person))
        if likeness.startswith(FLAGGED) or not (rule.by_person or is_open(outcome, answer)):
            return outcome
        return replace(SUCCESS, reason="it was taught that this is no error", rule=f"taught:{rule.name}")
