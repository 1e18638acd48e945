"""What happens to one call, from before it is made until the agent gets its answer.

:class:`Recovery` is a generator that asks for calls and waits and decides everything in between, so that functions
that return and functions that must be awaited share every line of it (see :mod:`btm.driving`). By mode it

* learns from the call (every mode),
* hands over a recovery context when it failed (advise),
* refuses it when an enforced policy forbids it (guard),
* retries, verifies, repairs and switches by itself, where the map fills every argument (act).

A failure in btm's own parts never reaches the agent: the tool's answer passes as it came, with one warning logged.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from btm.context import Format, call_text, render
from btm.crosscheck import Check, SecondSources
from btm.driving import Handled, Invoke, Move, Reply, Request, Steps, Wait
from btm.failsafe import carefully, safely
from btm.fallback import Candidate, FallbackMap
from btm.ledger import Ledger, Lesson
from btm.model import SUCCESS, Action, Effect, ErrorKind, Incident, Mode, Outcome, ToolCall
from btm.offers import options_for
from btm.plan import Level, RecoveryContext, RecoveryPlan, Step
from btm.planner import Planner

MAX_MOVES = 12
"""Calls that btm makes on its own for one call of the agent, at most."""

_Answer = tuple[Lesson, Reply]


@dataclass(frozen=True)
class Recovery:
    """Handles calls under one memory's ledger, map, planner and mode. ``jitter`` spreads the waits of act mode."""

    ledger: Ledger
    fallback_map: FallbackMap
    planner: Planner
    mode: Mode
    budget: int
    form: Format
    jitter: random.Random
    available: Collection[str] | None = None

    # -- the agent's call -------------------------------------------------------------------------------------------

    def handle(self, call: ToolCall) -> Steps:
        """Handle one call of the agent."""
        if self.mode.guards:
            refused = safely(self._refusal, call)
            if refused is not None:
                return refused
        if self.mode.acts:
            incident = yield from carefully(
                "cross-check", self._contradiction(safely(self._sources.before, call)), None
            )
            if incident is not None:
                return self._held(call, incident)
        lesson, reply = yield from self._make(call)
        trail = (Move(None, call, lesson.outcome),)
        handled = Handled(call, lesson.outcome, reply.result, reply.error, call.tool, trail=trail)
        incident = lesson.incident
        if self.mode.acts and lesson.outcome.ok and incident is None:
            return (yield from carefully("cross-check", self._confirmed(handled), handled))
        if incident is None or not self.mode.advises:
            return handled
        if lesson.outcome.ok:  # the agent checked a write, and what to do about that write is still open
            return replace(handled, context=safely(self._latest_context, incident, _about(incident)))
        remarks: tuple[tuple[str, str], ...] = ()
        if self.mode.acts:
            behind = safely(self._sources.behind, call, lesson.outcome)
            wrong = yield from carefully("cross-check", self._contradiction(behind), None)
            if wrong is None:
                handled = yield from carefully("recovery", self._recover(handled, incident), handled)
            else:
                incident, remarks = wrong, (_about(wrong), ("failed with it", _again(call)))
        if handled.outcome.ok:
            return handled
        return replace(handled, context=safely(self._latest_context, incident, *remarks))

    def _make(self, call: ToolCall) -> Generator[Request, Reply | None, _Answer]:
        """Make one call and learn from it."""
        begun = safely(self.ledger.begin, call)
        reply = (yield Invoke(call)) or Reply()
        lesson = safely(self.ledger.finish, begun, reply) if begun is not None else None
        return lesson or _unlearned(call, reply), reply

    def plan_for(self, incident: Incident) -> RecoveryPlan:
        """Return the plan for an incident as things stand."""
        options = options_for(
            incident,
            self.fallback_map,
            self.ledger.known(incident.conversation),
            available=self.available,
            health=self.ledger.health(incident.tool),
        )
        return self.planner.plan(incident, options, self.ledger.belief)

    def _latest_context(self, incident: Incident, *remarks: tuple[str, str]) -> RecoveryContext | None:
        """Return the context for an incident as it stands now, after whatever was tried."""
        latest = self.ledger.incident(incident.conversation, incident.incident_id)
        if latest is None:
            return None
        return render(self.plan_for(latest), budget=self.budget, form=self.form, remarks=remarks)

    # -- guard ------------------------------------------------------------------------------------------------------

    def _refusal(self, call: ToolCall) -> Handled | None:
        """Refuse a call that would answer a failed one in a way that an enforced policy forbids."""
        found = self.ledger.would_answer(call)
        if found is None:
            return None
        incident, action = found
        plan = self.plan_for(incident)
        verdict = plan.forbidden.get(action)
        if verdict is None or verdict.level is not Level.ENFORCE:
            return None
        context = render(plan, budget=self.budget, form=self.form, remarks=[("not run", call_text(call))])
        return Handled(call, incident.outcome, context=context, refused=True)

    # -- second sources ---------------------------------------------------------------------------------------------

    def _contradiction(self, checks: list[Check] | None) -> Generator[Request, Reply | None, Incident | None]:
        """Ask second sources until one contradicts a read; return the incident that opens on that read."""
        for check in checks or ():
            lesson, reply = yield from self._make(check.other)
            incident = safely(self._sources.contradiction, check, reply.result) if lesson.outcome.ok else None
            if incident is not None:
                return incident
        return None

    def _confirmed(self, handled: Handled) -> Generator[Request, Reply | None, Handled]:
        """Check the answer of a tool that was wrong before in this conversation, and replace it if it is wrong again."""
        wrong = yield from self._contradiction(self._sources.of(handled.call))
        if wrong is None:
            return handled
        mended = yield from self._recover(replace(handled, outcome=wrong.outcome), wrong)
        return mended if mended.outcome.ok else replace(mended, context=self._latest_context(wrong))

    @cached_property
    def _sources(self) -> SecondSources:
        return SecondSources(self.ledger, self.fallback_map, self.planner.policies, self.available)

    def _held(self, call: ToolCall, incident: Incident) -> Handled:
        """Hold a call back: it rests on a read that a second source contradicts."""
        context = safely(self._latest_context, incident, _about(incident), ("not run", _again(call)))
        return Handled(call, incident.outcome, context=context, refused=True)

    # -- act --------------------------------------------------------------------------------------------------------

    def _recover(self, handled: Handled, incident: Incident) -> Generator[Request, Reply | None, Handled]:
        """Carry out plans until the incident is resolved or nothing is left that btm can do by itself."""
        moves = _Moves(handled.call, list(handled.trail))
        current: Incident | None = incident
        while current is not None and moves.count < MAX_MOVES:
            plan = safely(self.plan_for, current)
            step = self._own_step(plan, current, moves) if plan is not None else None
            if step is None:
                break
            answer = yield from self._carry_out(step, current, moves)
            if answer is not None:
                return replace(
                    handled, outcome=moves.trail[-1].outcome, trail=tuple(moves.trail), error=None, **answer
                )
            current = safely(self.ledger.incident, handled.call.conversation, incident.incident_id)
        return replace(handled, trail=tuple(moves.trail))

    def _own_step(self, plan: RecoveryPlan, incident: Incident, moves: _Moves) -> Step | None:
        """Return the next step that btm can take by itself, unless the agent's own judgement comes before it.

        A substitute that gives only a part is taken last: the agent cannot be asked whether the part is enough.
        """
        possible: list[Step] = []
        for step in plan.steps:
            if step.action in (Action.REVISE, Action.ESCALATE, Action.ABANDON):
                break
            feasible = not step.missing and step.wait_s <= self.planner.settings.longest_wait_s
            if feasible and step.target not in moves.given_up and self._harmless(step, incident):
                possible.append(step)
        return next((step for step in possible if step.value >= 1.0), possible[0] if possible else None)

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
        earlier = step.offer.via[:-1] if step.offer is not None else ()
        return all(self.fallback_map.effect(tool) is Effect.READ for tool in earlier)

    def _carry_out(
        self, step: Step, incident: Incident, moves: _Moves
    ) -> Generator[Request, Reply | None, dict[str, Any] | None]:
        """Take one step; return the answer for the agent if that was it."""
        match step.action:
            case Action.RETRY:
                return (yield from self._retry(Action.RETRY, step, incident, moves))
            case Action.REPAIR:
                lesson, _ = yield from self._move(
                    Action.REPAIR, moves.call_of(step, self.fallback_map), moves
                )
                return (
                    (yield from self._retry(Action.REPAIR, step, incident, moves))
                    if lesson.outcome.ok
                    else None
                )
            case Action.VERIFY:
                return (yield from self._verify(step, incident, moves))
            case _:
                return (yield from self._switch(step, incident, moves))

    def _retry(
        self, action: Action, step: Step, incident: Incident, moves: _Moves
    ) -> Generator[Request, Reply | None, dict[str, Any] | None]:
        waited = 0.0
        if step.wait_s > 0:
            # Half fixed, half random, so that many agents do not come back at once; never before Retry-After.
            spread = 1.0 if incident.outcome.retry_after_s is not None else 0.5
            waited = step.wait_s * (spread + 0.5 * self.jitter.random())
            yield Wait(waited)
        lesson, reply = yield from self._move(action, moves.again(incident.call), moves, waited)
        return {"result": reply.result, "served_by": incident.tool} if lesson.outcome.ok else None

    def _verify(
        self, step: Step, incident: Incident, moves: _Moves
    ) -> Generator[Request, Reply | None, dict[str, Any] | None]:
        lesson, reply = yield from self._move(Action.VERIFY, moves.call_of(step, self.fallback_map), moves)
        happened = lesson.outcome.ok and self.fallback_map.done(incident.call, reply.result)
        return {"result": reply.result, "served_by": step.tool} if happened else None

    def _switch(
        self, step: Step, incident: Incident, moves: _Moves
    ) -> Generator[Request, Reply | None, dict[str, Any] | None]:
        """Call a substitute, or the calls in a row that make one up, and read the wanted part out of the result."""
        offer: Candidate | None = step.offer
        if offer is None:
            return None
        results: list[Any] = []
        following: Candidate | None = offer
        while following is not None:
            if not following.complete:
                moves.given_up.add(step.target)
                return None
            call = moves.new(following.tool, following.arguments, self.fallback_map)
            lesson, reply = yield from self._move(Action.SWITCH, call, moves)
            if not lesson.outcome.ok:
                return None
            results.append(reply.result)
            known = self.ledger.known(incident.conversation)
            following = self.fallback_map.next_step(incident.call, offer, results, known)
        picked = self.fallback_map.pick_all(incident.call, offer, results)
        result = results[-1] if picked is None else picked
        return {"result": result, "served_by": offer.via[-1] if offer.via else offer.tool}

    def _move(
        self, action: Action, call: ToolCall, moves: _Moves, waited: float = 0.0
    ) -> Generator[Request, Reply | None, _Answer]:
        lesson, reply = yield from self._make(call)
        moves.trail.append(Move(action, call, lesson.outcome, waited))
        return lesson, reply


@dataclass
class _Moves:
    """The calls that btm made for one call of the agent, and the names of the next ones."""

    origin: ToolCall
    trail: list[Move]
    given_up: set[str] = field(
        default_factory=set
    )  # substitutes that turned out to lack an argument on the way

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


def _about(incident: Incident) -> tuple[str, str]:
    """Return the line of a context that is about another call than the one the agent just made."""
    return "about", call_text(incident.call)


def _again(call: ToolCall) -> str:
    return f"{call_text(call)}; make it again from what that shows"


def _unlearned(call: ToolCall, reply: Reply) -> Lesson:
    """Return what stands for a lesson when btm itself failed: nothing is known but that the tool raised, or did not."""
    if reply.error is None:
        return Lesson(SUCCESS)
    unsure = call.effect is Effect.WRITE
    return Lesson(Outcome(ErrorKind.UNKNOWN, ambiguous=unsure, confidence=0.0, rule="unclassified"))
