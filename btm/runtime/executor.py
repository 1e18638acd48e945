"""What act mode does about a failed call by itself: plans are carried out one step at a time, until one gives an answer.

Only steps whose every argument the map could fill are taken, and none before which the agent's own judgement comes.
Whatever the policies say, a write is never repeated while it may have happened.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from btm.events import ActionName, ActionTaken, Hooks
from btm.fallback import FallbackMap, Step
from btm.learning.tracker import Learned
from btm.model import LAST_RESORTS, Action, Effect, Incident, Outcome, ToolCall
from btm.planning.plan import RecoveryPlan
from btm.runtime.drivers import Handled, Move, Reply, Request, Wait, what_was_done
from btm.runtime.ledger import Ledger
from btm.support.failsafe import safely
from btm.support.function_arguments import used_up

MAX_MOVES = 12
"""Calls that btm makes on its own for one call of the agent, at most."""

_TAKEN: Mapping[Action, ActionName] = {
    Action.RETRY: "retry",
    Action.REPAIR: "repair",
    Action.VERIFY: "verify",
    Action.SWITCH: "switch",
}

Answer = tuple[Learned, Reply]


@dataclass(frozen=True, slots=True)
class _Served:
    """An answer for the agent, the tool it came from, what it lacks, and how good it is."""

    result: Any
    by: str
    outcome: Outcome
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Acting:
    """Carries out plans. ``make`` makes a call and learns from it; ``jitter`` spreads the waits."""

    ledger: Ledger
    fallback_map: FallbackMap
    plan_for: Callable[[Incident], RecoveryPlan]
    make: Callable[[ToolCall], Generator[Request, Reply | None, Answer]]
    longest_wait_s: float
    jitter: random.Random
    hooks: Hooks

    def recover(self, handled: Handled, incident: Incident) -> Generator[Request, Reply | None, Handled]:
        """Carry out plans until the incident is resolved or nothing is left that btm can do by itself."""
        moves = _Moves(handled.call, list(handled.trail))
        answer = yield from self._ways(incident, moves)
        if answer is None or not (answer.outcome.ok or handled.error is not None):
            return replace(handled, trail=tuple(moves.trail))
        return _served(handled, answer, moves)

    def _ways(
        self, incident: Incident, moves: _Moves, parents: tuple[str, ...] = ()
    ) -> Generator[Request, Reply | None, _Served | None]:
        """Take steps about an incident until one gives an answer; return it, or else the best half of one.

        ``parents`` are the incidents for whose sake this one is answered: a read that was to show what a write did, and
        was down, has ways round it like any other.
        """
        half: _Served | None = None
        current: Incident | None = incident
        while current is not None and moves.count < MAX_MOVES:
            plan = safely(self.plan_for, current)
            step = self._own_step(plan, current, moves) if plan is not None else None
            if step is None:
                break
            answer = yield from self._carry_out(step, current, moves, (*parents, incident.incident_id))
            if answer is not None and answer.outcome.ok:
                return answer
            # Half an answer is better than none: it is what the agent gets, with a warning, if nothing comes of the rest.
            half = half or answer
            current = safely(self.ledger.incident, incident.conversation, incident.incident_id)
        return half

    def _instead(
        self, learned: Learned, moves: _Moves, parents: tuple[str, ...]
    ) -> Generator[Request, Reply | None, _Served | None]:
        """Return what ways round a call that btm made for itself give, now that it failed."""
        failed = learned.incident
        if failed is None or failed.incident_id in parents:
            return None
        answer = yield from self._ways(failed, moves, parents)
        return answer if answer is not None and answer.outcome.ok else None

    def _own_step(self, plan: RecoveryPlan, incident: Incident, moves: _Moves) -> Step | None:
        """Return the next step that btm can take by itself, unless the agent's own judgement comes before it.

        A substitute that gives only a part is taken last: the agent cannot be asked whether the part is enough.
        """
        possible: list[Step] = []
        for step in plan.steps:
            if step.action is Action.REVISE or step.action in LAST_RESORTS:
                break
            if step.above is not None or (step.target and step.target in plan.only_skills):
                continue  # another call's to answer, and that call was the agent's; or known from cards alone
            feasible = not step.missing and step.wait_s <= self.longest_wait_s
            # What a failed call read of an iterator, nothing can read again.
            again = incident.call if step.action in (Action.RETRY, Action.REPAIR) else None
            feasible = feasible and not used_up(again.arguments if again else step.arguments or {})
            if feasible and step.target not in moves.given_up and self._harmless(step, incident):
                possible.append(step)
        return next((step for step in possible if step.coverage >= 1.0), possible[0] if possible else None)

    def _harmless(self, step: Step, incident: Incident) -> bool:
        """Whether a step cannot do a second time what was done before, whatever the policies say.

        While a write is in doubt only a look is: its own repeat too if it is declared idempotent, and nothing else has
        been tried in its place. A row of calls that changes something before its last call could end half done.
        """
        if step.action is Action.VERIFY:
            return True
        if incident.uncertain_write:
            replaced = any(attempt.key.action is Action.SWITCH for attempt in incident.attempts)
            again = step.action in (Action.RETRY, Action.REPAIR)
            return again and not replaced and self.fallback_map.idempotent(incident.tool)
        if not all(self.fallback_map.effect(tool) is Effect.READ for tool in step.via[:-1]):
            return False
        # What a substitute may have done for an earlier call, or in another process, it must not do again.
        if step.action is not Action.SWITCH or self.fallback_map.effect(step.tool) is Effect.READ:
            return True
        stand_in = ToolCall(step.tool, step.arguments or {}, Effect.WRITE, incident.conversation)
        return not self.ledger.writes.may_have_happened(stand_in)

    def _carry_out(
        self, step: Step, incident: Incident, moves: _Moves, parents: tuple[str, ...]
    ) -> Generator[Request, Reply | None, _Served | None]:
        """Take one step; return the answer for the agent if that was it."""
        match step.action:
            case Action.RETRY:
                return (yield from self._retry(Action.RETRY, step, incident, moves))
            case Action.REPAIR:
                learned, _ = yield from self._move(
                    Action.REPAIR, moves.call_of(step, self.fallback_map), moves
                )
                repaired = (
                    learned.outcome.ok or (yield from self._instead(learned, moves, parents)) is not None
                )
                return (yield from self._retry(Action.REPAIR, step, incident, moves)) if repaired else None
            case Action.VERIFY:
                return (yield from self._verify(step, incident, moves, parents))
            case _:
                return (yield from self._switch(step, incident, moves))

    def _retry(
        self, action: Action, step: Step, incident: Incident, moves: _Moves
    ) -> Generator[Request, Reply | None, _Served | None]:
        waited = 0.0
        if step.wait_s > 0:
            # Half fixed, half random, so that many agents do not come back at once; never before Retry-After.
            spread = 1.0 if incident.outcome.retry_after_s is not None else 0.5
            waited = step.wait_s * (spread + 0.5 * self.jitter.random())
            self.hooks.tell(ActionTaken("wait", moves.origin, incident.call, waited_s=waited))
            yield Wait(waited)
        learned, reply = yield from self._move(action, moves.again(incident.call), moves, waited)
        answered = learned.outcome.ok or (learned.outcome.silent and reply.error is None)
        return _Served(reply.result, incident.tool, learned.outcome) if answered else None

    def _verify(
        self, step: Step, incident: Incident, moves: _Moves, parents: tuple[str, ...]
    ) -> Generator[Request, Reply | None, _Served | None]:
        if step.wait_s > 0:  # it has been looked for, and is under way
            self.hooks.tell(ActionTaken("wait", moves.origin, incident.call, waited_s=step.wait_s))
            yield Wait(step.wait_s)
        learned, reply = yield from self._move(Action.VERIFY, moves.call_of(step, self.fallback_map), moves)
        shown: _Served | None = _Served(reply.result, step.tool, learned.outcome)
        if not learned.outcome.ok:
            shown = yield from self._instead(learned, moves, parents)
            if shown is None:
                moves.given_up.add(step.target)  # its own plan had nothing left: not even to ask once more
        if shown is None or not self.fallback_map.done(incident.call, shown.result):
            return None
        return replace(shown, result=self.fallback_map.confirmation(incident.call, shown.result))

    def _switch(
        self, step: Step, incident: Incident, moves: _Moves
    ) -> Generator[Request, Reply | None, _Served | None]:
        """Call a substitute, or the calls in a row that make one up, and read the wanted part out of the result."""
        results: list[Any] = []
        following: Step | None = step
        while following is not None:
            if not following.complete:
                moves.given_up.add(step.target)
                return None
            call = moves.call_of(following, self.fallback_map)
            learned, reply = yield from self._move(Action.SWITCH, call, moves)
            if not learned.outcome.ok:
                return None
            results.append(reply.result)
            known = self.ledger.known(incident.conversation)
            following = self.fallback_map.next_step(incident.call, step, results, known)
        by = step.via[-1] if step.via else step.tool
        answer = self.fallback_map.answer(incident.call, step, results)
        if not answer.ok and self.fallback_map.effect(by) is Effect.READ:
            moves.no_answer(answer.problem)
            return None
        # What a write answers is its receipt, in whatever form: it has been done.
        value = answer.value if answer.ok else results[-1]
        return _Served(value, by, learned.outcome, step.lacks)

    def _move(
        self, action: Action, call: ToolCall, moves: _Moves, waited: float = 0.0
    ) -> Generator[Request, Reply | None, Answer]:
        self.hooks.deliver()
        learned, reply = yield from self.make(call)
        moves.trail.append(Move(action, call, learned.outcome, waited))
        # After a repair the call itself is made once more.
        again = action is Action.REPAIR and call.tool == moves.origin.tool
        taken = "retry" if again else _TAKEN[action]
        self.hooks.tell(ActionTaken(taken, moves.origin, call, learned.outcome, waited), first=True)
        return learned, reply


def _served(handled: Handled, answer: _Served, moves: _Moves) -> Handled:
    return replace(
        handled,
        outcome=answer.outcome,
        result=answer.result,
        error=None,
        served_by=answer.by,
        lacks=answer.lacks,
        trail=tuple(moves.trail),
        done=what_was_done(moves.trail, answer.lacks),
    )


@dataclass
class _Moves:
    """The calls that btm made for one call of the agent, and the names of the next ones."""

    origin: ToolCall
    trail: list[Move]
    # Substitutes that turned out to lack an argument on the way, and verifying reads that nothing gets going.
    given_up: set[str] = field(default_factory=set)

    def no_answer(self, problem: str) -> None:
        """Note that what the latest move gave does not answer the agent's call."""
        self.trail[-1] = replace(self.trail[-1], problem=problem)

    @property
    def count(self) -> int:
        return len(self.trail) - 1

    def again(self, call: ToolCall) -> ToolCall:
        return replace(call, call_id=self._next_id(), at=0.0)

    def call_of(self, step: Step, fallback_map: FallbackMap) -> ToolCall:
        return self.new(step.tool, step.arguments or {}, fallback_map)

    def new(self, tool: str, arguments: Any, fallback_map: FallbackMap) -> ToolCall:
        effect = fallback_map.effect(tool) or Effect.WRITE
        return ToolCall(tool, arguments, effect, self.origin.conversation, self._next_id())

    def _next_id(self) -> str:
        return f"{self.origin.call_id}~{len(self.trail)}"
