"""An agent's helper that knows the map and the faults: what recovery could reach at most.

It tells a fault from a good answer because it asks the injector, not because it is clever. So what it cannot solve
is not solvable with this map, and what it solves is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.lab.agent import ToolResponse
from btm.lab.environment import ToolSpec
from btm.lab.faults.injector import Injector, Invoke
from btm.model import Effect, ErrorKind, ToolCall
from btm.runtime.known_values import Facts

PATIENCE = 12
"""How many identical calls the oracle is ready to make; a call that would need more is blocked for it."""


@dataclass
class Oracle:
    """The call function of an agent that is helped as well as can be, for one episode.

    Calls go through ``invoke``; ``injector`` is asked what they would meet. ``given`` is what the user said. A call
    that goes through at a repeat is repeated; a write that happened although it failed is looked up, not repeated;
    a call that stays blocked is replaced by the first substitute that goes through; where none does, the agent is
    told to ask a human.
    """

    invoke: Invoke
    injector: Injector
    fallback_map: FallbackMap
    tools: Mapping[str, ToolSpec]
    given: Mapping[str, Any] = field(default_factory=dict)
    seen: Facts = field(default_factory=Facts)

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        """Run a call, by whatever way there is."""
        call = ToolCall(tool, arguments, self.tools[tool].effect)
        kind = self._blocked(tool, arguments)
        if kind is None:
            cheaper = self._cheaper(call)
            if cheaper is not None:
                return cheaper
            done, value = self._through(call)
            if done:
                self.seen.note(tool, arguments, value)
            return ToolResponse(value if done else str(value), is_error=not done)
        for candidate in self.fallback_map.candidates(call, kind, self.known):
            found, answer = self.instead(call, candidate)
            if found:
                self.seen.note(tool, arguments, answer)
                return ToolResponse(answer, served_by=candidate.tool)
        human = "".join(f"next: escalate with {name}" for name in self.fallback_map.escalations()[:1])
        return ToolResponse(
            f"{tool} is blocked, and so is every way round it", is_error=True, advice=human or None
        )

    def _cheaper(self, call: ToolCall) -> ToolResponse | None:
        """Return what a substitute gives that costs less than to repeat a read until it goes through."""
        failing = self.injector.foresee(call.tool, call.arguments, 1)[0]
        if failing is None or call.effect is Effect.WRITE:
            return None
        offers = self.fallback_map.candidates(call, failing.kind, self.known)
        whole = [one for one in offers if one.complete and not one.via and not one.lacks]
        best = min(whole, key=lambda one: self._price(one.tool, one.arguments), default=None)
        if best is None or self._price(best.tool, best.arguments) >= self._price(call.tool, call.arguments):
            return None
        found, answer = self.instead(call, best)
        if not found:
            return None
        self.seen.note(call.tool, call.arguments, answer)
        return ToolResponse(answer, served_by=best.tool)

    def _price(self, tool: str, arguments: Mapping[str, Any] | None) -> float:
        """Return what it costs to repeat a call until it goes through."""
        ahead = self.injector.foresee(tool, arguments or {}, PATIENCE)
        return (ahead.index(None) + 1) * self.fallback_map.cost(tool) if None in ahead else math.inf

    def _blocked(self, tool: str, arguments: Mapping[str, Any]) -> ErrorKind | None:
        """Return the kind of fault that a call would go on to meet, or None when it goes through in time."""
        ahead = self.injector.foresee(tool, arguments, PATIENCE)
        last = ahead[-1]
        return last.kind if last is not None and all(ahead) else None

    def _through(self, call: ToolCall) -> tuple[bool, Any]:
        """Repeat a call until no fault meets it; (False, the error) when it does not go through."""
        error: object = None
        for _ in range(PATIENCE):
            try:
                value = self.invoke(call.tool, call.arguments)
            except Exception as raised:  # noqa: BLE001 - an injected error or a tool's own: the record tells which
                error = raised
                if self.injector.calls[-1].fault is None:
                    return False, error
            else:
                if self.injector.calls[-1].fault is None:
                    return True, value
            if self.injector.calls[-1].happened and call.effect is Effect.WRITE:
                return self._look(call)
        return False, error

    def _look(self, write: ToolCall) -> tuple[bool, Any]:
        """Read what a write did whose answer was lost."""
        check = self.fallback_map.verifier(write, self.known)
        if check is None or check.missing:
            return False, "the answer of a write was lost, and the map names no read that shows what it did"
        read = ToolCall(check.tool, check.arguments or {})
        kind = self._blocked(check.tool, check.arguments or {})
        if kind is None:
            return self._through(read)
        others = self.fallback_map.candidates(read, kind, self.known)
        answers = (self.instead(read, candidate) for candidate in others)
        return next((answer for answer in answers if answer[0]), (False, "nothing shows what the write did"))

    def instead(self, call: ToolCall, candidate: Step) -> tuple[bool, Any]:
        """Have a substitute answer for a call; whether it did, and with what."""
        results: list[Any] = []
        step: Step | None = candidate
        while step is not None:
            if step.missing:
                return False, None
            if self._blocked(step.tool, step.arguments or {}) is not None:
                return False, None
            done, value = self._through(
                ToolCall(step.tool, step.arguments or {}, self.tools[step.tool].effect)
            )
            if not done:
                return False, None
            results.append(value)
            step = (
                self.fallback_map.next_step(call, candidate, results, self.known) if candidate.via else None
            )
        picked = self.fallback_map.pick_all(call, candidate, results)
        return picked is not None, picked

    @property
    def known(self) -> Mapping[str, Any]:
        """What was said and seen, by field name."""
        return {**self.given, **self.seen.known}
