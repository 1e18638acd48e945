"""What happens to one call, from before it is made until the agent gets its answer.

:class:`Recovery` is a generator that asks for calls and waits and decides everything in between, so that functions
that return and functions that must be awaited share every line of it (see :mod:`btm.runtime.drivers`). By mode it

* learns from the call (every mode),
* hands over a recovery context when it failed (advise),
* refuses it when an enforced policy forbids it (guard),
* retries, verifies, repairs and switches by itself, where the map fills every argument (act).

A failure in btm's own parts never reaches the agent: the tool's answer passes as it came, with one warning logged.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

from btm.errors import RefusedCallError
from btm.events import ActionTaken, Hooks
from btm.fallback import FallbackMap, Step
from btm.learning.tracker import Learned
from btm.model import SUCCESS, Action, Effect, ErrorKind, Incident, Mode, Outcome, ToolCall
from btm.planning.context import ContextWriter
from btm.planning.instructions import call_text
from btm.planning.plan import UNCHECKED, Level, Options, RecoveryContext, RecoveryPlan, Skills, options_for
from btm.planning.planner import Planner
from btm.runtime.breaker import Down
from btm.runtime.conditions import ToolEffects
from btm.runtime.cross_check import Check, SecondSources
from btm.runtime.drivers import NOT_MADE, ComesAgain, Handled, Move, Reply, Request, Steps, Wait
from btm.runtime.executor import Acting, Answer
from btm.runtime.ledger import Ledger
from btm.runtime.notices import check_lines, check_text, doubt_lines, down_lines, down_text
from btm.support.failsafe import carefully, safely
from btm.support.untrusted import tool_name

REFUSAL_S = 600.0
"""Seconds after the latest failure for which a repeat is refused. A write in doubt stays refused until it is checked."""

_TWICE = (
    "warning",
    "this call worked, and an earlier one for the same may have gone through too: it may now have been done twice. "
    "Check, and tell the user.",
)


@dataclass(frozen=True)
class Recovery:
    """Handles calls under one memory's ledger, map, planner and mode. ``jitter`` spreads the waits of act mode."""

    ledger: Ledger
    fallback_map: FallbackMap
    planner: Planner
    mode: Mode
    writer: ContextWriter
    jitter: random.Random
    hooks: Hooks
    effects: ToolEffects
    available: Collection[str] | None = None
    skills: Skills | None = None

    # -- the agent's call -------------------------------------------------------------------------------------------

    def handle(self, call: ToolCall, print_: str = "") -> Steps:
        """Handle one call of the agent; ``print_`` is its fingerprint, where that is known."""
        forbidden: RecoveryPlan | None = None
        if self.mode.advises:
            if call.tool in self.fallback_map.idempotency_keys:
                keyed = safely(self.ledger.writes.with_key, call)
                if keyed is not None and keyed is not call:
                    call, print_ = keyed, ""
            if call.effect is Effect.WRITE:
                safely(self.ledger.writes.take_up, call, print_)
            again = safely(self.ledger.would_answer, call)
            forbidden = safely(self._forbidden, *again) if again is not None else None
            if self.mode.guards:
                stopped = yield from self._stopped(call, forbidden)
                if stopped is not None:
                    return stopped
                again = safely(self.ledger.would_answer, call)  # what was asked meanwhile may have settled it
            wait = (safely(self._early_by, *again) or 0.0) if again is not None else 0.0
            if 0.0 < wait <= self.planner.settings.wait_up_to_s:
                yield Wait(wait, needed=False)
            under_way = safely(self._under_way, call, print_) if self.mode.guards else None
            if under_way is not None:
                return under_way
        learned, reply = yield from self._make(call, print_)
        outcome = learned.outcome
        trail = (Move(None, call, outcome),)
        handled = Handled(call, outcome, reply.result, reply.error, call.tool, trail=trail)
        if not self.mode.advises:
            return handled
        self.ledger.conversations.answered(call, outcome)
        if outcome.kind is None:
            return (yield from self._answered(handled, learned.incident, forbidden))
        return handled if learned.incident is None else (yield from self._failed(handled, learned.incident))

    def _stopped(
        self, call: ToolCall, forbidden: RecoveryPlan | None
    ) -> Generator[Request, Reply | None, Handled | None]:
        """Return what the agent gets, in guard mode, for a call that is not made: it is forbidden, or rests on an error."""
        if forbidden is not None:
            refused = safely(self._refused, call, forbidden)
            if refused is not None:
                return refused
        down = safely(self.ledger.conditions.down, call)
        instead = yield from carefully("breaker", self._instead(call, down), None)
        if instead is not None:
            return instead
        checks = safely(self._sources.before, call)
        if not self.mode.acts:
            return safely(self._unchecked, call, checks) if checks else None
        incident = yield from carefully("cross-check", self._contradiction(checks, call), None)
        return None if incident is None else self._held(call, incident)

    def _under_way(self, call: ToolCall, print_: str) -> Handled | None:
        """Refuse a write that another thread or process is making at this moment, or that has been done under its id."""
        incident = self.ledger.writes.standing(call, print_)
        if incident is None:
            return None
        why = _DONE if incident.happened else _RUNNING
        context = self._context(incident, why, ("not run", call_text(call)))
        return Handled(call, incident.outcome, context=context, refused=True)

    def _answered(
        self, handled: Handled, incident: Incident | None, forbidden: RecoveryPlan | None
    ) -> Generator[Request, Reply | None, Handled]:
        """Return a good answer, with a context where something is left to do about another call."""
        if forbidden is not None and forbidden.outcome.ambiguous:
            return replace(handled, context=safely(self.writer.write, forbidden, [_TWICE]))
        wrong = safely(self._contradicted_by, handled) if self.fallback_map.has_cross_checks else None
        if wrong is not None:
            return replace(handled, context=safely(self._latest_context, wrong, _about(wrong)))
        if incident is not None:  # it checked a write, or stood in for a call, and that is still open
            return replace(handled, context=safely(self._latest_context, incident, _about(incident)))
        look = (
            safely(self._look_after, handled.call)
            if handled.call.tool in self.fallback_map.looked_after
            else None
        )
        if look is not None:
            return (yield from carefully("verify", self._looked_after(handled, look), handled))
        if self.mode.acts and self.fallback_map.has_cross_checks:
            return (yield from carefully("cross-check", self._confirmed(handled), handled))
        return handled

    def _look_after(self, call: ToolCall) -> Step | None:
        """Return the read that the map wants after a write that answered well, if it can be made."""
        step = self.fallback_map.look_after(call, self.ledger.known(call.conversation))
        there = self.available is None or (step is not None and step.tool in self.available)
        return step if step is not None and step.complete and there else None

    def _looked_after(self, handled: Handled, look: Step) -> Generator[Request, Reply | None, Handled]:
        """Look whether a write that answered well was done, or have the agent look; do it again where it was not."""
        call = handled.call
        if not self.mode.acts:
            plan = RecoveryPlan("", call, handled.outcome, (look,))
            return replace(handled, context=safely(self.writer.write, plan, []))
        for repeats in (2, 1, 0):  # then a service that says yes and does nothing is left to the agent
            name = f"{call.call_id}~verify{repeats}"
            read = ToolCall(look.tool, look.arguments or {}, Effect.READ, call.conversation, name)
            learned, _ = yield from self._make(read)
            self.hooks.tell(ActionTaken("verify", call, read, learned.outcome))
            wrong = learned.incident if learned.outcome.ok else None
            if wrong is None:
                return handled
            mine = wrong.tool == call.tool
            handled = replace(handled, outcome=wrong.outcome) if mine else handled
            if mine and repeats:
                handled = yield from carefully("recovery", self._acting.recover(handled, wrong), handled)
            if not (mine and handled.outcome.ok):
                return replace(handled, context=safely(self._latest_context, wrong, _about(wrong)))
        return handled

    def _failed(self, handled: Handled, incident: Incident) -> Generator[Request, Reply | None, Handled]:
        """Return what comes of a failure: what act mode made of it, or a context."""
        behind: list[Check] | None = None
        if self.fallback_map.has_cross_checks:
            behind = safely(self._sources.behind, handled.call, handled.outcome)
        if not self.mode.acts:
            checks = (("check", check_text(check)) for check in behind or ())
            return replace(handled, context=safely(self._context, incident, *checks))
        wrong = yield from carefully("cross-check", self._contradiction(behind), None)
        if wrong is not None:
            about = _about(wrong), ("failed with it", _again(handled.call))
            return replace(handled, context=safely(self._latest_context, wrong, *about))
        handled = yield from carefully("recovery", self._acting.recover(handled, incident), handled)
        if handled.outcome.ok:
            return handled
        return replace(handled, context=safely(self._latest_context, incident))

    def _make(self, call: ToolCall, print_: str = "") -> Generator[Request, Reply | None, Answer]:
        """Make one call and learn from it."""
        ticket = safely(self.ledger.begin, call, print_)
        try:
            reply = (yield call) or Reply()
        except (GeneratorExit, ComesAgain) as end:
            safely(self.ledger.writes.interrupted, call, not isinstance(end, ComesAgain))
            raise
        learned = (
            safely(self.ledger.finish, ticket, reply.result, reply.error) if ticket is not None else None
        )
        if learned is None:
            safely(self.ledger.writes.interrupted, call, True)
        return learned or _unlearned(call, reply), reply

    def _make_unless_standing(self, call: ToolCall) -> Generator[Request, Reply | None, Answer]:
        """Make one call of btm's own, unless it is a write that is being made elsewhere."""
        incident = safely(self.ledger.writes.standing, call)
        if incident is None:
            return (yield from self._make(call))
        return Learned(incident.outcome), Reply(error=RefusedCallError(f"{call_text(call)} may be running"))

    def plan_for(self, incident: Incident) -> RecoveryPlan:
        """Return the plan for an incident as things stand: all of it as of one reading of the clock."""
        now = self.ledger.now()
        above = [(other, self._options(other, now)) for other in self._above(incident)]
        return self.planner.plan(
            incident, self._options(incident, now), partial(self.ledger.believed, now=now), above
        )

    def _options(self, incident: Incident, now: float) -> Options:
        tool, conditions = incident.call.tool, self.ledger.conditions
        health, worked_before, healed = conditions.lately(tool, now)
        options = options_for(
            incident,
            self.fallback_map,
            self.ledger.known(incident.conversation),
            available=self.available,
            health=health,
            worked=()
            if self.fallback_map.entry(tool).fallbacks
            else self.ledger.stood_in(tool, incident.kind, now),
            down=partial(conditions.closed_to, now=now) if conditions.any_down else None,
            worked_before=worked_before,
            assumed=self.effects.is_assumed(incident.call),
        )
        if self.skills is None:
            return options
        return self.skills.options(options, incident, now, healed=healed)

    def _above(self, incident: Incident) -> Iterator[Incident]:
        """Give the open incidents that the failed call was to answer, the nearest first."""
        other: Incident | None = incident
        while other is not None and other.parent_id:
            other = self.ledger.incident(incident.conversation, other.parent_id)
            if other is not None:
                yield other

    def _context(self, incident: Incident, *remarks: tuple[str, str]) -> RecoveryContext:
        """Return the context for an incident that nothing was tried about since."""
        return self.writer.write(self.plan_for(incident), remarks)

    def _latest_context(self, incident: Incident, *remarks: tuple[str, str]) -> RecoveryContext | None:
        """Return the context for an incident as it stands now, after whatever was tried."""
        latest = self.ledger.incident(incident.conversation, incident.incident_id)
        return None if latest is None else self._context(latest, *remarks)

    # -- guard ------------------------------------------------------------------------------------------------------

    def _forbidden(self, incident: Incident, action: Action) -> RecoveryPlan | None:
        """Return the plan of the incident that a call would answer in a way that an enforced policy forbids."""
        if not incident.uncertain_write and self.ledger.now() - incident.latest_at > REFUSAL_S:
            return None
        plan = self.plan_for(incident)
        verdict = plan.forbidden.get(action)
        if verdict is not None and verdict.level is Level.ENFORCE:
            return plan
        early = self.mode.guards and action is Action.RETRY and incident.due_at is not None
        wait = self.planner.early_by(incident, self.ledger.now()) if early else 0.0
        return plan if wait > self.planner.settings.wait_up_to_s else None

    def _early_by(self, incident: Incident, action: Action) -> float:
        """Return how many seconds too early a repeat of a failed call is; 0 for any other call."""
        return self.planner.early_by(incident, self.ledger.now()) if action is Action.RETRY else 0.0

    def _refused(self, call: ToolCall, plan: RecoveryPlan) -> Handled:
        context = self.writer.write(plan, [("not run", call_text(call))])
        return Handled(call, plan.outcome, context=context, refused=True)

    # -- what is down -----------------------------------------------------------------------------------------------

    def _instead(self, call: ToolCall, down: Down | None) -> Generator[Request, Reply | None, Handled | None]:
        """Do without a tool that is down for everyone: by its substitute in act mode, else by refusing the call."""
        if down is None:
            return None
        outcome = Outcome(down.kind, detail="not called: it is down for everyone", rule=NOT_MADE)
        incident = self.ledger.conversations.suspect(call, outcome)
        handled = Handled(call, outcome, refused=True, trail=(Move(None, call, outcome),))
        if self.mode.acts:
            handled = yield from self._acting.recover(handled, incident)
            if handled.outcome.ok:
                return replace(handled, refused=False)
        said = down_text(down, call.tool, self.ledger.now())
        return replace(
            handled, context=self._latest_context(incident, ("down", said), ("not run", call_text(call)))
        )

    # -- second sources ---------------------------------------------------------------------------------------------

    def _unchecked(self, call: ToolCall, checks: list[Check]) -> Handled | None:
        """Refuse, once, a call that rests on reads which nobody has confirmed; the agent may check them, or insist."""
        if not self.ledger.reads.ask(call.conversation, [check.read.digest for check in checks]):
            return None
        first = checks[0]
        outcome = Outcome(ErrorKind.PRECONDITION_FAILED, rule=UNCHECKED)
        step = Step(Action.VERIFY, first.other.tool, first.other.arguments)
        plan = RecoveryPlan(first.other.call_id, first.read.call, outcome, (step,))
        more = [("check", check_text(check)) for check in checks[1:]]
        why = f"{tool_name(call.tool)} cannot be undone, and no second source has confirmed what it rests on"
        again = f"{call_text(call)}; make it again after that"
        context = self.writer.write(plan, [*more, ("not run", again), ("why", why)])
        return Handled(call, outcome, context=context, refused=True)

    def _contradicted_by(self, handled: Handled) -> Incident | None:
        """Hold what the agent read against earlier answers that it can confirm."""
        checks = self._sources.made_by(handled.call)
        found = (self._sources.contradiction(check, handled.result) for check in checks)
        return next((incident for incident in found if incident is not None), None)

    def notices(self, conversation: str) -> list[str]:
        """Return what the model should know before its next turn, a line each."""
        lines = doubt_lines(self.ledger, conversation)
        lines += down_lines(self.ledger, self.fallback_map, self.effects, conversation, self.available)
        if self.mode.acts:
            return lines
        return lines + check_lines(self._sources, conversation, self.available)

    def _contradiction(
        self, checks: list[Check] | None, pending: ToolCall | None = None
    ) -> Generator[Request, Reply | None, Incident | None]:
        """Ask second sources until one contradicts a read; return the incident on it. One that fails is not recovered."""
        for check in checks or ():
            learned, reply = yield from self._make(check.other)
            self.hooks.tell(ActionTaken("cross_check", check.read.call, check.other, learned.outcome))
            ok = learned.outcome.ok
            incident = safely(self._sources.contradiction, check, reply.result, pending) if ok else None
            if incident is not None:
                return incident
        return None

    def _confirmed(self, handled: Handled) -> Generator[Request, Reply | None, Handled]:
        """Check the answer of a tool that was wrong before in this conversation, and replace it if it is wrong again."""
        wrong = yield from self._contradiction(self._sources.of(handled.call))
        if wrong is None:
            return handled
        mended = yield from self._acting.recover(replace(handled, outcome=wrong.outcome), wrong)
        return mended if mended.outcome.ok else replace(mended, context=self._latest_context(wrong))

    @cached_property
    def _acting(self) -> Acting:
        wait_s = self.planner.settings.longest_wait_s
        make = self._make_unless_standing
        return Acting(self.ledger, self.fallback_map, self.plan_for, make, wait_s, self.jitter, self.hooks)

    @cached_property
    def _sources(self) -> SecondSources:
        worth = self.planner.settings.value_of_success
        return SecondSources(self.ledger, self.fallback_map, self.planner.policies, worth, self.available)

    def _held(self, call: ToolCall, incident: Incident) -> Handled:
        """Hold a call back: it rests on a read that a second source contradicts."""
        context = safely(self._latest_context, incident, _about(incident), ("not run", _again(call)))
        return Handled(call, incident.outcome, context=context, refused=True)


_RUNNING = ("under way", "the same write was begun and has not ended; wait for its end, or check it")
_DONE = ("done", "this very call was made before, and it worked")


def pass_through(call: ToolCall) -> Steps:
    """Make a call and hand over what the tool gives: what happens while btm is off."""
    reply = (yield call) or Reply()
    outcome = _unlearned(call, reply).outcome
    return Handled(call, outcome, reply.result, reply.error, call.tool, trail=(Move(None, call, outcome),))


def _about(incident: Incident) -> tuple[str, str]:
    """Return the line of a context that is about another call than the one the agent just made."""
    return "about", call_text(incident.call)


def _again(call: ToolCall) -> str:
    return f"{call_text(call)}; make it again from what that shows"


def _unlearned(call: ToolCall, reply: Reply) -> Learned:
    """Return what stands in when btm itself failed: nothing is known but whether the tool raised."""
    if reply.error is None:
        return Learned(SUCCESS)
    unsure = call.effect is Effect.WRITE
    return Learned(Outcome(ErrorKind.UNKNOWN, ambiguous=unsure, confidence=0.0, rule="unclassified"))
