"""Fixed orders: what a careful engineer writes by hand, with all that btm has but what it learns.

They know the fallback map, name errors with btm's classifier, look up what an ambiguous write did before they repeat it,
run the map's repairs, and are told nothing that btm is not told. Only the order never changes: so many repeats and then
the substitutes in the map's order, or the other way round. Whatever btm solves more than the best of them, chosen in
hindsight, is what deciding by evidence is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.lab.agent import Call, ToolResponse
from btm.lab.desk import Desk, error_text
from btm.lab.environment import ToolSpec
from btm.lab.forgetful import Forgetful
from btm.model import Effect, Outcome, ToolCall
from btm.runtime.known_values import Facts
from btm.runtime.outcomes import outcome_of

PAUSE_S = 1.0
LOOKS = 3
"""How often a verifying read is tried before its own substitutes are."""


@dataclass(frozen=True)
class FixedOrder(Forgetful):
    """An arm that always does the same: ``repeats``, and substitutes before or after them, or not at all.

    With ``any_kind`` it repeats whatever the classifier names, otherwise only what a repeat can heal.
    """

    repeats: int
    switch_first: bool = False
    switches: bool = True
    any_kind: bool = False

    def calls(self, desk: Desk) -> Call:
        return _OrderWalk(self, desk, desk.fallback_map, desk.environment.tools)


@dataclass(frozen=True, slots=True)
class _StepAnswer:
    """What a call gave: its outcome, and what the agent would see of it."""

    outcome: Outcome
    seen: ToolResponse


@dataclass
class _OrderWalk:
    """One episode of a fixed order."""

    order: FixedOrder
    desk: Desk
    fallback_map: FallbackMap
    tools: Mapping[str, ToolSpec]
    seen: Facts = field(default_factory=Facts)

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        """Run a call of the agent, and what the order does about its failure."""
        call = ToolCall(tool, dict(arguments), self.tools[tool].effect)
        first = self._make(call)
        if first.outcome.ok:
            return first.seen
        for answer in self._answers(call, first.outcome):
            return answer
        human = "".join(f"next: escalate with {name}" for name in self.fallback_map.escalations()[:1])
        return ToolResponse(first.seen.value, is_error=True, advice=human or None)

    def _answers(self, call: ToolCall, outcome: Outcome) -> Iterator[ToolResponse]:
        """Yield an answer as soon as there is one; nothing when the order ends without."""
        settled, certain = self._settled(call, outcome)
        if settled is not None:
            yield settled
        if not certain:
            return
        ways = [self._repeated, self._switched]
        for way in reversed(ways) if self.order.switch_first else ways:
            found, certain = way(call, outcome)
            if found is not None:
                yield found
            if not certain:
                return

    def _make(self, call: ToolCall) -> _StepAnswer:
        result: Any = None
        error: Exception | None = None
        try:
            result = self.desk.call(call.tool, call.arguments)
        except Exception as raised:  # noqa: BLE001 - tools raise what they like; the agent sees the text
            error = raised
        outcome = outcome_of(call, result, error, self.fallback_map, now=self.desk.clock.time())
        if outcome.ok:
            self.seen.note(call.tool, call.arguments, result)
        value = result if error is None else error_text(error)
        return _StepAnswer(outcome, ToolResponse(value, is_error=not outcome.ok))

    def _settled(self, call: ToolCall, outcome: Outcome) -> tuple[ToolResponse | None, bool]:
        """Look up what a write in doubt did: (the answer if it happened, whether it is certain what it did)."""
        if (
            not outcome.ambiguous
            or call.effect is not Effect.WRITE
            or self.fallback_map.idempotent(call.tool)
        ):
            return None, True
        check = self.fallback_map.verifier(call, self.seen.known)
        if check is None or check.missing:
            return None, False
        read = ToolCall(check.tool, check.arguments or {})
        shown = self._read(read)
        if shown is None:
            return None, False
        return (shown if self.fallback_map.done(call, shown.value) else None), True

    def _read(self, read: ToolCall) -> ToolResponse | None:
        kind = None
        for _ in range(LOOKS):
            answer = self._make(read)
            if answer.outcome.ok:
                return ToolResponse(answer.seen.value, served_by=read.tool)
            kind = answer.outcome
        return self._switched(read, kind)[0] if kind is not None else None

    def _repeated(self, call: ToolCall, outcome: Outcome) -> tuple[ToolResponse | None, bool]:
        for candidate in self.fallback_map.repairs(call, outcome.kind, self.seen.known):
            if candidate.complete and self._make(self._call(candidate)).outcome.ok:
                answer = self._make(call)
                if answer.outcome.ok:
                    return ToolResponse(answer.seen.value), True
        for _ in range(self.order.repeats):
            if outcome.kind is None or not (self.order.any_kind or outcome.kind.repeatable):
                break
            self.desk.clock.sleep(PAUSE_S)
            answer = self._make(call)
            if answer.outcome.ok:
                return ToolResponse(answer.seen.value), True
            settled, certain = self._settled(call, answer.outcome)
            if settled is not None or not certain:
                return settled, certain
        return None, True

    def _switched(self, call: ToolCall, outcome: Outcome) -> tuple[ToolResponse | None, bool]:
        if not self.order.switches:
            return None, True
        for candidate in self.fallback_map.candidates(call, outcome.kind, self.seen.known):
            found, certain = self._instead(call, candidate)
            if found is not None or not certain:
                return found, certain
        return None, True

    def _instead(self, call: ToolCall, candidate: Step) -> tuple[ToolResponse | None, bool]:
        results: list[Any] = []
        step: Step | None = candidate
        while step is not None:
            if step.missing or step.tool not in self.tools:
                return None, True
            made = self._call(step)
            answer = self._make(made)
            if not answer.outcome.ok:
                # A substitute that writes can leave in doubt whether what was wanted has happened by now.
                doubt = answer.outcome.ambiguous and made.effect is Effect.WRITE
                return self._settled(call, answer.outcome) if doubt else (None, True)
            results.append(answer.seen.value)
            step = (
                self.fallback_map.next_step(call, candidate, results, self.seen.known)
                if candidate.via
                else None
            )
        picked = self.fallback_map.pick_all(call, candidate, results)
        return (None if picked is None else ToolResponse(picked, served_by=candidate.tool)), True

    def _call(self, step: Step) -> ToolCall:
        spec = self.tools.get(step.tool)
        return ToolCall(step.tool, step.arguments or {}, spec.effect if spec is not None else Effect.READ)
