"""The scenarios, and what each of them promises.

* ``clean``: nothing fails.
* ``retry_works``: calls fail in ways that pass (timeouts, rate limits, server errors, garbled answers; other kinds where
  they are asked for), at most ``max_consecutive`` times in a row; at least one call that the task hangs on does. A write
  may have happened.
* ``switch_needed``: a tool that the task hangs on is blocked for good, with any kind of fault that keeps the agent
  alone from doing it and can be found out (a wrong value, by being acted on). A substitute can be called in this
  situation, and stays whole.
* ``impossible``: such a tool, and every way round it that the map knows, is blocked for good, with an exception; where
  silent kinds are asked for, each answers in that way, wrong in the fields that the task needs.
* ``mixed``: each task drawn into one of the three. In a heterogeneous world nothing has to be drawn: calls meet any of the
  nine faults, which pass or not as the tool's character has it, and its substitutes are as reliable as they are.
* ``noisy``: every call, also of a substitute, meets one of the nine faults at the same rate, harmless ones included, with
  no promise that the task can be solved. It shows what btm costs where it is wrong: what bare solves and it loses.
* ``outage``: a service is down for everyone, in the profile of that name (:mod:`btm.lab.outage`).

Whoever knows the map and the faults solves every task of ``retry_works`` and ``switch_needed`` and none of
``impossible`` (``btm.lab.oracle`` does, and a test holds that over seeds). A task for which a scenario cannot
be made, such as one without a substitute on its path, is left out of it, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from btm.errors import EvaluationError
from btm.fallback import FallbackMap, Step
from btm.fallback.checking import steps_of
from btm.lab.decisive import decisive_tools, try_alone
from btm.lab.environment import Environment, ScriptStep, Task
from btm.lab.faults.corrupt import harms
from btm.lab.faults.draw import Draw
from btm.lab.faults.injector import Injector
from btm.lab.faults.kinds import MAY_FOLLOW_THE_EFFECT, RAISED, REPEAT_HEALS, RETURNED
from btm.lab.faults.plan import Fault, FaultPlan, NoFaults, RandomFaults, Site
from btm.lab.faults.settings import EQUAL_WEIGHTS, FaultSettings
from btm.lab.faults.shape import Shapes
from btm.lab.jsonvalue import field_name
from btm.lab.looking import shows_all
from btm.lab.oracle import Oracle
from btm.lab.own_agent import OwnAgent
from btm.lab.plans import BlockedTools, HealingFaults, SiteName, name_of
from btm.lab.replay import Replay, replay
from btm.lab.shapes import shapes_of
from btm.lab.world import World
from btm.model import ErrorKind


class Scenario(StrEnum):
    """What kind of trouble an episode meets."""

    CLEAN = "clean"
    RETRY_WORKS = "retry_works"
    SWITCH_NEEDED = "switch_needed"
    IMPOSSIBLE = "impossible"
    MIXED = "mixed"
    NOISY = "noisy"
    OUTAGE = "outage"


TROUBLED = (Scenario.RETRY_WORKS, Scenario.SWITCH_NEEDED, Scenario.IMPOSSIBLE)
"""The three that ``mixed`` draws from."""


@dataclass(frozen=True)
class Setup:
    """One episode, ready to be run by any arm: a task and the faults that wait for it.

    ``kinds`` are the faults on the task's path; ``drawn`` is the scenario that ``mixed`` chose, else ``scenario``.
    ``allowance`` is what the episode may cost beyond what it costs the arm when nothing fails. ``shapes`` stand for the
    stage's where faults are to strike elsewhere. ``noise`` names what users and tools do besides.
    """

    scenario: Scenario
    drawn: Scenario
    task: Task
    plan: FaultPlan
    kinds: frozenset[ErrorKind] = frozenset()
    blocked: frozenset[str] = frozenset()
    allowance: float = math.inf
    shapes: Shapes | None = None
    noise: str = ""


@dataclass
class Stage:
    """Sets up episodes of one domain under one seed. Keeps what it found out about a task, since that is slow.

    In a world, the faults that wait for a task bound what an episode may cost. ``name`` tells episodes of one task
    apart; ``agent`` takes the scripted agent's place.
    """

    environment: Environment
    fallback_map: FallbackMap
    settings: FaultSettings = field(default_factory=FaultSettings)
    world: World | None = None
    name: str = ""
    agent: OwnAgent | None = None

    def __post_init__(self) -> None:
        self.shapes = shapes_of(self.environment, self.fallback_map)
        self._replays: dict[str, Replay] = {}
        self._decisive: dict[str, tuple[str, ...]] = {}

    def set_up(self, scenario: Scenario, task: Task) -> Setup | None:
        """Return the episode of a task in a scenario, or None when it cannot be made."""
        setup = self._set_up(scenario, task)
        if setup is None or self.world is None:
            return setup
        sites = {name_of(site): site for site in map(_site, task.steps)}
        faults = sum(setup.plan.fault(site) is not None for site in sites.values())
        return replace(setup, allowance=faults * self.world.allowance(task.task_id))

    def _set_up(self, scenario: Scenario, task: Task) -> Setup | None:
        match scenario:
            case Scenario.CLEAN:
                return Setup(scenario, scenario, task, NoFaults())
            case Scenario.RETRY_WORKS:
                return self._retry_works(task)
            case Scenario.SWITCH_NEEDED:
                return self._switch_needed(task)
            case Scenario.IMPOSSIBLE:
                return self._impossible(task)
            case Scenario.NOISY:
                return self._noisy(task)
            case Scenario.OUTAGE:
                raise EvaluationError(
                    "an outage goes over many episodes: it is a profile, not a scenario of one"
                )
            case Scenario.MIXED if self.world is not None:
                setup = self._healing(task, self.settings.weights)
                return setup and replace(setup, scenario=scenario, drawn=scenario)
            case Scenario.MIXED:
                made = [s for s in (self.set_up(kind, task) for kind in TROUBLED) if s is not None]
                if not made:
                    return None
                return replace(self._draw(task, "mixed").pick(made), scenario=scenario)

    def _draw(self, task: Task, *words: object) -> Draw:
        return Draw((self.settings.seed, task.task_id, *words))

    def replay(self, task: Task) -> Replay:
        """Return the clean run of a task."""
        if task.task_id not in self._replays:
            self._replays[task.task_id] = replay(self.environment, self.fallback_map, task)
        return self._replays[task.task_id]

    def decisive(self, task: Task) -> tuple[str, ...]:
        """Return the tools that a task hangs on and that can fail."""
        if task.task_id not in self._decisive:
            spared = self.shapes.exempt | self.shapes.repairs
            tools = decisive_tools(self.environment, task)
            self._decisive[task.task_id] = tuple(tool for tool in tools if tool not in spared)
        return self._decisive[task.task_id]

    # -- retry works

    def _retry_works(self, task: Task) -> Setup | None:
        weights = self.settings.weights
        # Who asks for others means that they pass: one odd 401, one stale answer.
        if weights == EQUAL_WEIGHTS:
            weights = {k: w for k, w in weights.items() if k in REPEAT_HEALS}
        return self._healing(task, weights)

    def _healing(self, task: Task, weights: Mapping[ErrorKind, float]) -> Setup | None:
        """Set up faults of these kinds that a repeat heals, sooner or later or never."""
        if not any(weights.values()):
            return None
        replayed = self.replay(task)
        sites = {name_of(site): site for site in map(_site, task.steps)}
        checkable = frozenset(name_of(_site(task.steps[n])) for n in replayed.checkable)
        script = frozenset(step.tool for step in task.steps)
        plan = HealingFaults(
            replace(self.settings, weights=weights),
            task.task_id,
            self.shapes,
            checkable=checkable,
            script=script,
            world=self.world,
        )
        decisive = {n: s for n, s in sites.items() if s.tool in self.decisive(task)}
        if not any(plan.fault(site) for site in decisive.values()):
            forced = plan.lowest(decisive)
            if forced is None:
                return None
            plan = replace(plan, forced=forced)
        met = (plan.fault(site) for site in sites.values())
        return Setup(Scenario.RETRY_WORKS, Scenario.RETRY_WORKS, task, plan, _kinds(met))

    # -- noisy

    def _noisy(self, task: Task) -> Setup:
        """Any of the nine faults on any call, substitutes too, whether or not they do harm: nothing is promised."""
        shapes = self.shapes.unseen() if self.settings.unseen else self.shapes
        plan = RandomFaults(self.settings, task.task_id, shapes)
        met = (plan.fault(_site(step)) for step in task.steps)
        return Setup(Scenario.NOISY, Scenario.NOISY, task, plan, _kinds(met), shapes=shapes)

    # -- switch needed

    def _switch_needed(self, task: Task) -> Setup | None:
        options = {
            (tool, kind): weight
            for tool in self.decisive(task)
            for kind, weight in self.blocks(task, tool).items()
        }
        draw = self._draw(task, "switch_needed")
        while options:
            # A tool first, then a kind: tools with few kinds are blocked as often as others.
            tool = draw.pick(list(dict.fromkeys(name for name, _ in options)), "tool", len(options))
            kinds = {kind: weight for (name, kind), weight in options.items() if name == tool}
            kind = draw.weighted(kinds, "kind", len(options))
            setup = self._blocked(Scenario.SWITCH_NEEDED, task, frozenset({tool}), kind)
            if kind not in RETURNED or kind is ErrorKind.MALFORMED or self.matters(setup, kind):
                return setup
            del options[tool, kind]
        return None

    def matters(self, setup: Setup, kind: ErrorKind) -> bool:
        """Whether a silent fault keeps the agent alone from doing its task, and leaves something to notice.

        A wrong value looks right; it shows when it is acted on. Where it only makes the agent stop there is
        nothing to look at, and no reason to look.
        """
        trial = try_alone(self.environment, self.shapes, setup.task, setup.plan)
        return not trial.unharmed and (trial.acted or kind is not ErrorKind.FACTUAL_ERROR)

    def blocks(self, task: Task, tool: str) -> Mapping[ErrorKind, float]:
        """Return the kinds, with their weights, with which a tool can be blocked so that a switch saves the task."""
        return {
            kind: weight
            for kind, weight in self.settings.weights.items()
            if weight > 0 and self._hurts(task, tool, kind) and self.can_switch(task, tool, kind)
        }

    def _hurts(self, task: Task, tool: str, kind: ErrorKind) -> bool:
        """Whether a fault of this kind keeps the task from being done, and can be found out."""
        shape = self.shapes.of(tool)
        steps = [n for n, step in enumerate(task.steps) if step.tool == tool]
        if shape.writes and kind in MAY_FOLLOW_THE_EFFECT:
            # A blocked write leaves open whether it happened; where that cannot be checked, switching is forbidden.
            return all(n in self.replay(task).checkable for n in steps)
        if kind not in RETURNED or kind is ErrorKind.MALFORMED:
            return kind in shape.kinds
        used = [{place.path: place.value for place in task.used(n)} for n in steps]
        return any(harms(kind, shape, places) for places in used)

    def can_switch(self, task: Task, tool: str, kind: ErrorKind) -> bool:
        """Whether each call of a tool on the script has a substitute that can be called and gives what is needed."""
        replayed = self.replay(task)
        return all(
            any(
                self._serves(task, number, candidate)
                for candidate in self.fallback_map.candidates(
                    replayed.calls[number], kind, replayed.known[number]
                )
            )
            for number, step in enumerate(task.steps)
            if step.tool == tool
        )

    def _serves(self, task: Task, number: int, candidate: Step) -> bool:
        if not candidate.complete or task.steps[number].tool in (candidate.tool, *candidate.via):
            return False
        needed = {field_name(place.path) for place in task.used(number)}
        if needed & set(candidate.lacks):
            return False
        return candidate.coverage == 1 or self._gives(task, number, candidate)

    def _gives(self, task: Task, number: int, candidate: Step) -> bool:
        """Try a substitute that serves some calls only: whether it shows, at this point, what this step showed."""
        session, call = self.environment.open(task), self.replay(task).calls[number]
        through = Injector(session.call, NoFaults())
        tries = Oracle(
            through, through, self.fallback_map, self.environment.tools, self.replay(task).known[number]
        )
        for step in task.steps[:number]:
            session.call(step.tool, step.arguments)
        found, answer = tries.instead(call, candidate)
        return found and shows_all(answer, call.arguments, task.used(number))

    def blocked(self, task: Task, tool: str, kind: ErrorKind) -> Setup | None:
        """Return the episode of a task in which one tool is blocked for good, None where it does not hang on that tool."""
        if tool not in self.decisive(task) or kind not in self.shapes.of(tool).kinds:
            return None
        return self._blocked(Scenario.SWITCH_NEEDED, task, frozenset({tool}), kind)

    # -- impossible

    def _impossible(self, task: Task) -> Setup | None:
        weights = self.settings.weights
        # As above: who asks for silent kinds means that every way answers, and none of them rightly.
        silent = weights != EQUAL_WEIGHTS
        kinds = {k: w for k, w in weights.items() if w > 0 and (silent or k in RAISED)}
        tools, draw = list(self.decisive(task)), self._draw(task, "impossible")
        while tools and kinds:
            tool = draw.pick(
                tools, *(("tool",) if len(tools) == len(self.decisive(task)) else ("tool", len(tools)))
            )
            setup = self._no_way(task, tool, draw.weighted(kinds, "kind"))
            if setup is not None:
                return setup
            tools.remove(tool)
        return None

    def _no_way(self, task: Task, tool: str, kind: ErrorKind) -> Setup | None:
        """Return the episode in which a tool and every way round it are blocked; None where the agent gets by."""
        setup = self._blocked(Scenario.IMPOSSIBLE, task, self.ways_round(tool), kind)
        if kind in RAISED:
            return setup
        return setup if self._hurts(task, tool, kind) and self.matters(setup, kind) else None

    def ways_round(self, tool: str) -> frozenset[str]:
        """Return a tool and every tool that can stand in for it, or for one of those."""
        found, left = {tool}, [tool]
        while left:
            for edge in _edges(self.fallback_map, left.pop()):
                left += [name for name in edge if name not in found]
                found.update(edge)
        return frozenset(found) - self.shapes.exempt - self.shapes.repairs

    def _blocked(self, scenario: Scenario, task: Task, tools: frozenset[str], kind: ErrorKind) -> Setup:
        used: dict[SiteName, tuple[Any, ...]] = {}
        for number, step in enumerate(task.steps):
            if step.tool in tools:
                name = name_of(_site(step))
                used[name] = (*used.get(name, ()), *(place.path for place in task.used(number)))
        fields = frozenset(field_name(path) for paths in used.values() for path in paths)
        plan = BlockedTools(
            tools,
            kind,
            self.settings.seed,
            task.task_id,
            self.shapes,
            used,
            script=frozenset(step.tool for step in task.steps),
            world=self.world,
            fields=fields,
        )
        return Setup(scenario, scenario, task, plan, frozenset({kind}), tools)


def _kinds(met: Iterable[Fault | None]) -> frozenset[ErrorKind]:
    return frozenset(fault.kind for fault in met if fault is not None and fault.kind is not None)


def _site(step: ScriptStep) -> Site:
    return Site.of(step.tool, step.arguments)


def _edges(fallback_map: FallbackMap, tool: str) -> list[frozenset[str]]:
    entry = fallback_map.tools.get(tool)
    return [frozenset(step.tool for step in steps_of(edge)) for edge in entry.fallbacks] if entry else []
