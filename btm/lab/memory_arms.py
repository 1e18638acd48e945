"""The arms with btm. One memory lives through all episodes of an arm: it learns, and that is the point."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from btm.fallback import FallbackMap
from btm.lab.agent import Call, ToolResponse
from btm.lab.database import new_database
from btm.lab.desk import Desk, error_text
from btm.lab.faults.clock import START, VirtualClock
from btm.lab.faults.draw import Draw
from btm.lab.story import Story
from btm.memory import ToolMemory
from btm.model import BeliefModel, EvidenceKey, Mode, ToolCall
from btm.planning.closing import in_result
from btm.planning.plan import Skills
from btm.planning.policy import Policies
from btm.runtime.breaker import Breaker
from btm.runtime.drivers import Handled
from btm.runtime.evidence import BeliefFunction
from btm.runtime.options import MemoryOptions
from btm.store import EvidenceRow, Store
from btm.store.hash_key import keep_in_file
from btm.store.sql import SqlStore

HASH_KEY = bytes(16)
"""An evaluation's database keeps nothing of value; a fixed key lets two runs be compared row by row."""

_MODES: Mapping[str, Mode] = {
    "btm": Mode.ACT,
    "btm:observe": Mode.OBSERVE,
    "btm:advise": Mode.ADVISE,
    "btm:guard": Mode.GUARD,
    "btm:act": Mode.ACT,
}
_BELIEFS: Mapping[str, BeliefModel] = {
    "btm:priors-only": BeliefModel.NONE,
    "btm:rules-only": BeliefModel.NONE,
    "btm:flat": BeliefModel.FLAT,
}

_HASTE = 0.2

_DEALT_WITHIN: Mapping[str, Callable[[EvidenceKey], tuple[object, ...]]] = {
    "btm:shuffled": lambda key: (key.action, key.ordinal),
    "btm:shuffled-kind": lambda key: (key.kind, key.action, key.ordinal),
}
"""What keys have in common between which a shuffled arm deals out counters: all that is left wrong is the rest."""


def memory_arm(
    name: str, fallback_map: FallbackMap, seed: int, database: str | Path | None = None
) -> MemoryArm:
    """Return the arm of a name. ``database`` is written anew.

    Raises EvaluationError when a file is there that no evaluation wrote.
    """
    made = ShuffledArm if name in _DEALT_WITHIN else HalfHeeding if "@" in name else MemoryArm
    return made(name, fallback_map, seed, database)


class MemoryArm:
    """The scripted agent with a ToolMemory around its tools.

    ``stories`` are the calls that did not go through at once, in order. The memory never forgets: simulated
    episodes lie a day apart.
    """

    trials = 1
    _believe: BeliefFunction | None = None
    skills: Skills | None = None

    def __init__(
        self, name: str, fallback_map: FallbackMap, seed: int, database: str | Path | None = None
    ) -> None:
        self.name = name
        self._map, self._seed = fallback_map, seed
        self._policies = Policies.load("default")
        self._clock = VirtualClock(START)
        self._numbers = itertools.count(1)
        self.database = new_database(database) if database is not None else None
        self._store = self._new_store(self.database)
        self.memory = self._remember(self._store)
        self.stories: list[Story] = []

    def _new_store(self, path: Path | None = None) -> SqlStore:
        if path is not None:
            keep_in_file(str(path), HASH_KEY)  # whoever opens it later knows its calls again
        return SqlStore(path, half_life_s=math.inf, now=START, hash_key=HASH_KEY)

    def _remember(self, store: Store) -> ToolMemory:
        return ToolMemory(
            store,
            fallback_map=self._map,
            policies=self._policies,
            options=MemoryOptions(
                mode=_MODES.get(self.name.partition("@")[0], Mode.ACT),
                beliefs=_BELIEFS.get(self.name, BeliefModel.POOLED),
                clock=lambda: self._clock.time(),  # noqa: PLW0108 - the clock is another in each episode
                sleep=lambda seconds: self._clock.sleep(seconds),  # noqa: PLW0108
                rng=random.Random(self._seed),  # noqa: S311 - spreads simulated waits
                skills=self.skills,
                breaker=None if self.name == "btm:no-breaker" else Breaker(),
                hooks=(),
            ),
            believe=self._believe,
        )

    def calls(self, desk: Desk) -> Call:
        """Return the tools with the memory around them."""
        self._clock = desk.clock
        self._numbers = itertools.count(1)
        tools = desk.environment.tools

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            made = ToolCall(
                tool,
                dict(arguments),
                tools[tool].effect,
                conversation=desk.conversation,
                call_id=f"c{next(self._numbers)}",
                at=desk.clock.time(),
                intent=desk.setup.task.request,
            )
            handled = self.memory.call(made, desk.call, available=tools.keys())
            if len(handled.trail) > 1 or not handled.outcome.ok:
                setup = desk.setup
                self.stories.append(Story(setup.scenario, setup.task.task_id, setup.task.request, handled))
            return observed(handled)

        return call

    def reflect(self, desk: Desk) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's argument
        """Nothing is noted: the memory learns as it goes."""
        return ()

    def notices(self, desk: Desk) -> str:
        """Return what the memory says before the agent's turn."""
        return "\n".join(self.memory.notices(desk.conversation, available=desk.environment.tools.keys()))

    def done(self, desk: Desk) -> None:
        """End the conversation: what was left open teaches nothing."""
        self.memory.end(desk.conversation)

    def evidence(self) -> tuple[EvidenceRow, ...]:
        """Return what was learned so far, as sums per key."""
        self.memory.flush()
        return tuple(self._store.evidence())

    def close(self) -> None:
        """Write what is left, and close the database."""
        self.memory.close()


