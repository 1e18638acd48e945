"""From an incident, beliefs and rules to a plan. Pure: no clock, store or log, and randomness only when handed in.

Steps that do not depend on each other are best tried in the order of p·v/c: success chance, times the chance v that
what a substitute gives suffices, over cost (the optimal order for sequential tests, e.g. Kadane & Simon, "Optimal
strategies for a class of constrained sequential problems", Annals of Statistics 1977). Repeats do depend on each other:
the second cannot come before the first. A chain of them is worth what its best beginning is, the largest P_k/C_k over k,
where P_k is the chance that one of the next k repeats works and C_k what they cost until one does (the index of a chain of
tests; J. B. Kadane, "Quiz show problems", Journal of Mathematical Analysis and Applications 27, 1969). So a tool that heals
at the second try is not given up at the first.

One rule says when to stop: a step is worth trying while P·v·V exceeds what it costs, where V is what a success is worth
in calls: a hand-over spared. P is taken at the upper end of its 95 % interval, since what is never tried would never be
learned about. Policies forbid or require first; escalating comes when nothing worth trying is left.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from btm.fallback import Step
from btm.learning.judging import NOT_YET
from btm.learning.posterior import BetaPosterior
from btm.model import MAX_ORDINAL, Action, Effect, ErrorKind, EvidenceKey, Incident
from btm.planning.plan import Options, RecoveryPlan, Verdict
from btm.planning.policy import Policies, situation_of

_DAY_S = 86_400.0

MAX_TRIES = 3
"""How often one substitute, repair or verifying read is tried on one incident."""

MAX_REVISIONS = 5
"""How often other arguments are proposed for one incident: a tool that refuses them all is not asked for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What plans weigh with. Costs are in calls; waiting a second costs ``cost_per_second`` calls.

    ``value_of_success`` is V: a hand-over costs a person minutes, so one call in twenty that works pays for the
    rest. Waits double from ``first_wait_s`` up to ``longest_wait_s``; a tool's own Retry-After goes before both.
    A model has no clock: btm itself waits before a retry that comes too early by ``wait_up_to_s`` seconds at most, and
    tells when a later one may be made.
    """

    value_of_success: float = 20.0
    cost_per_second: float = 0.02
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    wait_up_to_s: float = 10.0


Believe = Callable[[Sequence[EvidenceKey]], Mapping[EvidenceKey, BetaPosterior]]
"""What is believed about keys, all as of one time."""

Above = tuple[Incident, Options]
Rank = tuple[bool, float]  # whether a policy requires the step, and what a unit of its cost buys


@dataclass(frozen=True)
class Planner:
    """Makes plans under fixed settings and policies.

    With ``explore`` (a seeded generator) a step's chance is a Thompson draw from its posterior instead of the
    mean; irreversible writes are never explored. ``acting`` says that plans are carried out by btm itself,
    ``refusing`` that calls which an enforced policy forbids are not made.
    """

    policies: Policies
    settings: Settings = field(default_factory=Settings)
    explore: random.Random | None = None
    acting: bool = False
    refusing: bool = False

    def plan(
        self, incident: Incident, options: Options, believe: Believe, above: Sequence[Above] = ()
    ) -> RecoveryPlan:
        """Return what to do about ``incident``.

        ``above`` are the incidents that the failed call was itself to answer, the nearest first. What is left to do
        about them is left to do about this one, too; the tools that failed there are no substitutes here.
        """
        possible = [step for step in _possible(incident, options) if not _failed_above(step, above)]
        weighed = self._weigh(possible, incident, options, believe)
        worth = [step for step in weighed if step.worth_trying]
        if options.arbiter:
            worth = _third_source(incident, options.arbiter, worth)
        left = list(self._left_above(incident, above, believe))
        verdicts = self.policies.judge(
            self._situation(incident, options, [*worth, *(step for step, _ in left)])
        )
        forbidden = _forbidden(verdicts)
        order = _order(verdicts)
        ranked = [(order(step), step) for step in worth if step.action not in forbidden]
        ranked += [(rank, step) for step, rank in left]
        allowed = [step for _, step in sorted(ranked, key=lambda one: one[0], reverse=True)]
        last: tuple[Step, ...] = ()
        another = options.general and any(step.action is Action.REVISE for step in allowed)
        if not another and not any(_is_complete(step) for step in allowed):
            # What is left, if anything, needs an argument that may be unknown: then a human is next.
            last = (replace(_last_resort(incident, options), above=_first_answer(incident, above)),)
            verdicts = tuple(v for v in verdicts if Action.ESCALATE not in v.forbid)
            late = [step for step in weighed if step.not_before is not None and not step.worth_trying]
            late = [s for s in late if s.action not in forbidden and self._pays_but_for_its_wait(s)]
            # Where something can be done later, it is not the end.
            last = (*late, *(step for step in last if not late or step.action is Action.ESCALATE))
        # By identity: steps hold arguments, which need not be comparable.
        kept = {id(step) for step in (*allowed, *last)}
        return RecoveryPlan(
            incident_id=incident.incident_id,
            call=incident.call,
            outcome=incident.outcome,
            steps=(*allowed, *last),
            rejected=tuple(step for step in weighed if id(step) not in kept),
            verdicts=verdicts,
            escalation_tool=options.escalation_tool,
            health=options.health,
            tried=incident.attempts,
            general=options.general,
            assumed=options.assumed,
            acting=self.acting,
            mapped=options.mapped,
            happened=incident.happened,
            skill=_told_skill(allowed, incident, options),
            only_skills=frozenset(skill.target for skill in options.skills if skill.only),
        )

    def _situation(self, incident: Incident, options: Options, worth: Sequence[Step]) -> Mapping[str, Any]:
        untried = tuple(
            step.tool
            for step in worth
            if step.action in (Action.SWITCH, Action.REPAIR)
            and _is_complete(step)
            and not incident.tried(step.action, step.target)
        )
        return situation_of(
            incident.call,
            incident.outcome,
            incident,
            irreversible=options.irreversible,
            idempotent=options.idempotent,
            general=options.general,
            verify_tool=options.verify.tool if options.verify else "",
            escalation_tool=options.escalation_tool,
            untried=untried,
            odd=options.worked_before and _is_odd(incident),
            assumed=options.assumed,
            acting=self.acting,
            refusing=self.refusing,
        )

    def _left_above(
        self, incident: Incident, above: Sequence[Above], believe: Believe
    ) -> Iterator[tuple[Step, Rank]]:
        """Give what is left to do about the incidents above, each step with its place in the order."""
        below = {incident.tool}
        for other, options in above:
            possible = [step for step in _possible(other, options) if step.tool not in below]
            weighed = self._weigh(possible, other, options, believe)
            worth = [replace(step, above=other) for step in weighed if step.worth_trying]
            verdicts = self.policies.judge(self._situation(other, options, worth))
            forbidden = _forbidden(verdicts)
            order = _order(verdicts)
            yield from ((step, order(step)) for step in worth if step.action not in forbidden)
            below.add(other.tool)

    def _weigh(
        self, steps: Sequence[Step], incident: Incident, options: Options, believe: Believe
    ) -> list[Step]:
        """Return steps with the numbers that they are ranked by."""
        tries = [_tries(step, incident) for step in steps]
        believed = believe([key for keys in tries for key in keys])
        return [
            self._weighed(step, incident, options, [(key.ordinal, believed[key]) for key in keys])
            for step, keys in zip(steps, tries, strict=True)
        ]

    def _weighed(
        self, step: Step, incident: Incident, options: Options, tries: Sequence[tuple[int, BetaPosterior]]
    ) -> Step:
        """Return a step with its numbers; ``tries`` are what is believed of the next try and those that could follow it."""
        (ordinal, belief), *later = tries
        skill = options.skill_for(step) if options.skills and ordinal == 1 else None
        if skill is not None:
            belief = skill.added_to(belief)
        chance = belief.mean
        if self.explore is not None and not (options.irreversible or step.irreversible):
            chance = self.explore.betavariate(belief.alpha, belief.beta)
        looks_again = step.action is Action.VERIFY and incident.outcome.rule == NOT_YET and ordinal > 1
        wait_s = self._wait(incident, ordinal) if step.action is Action.RETRY or looks_again else 0.0
        cost = step.cost + wait_s * self.settings.cost_per_second
        chain = [(belief, chance, cost)]
        for number, one in later:
            price = step.cost + self._wait(incident, number) * self.settings.cost_per_second
            chain.append((one, one.mean, price))
        score = best_beginning((likely, price) for _, likely, price in chain) * step.coverage
        worth_trying = score * self.settings.value_of_success > 1.0 or (
            # Thin evidence gets the benefit of the doubt: what is never tried would never be learned about.
            best_beginning((one.high, price) for one, _, price in chain)
            * step.coverage
            * self.settings.value_of_success
            > 1.0
        )
        late = wait_s > self.settings.wait_up_to_s
        return step.weighed(
            belief,
            chance=chance,
            wait_s=wait_s,
            cost=cost,
            score=score,
            worth_trying=worth_trying,
            not_before=incident.failed_at + wait_s if late else None,
        )

    def _pays_but_for_its_wait(self, step: Step) -> bool:
        """Whether a retry would be worth trying if it could be made now: it can be made later that day, and that is told."""
        if step.wait_s > _DAY_S:
            return False
        cost = step.cost - step.wait_s * self.settings.cost_per_second
        gain = step.coverage * self.settings.value_of_success
        return step.chance * gain > cost or (step.belief is not None and step.belief.high * gain > cost)

    def early_by(self, incident: Incident, now: float) -> float:
        """Return how many seconds too early a retry would be that is made now; 0 when it is not."""
        return max(incident.failed_at + self._wait(incident, incident.next_ordinal(Action.RETRY)) - now, 0.0)

    def _wait(self, incident: Incident, ordinal: int) -> float:
        asked = incident.outcome.retry_after_s
        if asked is not None:
            return max(asked, 0.0)
        return min(self.settings.first_wait_s * 2.0 ** (ordinal - 1), self.settings.longest_wait_s)


def each(believe: Callable[[EvidenceKey], BetaPosterior]) -> Believe:
    """Return what is believed about keys, asked one by one."""
    return lambda keys: {key: believe(key) for key in keys}


def best_beginning(tries: Iterable[tuple[float, float]]) -> float:
    """Return the most that a unit of cost buys in the first k of tries that follow each other, over every k.

    Each try has a chance and a cost, and is only made when those before it failed. 0 where there is none.
    """
    best, works, cost, reached = 0.0, 0.0, 0.0, 1.0
    for chance, price in tries:
        works += reached * chance
        cost += reached * price
        reached *= 1.0 - chance
        best = max(best, works / cost)
    return best


def _tries(step: Step, incident: Incident) -> list[EvidenceKey]:
    """Return what the next try of a step is about, and of a repeat those that could follow it."""
    action, target = step.action, step.target
    first = incident.next_ordinal(action, target)
    last = MAX_ORDINAL if action is Action.RETRY else first
    tool, kind = incident.call.tool, incident.kind
    return [EvidenceKey(tool, kind, action, target, number) for number in range(first, last + 1)]


def _third_source(incident: Incident, arbiter: str, worth: Sequence[Step]) -> list[Step]:
    """Return the step that could settle a contradiction of the incident's call, where there is one; else all of them.

    ``arbiter`` is the tool that the map names to confirm answers of the one that said otherwise. Asking
    that one again would tell nothing new, and a part of an answer is none. An arbiter that is like to answer goes first,
    whatever it costs.
    """
    thirds = [
        step
        for step in worth
        if step.action is Action.SWITCH
        and step.tool == arbiter
        and not (step.via or step.missing)
        and step.coverage >= 1.0
        and step.chance > 0.5
        and not incident.tried(Action.SWITCH, step.target)
    ]
    return thirds or [*worth]


def _told_skill(allowed: Sequence[Step], incident: Incident, options: Options) -> str:
    """Return the line of the card that speaks for the plan's first step, until that was tried; "" where none does."""
    first = allowed[0] if allowed and options.skills else None
    if first is None or first.above is not None or incident.tried(first.action, first.target):
        return ""
    skill = options.skill_for(first)
    return skill.text if skill is not None else ""


