"""What came of a call, under a fallback map: the one way from an answer to an outcome, live and from logs.

And what good results look like: learned shapes, one profile a tool, which answers are held against.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from btm.classify import ShapeProfile, classify
from btm.classify.ambiguity import under_way
from btm.classify.expectations import Expectations, against
from btm.fallback import FallbackMap
from btm.fallback.answers import is_blank
from btm.fallback.values import plain
from btm.learning.judging import NOT_YET
from btm.model import Effect, ErrorKind, Outcome, ToolCall
from btm.store import ShapeRow
from btm.support.untrusted import ask

# What a read that stands in for others may not give, whatever it is called.
_NOTHING = Outcome(
    ErrorKind.EMPTY_RESULT, silent=True, confidence=0.8, reason="nothing came back", rule="empty"
)


def _held_against(expectations: Expectations, result: Any, outcome: Outcome, now: float) -> Outcome:
    """Say what an empty answer lacks of what the map expects. A list may be empty: it is its rows that have fields."""
    try:
        value = plain(result)
    except Exception:  # noqa: BLE001 - too large, or an object of the tool's own that may raise anything
        return outcome
    finding = None if isinstance(value, list) else against(value, expectations, now)
    if finding is None:
        return outcome
    return replace(
        outcome, kind=finding.kind, reason=finding.reason, rule=finding.rule, missing=finding.missing
    )


def outcome_of(
    call: ToolCall,
    result: Any,
    error: Exception | None,
    fallback_map: FallbackMap,
    *,
    now: float,
    shape: ShapeProfile | None = None,
) -> Outcome:
    """Classify an answer with what the map says about the tool: its own error texts and what a good result has.

    A write that answered, but wrongly, probably happened; that is for a verifying read to tell, so it is ambiguous.
    """
    rules, expectations = fallback_map.error_rules(call.tool), fallback_map.expectations(call.tool)
    if error is not None:
        return classify(call, error=error, rules=rules, expectations=expectations, now=now)
    outcome = classify(call, result=result, rules=rules, expectations=expectations, shape=shape, now=now)
    if outcome.kind is ErrorKind.EMPTY_RESULT and expectations is not None:
        outcome = _held_against(expectations, result, outcome, now)
    if outcome.ok and is_blank(result) and call.effect is Effect.READ and fallback_map.stands_in(call.tool):
        return _NOTHING
    if outcome.silent and call.effect is Effect.WRITE:
        return replace(outcome, ambiguous=True)
    if outcome.ok and call.effect is Effect.WRITE and fallback_map.can_tell(call.tool):
        return _done_yet(result, outcome)
    return outcome


def _done_yet(result: Any, outcome: Outcome) -> Outcome:
    """Say of a write that a read can show whether it is done: what only says that it is under way leaves that open."""
    try:
        word = under_way(plain(result))
    except Exception:  # noqa: BLE001 - as above
        return outcome
    if not word:
        return outcome
    reason = f"it says {word!r}, which is not done yet"
    return Outcome(
        ErrorKind.UNKNOWN, ambiguous=True, silent=True, confidence=0.5, reason=reason, rule=NOT_YET
    )


LEARNED_FROM = 200
"""Answers of a tool that its shape is learned from; later ones are only judged by it."""

ROOT = "$"


class ResultSchemas:
    """The shape of every tool's good results. Not thread-safe: its owner holds the lock."""

    def __init__(self, rows: Iterable[ShapeRow] = ()) -> None:
        by_tool: dict[str, list[tuple[str, str, float]]] = {}
        for tool, path, json_type, answers in rows:
            by_tool.setdefault(tool, []).append((path, json_type, answers))
        self._profiles = {tool: ShapeProfile.from_rows(found) for tool, found in by_tool.items()}

    def profile(self, tool: str) -> ShapeProfile | None:
        """Return what is known of a tool's results, or None before the first one."""
        return self._profiles.get(tool)

    def learn(self, tool: str, result: Any) -> tuple[ShapeRow, ...]:
        """Take in a good result; return the rows that it adds to the store."""
        profile = self._profiles.get(tool) or ShapeProfile()
        answers = sum(count for kind, count in profile.counts.get(ROOT, {}).items() if kind)
        if answers >= LEARNED_FROM:
            return ()
        added = ask(profile.evidence, result)
        self._profiles[tool] = profile.merge(ShapeProfile.from_rows(added))
        return tuple((tool, *row) for row in added)

    def forget(self, tool: str) -> None:
        """Forget a tool's shape: it changed, and rightly so."""
        self._profiles.pop(tool, None)