class HalfHeeding(MemoryArm):
    """Advice to a simulated model with stated behaviour: it heeds a context with some chance, else it never saw it.

    ``hasty`` heeds all, but at one failure in five hands the task over instead. Draws go by seed, conversation and call.
    """

    def calls(self, desk: Desk) -> Call:
        """Return the tools with the memory around them, and some of what it says left out."""
        through, share = super().calls(desk), self.name.partition("@")[2]
        draw, numbers = Draw((self._seed, "heeds", desk.conversation)), itertools.count()
        human = next(iter(self._map.escalations()), None)

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            said = through(tool, arguments)
            unit = draw.unit(next(numbers))
            if said.advice is None:
                return said
            if share == "hasty":
                give_up = human is not None and said.is_error and unit < _HASTE
                return replace(said, advice=f"next: escalate with {human}") if give_up else said
            return said if unit < float(share) else replace(said, advice=None)

        return call

    def notices(self, desk: Desk) -> str:
        """Return what the memory says before the agent's turn, to a model that heeds."""
        share = self.name.partition("@")[2]
        heard = share == "hasty" or Draw((self._seed, "notices", desk.conversation)).unit() < float(share)
        return super().notices(desk) if heard else ""


class ShuffledArm(MemoryArm):
    """The control for learned numbers: before each episode they are dealt out to other keys.

    The memory holds as much evidence as it would have, only about the wrong things.
    """

    def calls(self, desk: Desk) -> Call:
        """Return the tools with a memory around them whose numbers are shuffled."""
        rows = dealt(self.name, self.evidence(), self._seed, desk)
        self.memory.close()
        self._clock = desk.clock
        self._store = self._new_store()
        self._store.add_learned(rows)
        self.memory = self._remember(self._store)
        return super().calls(desk)


def dealt(name: str, rows: Sequence[EvidenceRow], seed: int, desk: Desk) -> tuple[EvidenceRow, ...]:
    """Return the evidence that an arm of this name decides by."""
    if name not in _DEALT_WITHIN:
        return tuple(rows)
    return shuffled(rows, Draw((seed, "shuffled", desk.conversation)), _DEALT_WITHIN[name])


def shuffled(
    rows: Sequence[EvidenceRow],
    draw: Draw,
    within: Callable[[EvidenceKey], tuple[object, ...]] = lambda _: (),
) -> tuple[EvidenceRow, ...]:
    """Deal the counters of evidence out to other keys, between those alike in what ``within`` says of them.

    The same keys and the same counters, matched at random.
    """
    groups: dict[tuple[object, ...], list[EvidenceRow]] = {}
    for row in sorted(rows):
        groups.setdefault(within(row[0]), []).append(row)
    dealt: list[EvidenceRow] = []
    for name, group in groups.items():
        order = sorted(range(len(group)), key=lambda n: draw.unit(*map(str, name), n))
        dealt += [
            (key, group[other][1], group[other][2]) for (key, _, _), other in zip(group, order, strict=True)
        ]
    return tuple(dealt)


def observed(handled: Handled) -> ToolResponse:
    """Return what the agent gets to see of a handled call."""
    advice = in_result(handled.context) or None
    if handled.refused:
        return ToolResponse("The call was not made.", is_error=True, advice=advice)
    if handled.error is not None:
        return ToolResponse(error_text(handled.error), is_error=True, advice=advice)
    return ToolResponse(handled.result, advice=advice, served_by=handled.served_by)