def _possible(incident: Incident, options: Options) -> Iterator[Step]:
    """Yield every step that could be taken, before anything is weighed or forbidden."""
    call = incident.call
    if incident.uncertain_write and options.verify and _again(incident, options.verify):
        yield options.verify
    if not options.down:
        yield Step(Action.RETRY, call.tool, call.arguments, cost=options.cost)
    if _may_revise(incident, options) and not options.down:
        yield Step(Action.REVISE, call.tool, cost=options.cost)
    for repair in options.repairs if not options.down else ():  # after which the tool itself is called again
        if not incident.tried(Action.REPAIR, repair.target):
            yield repair
    for switch in (*options.switches, *options.hints):
        if _again(incident, switch) and not _no_better(incident, switch):
            yield switch


def _no_better(incident: Incident, switch: Step) -> bool:
    """Whether an answer is there, only not whole, and a substitute lacks something else: unless it has just that."""
    lacking = incident.outcome.silent and incident.kind in (ErrorKind.PARTIAL_DATA, ErrorKind.SCHEMA_DRIFT)
    if not lacking or switch.coverage == 1.0:
        return False
    lacked = incident.outcome.missing
    if not lacked or lacked in switch.lacks:
        return True
    return bool(switch.gives) and lacked not in switch.gives


def _may_revise(incident: Incident, options: Options) -> bool:
    """Whether other arguments are worth proposing. An empty answer is most often true, whatever else is asked."""
    if options.general:
        return True
    at_fault = incident.kind.arguments_at_fault and incident.kind is not ErrorKind.EMPTY_RESULT
    if incident.kind is ErrorKind.UNKNOWN and options.escalation_tool:
        return False  # nobody knows what was wrong: a human who can be asked is better than a guess
    return at_fault and incident.tried(Action.REVISE) < MAX_REVISIONS


def _failed_above(step: Step, above: Sequence[Above]) -> bool:
    """Whether a substitute has failed already in what the failed call was itself to answer."""
    if step.action is not Action.SWITCH:
        return False
    tools = set(step.via) if step.via else {step.tool}
    return any(other.tool in tools or not _again(other, step) for other, _ in above)


def _again(incident: Incident, step: Step) -> bool:
    """Whether another try of a tool on this incident makes sense, as far as its own failures tell."""
    last = incident.last(step.action, step.target) if incident.attempts else None
    if last is None:
        return True
    if last.success and incident.outcome.rule == NOT_YET:  # what is under way shows in time
        return incident.tried(step.action, step.target) < MAX_TRIES
    if last.success:
        # A verifying read answered. Reading again tells more only if something was done since.
        return incident.attempts[-1] is not last
    repeatable = last.failed_as is None or last.failed_as.repeatable
    return repeatable and incident.tried(step.action, step.target) < MAX_TRIES


def _is_odd(incident: Incident) -> bool:
    """Whether a failure that would otherwise end a read's way may be a single one: nobody has tried again yet."""
    odd = incident.kind in (ErrorKind.AUTH_ERROR, ErrorKind.SCHEMA_DRIFT)
    return odd and incident.call.effect is Effect.READ and not incident.tried(Action.RETRY)


def _forbidden(verdicts: Sequence[Verdict]) -> frozenset[Action]:
    return frozenset(action for verdict in verdicts for action in verdict.forbid)


def _order(verdicts: Sequence[Verdict]) -> Callable[[Step], Rank]:
    required = frozenset(v.require for v in verdicts if v.require is not None)
    return lambda step: (step.action in required, step.score)


def _is_complete(step: Step) -> bool:
    """Whether a step can be taken as it stands, with nothing that the agent has to find."""
    return step.action is not Action.REVISE and not step.missing


def _first_answer(incident: Incident, above: Sequence[Above]) -> Incident | None:
    """Return the incident of the call whose answer is gone on with: the agent's own, where it gave one."""
    if not incident.outcome.silent:
        return None
    answered = (other for other, _ in reversed(above) if other.outcome.silent)
    return next((other for other in answered if other.call.effect is Effect.READ), None)


def _last_resort(incident: Incident, options: Options) -> Step:
    """Return what is left when nothing is: a human, or an end. A doubtful answer calls for neither: it is there."""
    an_answer = incident.call.effect is Effect.READ or not options.mapped or incident.outcome.rule == NOT_YET
    suspected = incident.outcome.silent and an_answer
    if options.escalation_tool and not suspected:
        return Step(Action.ESCALATE, options.escalation_tool)
    return Step(Action.ABANDON, "")
