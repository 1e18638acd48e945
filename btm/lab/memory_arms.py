"""The arms with btm. One memory lives through all episodes of an arm: it learns, and that is the point."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from btm.fallback import FallbackMap
from btm.lab.agent import Call, ToolResponse
from btm.lab.arms import error_text
from btm.lab.database import new_database
from btm.lab.desk import Desk
from btm.lab.faults.clock import START, VirtualClock
from btm.lab.faults.draw import Draw
from btm.lab.story import Story
from btm.memory import ToolMemory
from btm.model import BeliefModel, Mode, ToolCall
from btm.planning.policy import Policies
from btm.runtime.drivers import Handled
from btm.runtime.options import MemoryOptions
from btm.store import EvidenceRow
from btm.store.sql import SqlStore

_HASH_KEY = bytes(16)
"""An evaluation's database keeps nothing of value; a fixed key lets two runs be compared row by row."""

_MODES: Mapping[str, Mode] = {
    "btm": Mode.ACT,
    "btm:observe": Mode.OBSERVE,
    "btm:advise": Mode.ADVISE,
    "btm:guard": Mode.GUARD,
    "btm:act": Mode.ACT,
    "btm:rules-only": Mode.ACT,
    "btm:flat": Mode.ACT,
    "btm:shuffled": Mode.ACT,
}
_BELIEFS: Mapping[str, BeliefModel] = {"btm:rules-only": BeliefModel.NONE, "btm:flat": BeliefModel.FLAT}


def memory_arm(
    name: str, fallback_map: FallbackMap, seed: int, database: str | Path | None = None
) -> MemoryArm:
    """Return the arm of a name. ``database`` is written anew.

    Raises EvaluationError when a file is there that no evaluation wrote.
    """
    made = ShuffledArm if name == "btm:shuffled" else MemoryArm
    return made(name, fallback_map, seed, database)


class MemoryArm:
    """The scripted agent with a ToolMemory around its tools.

    ``stories`` are the calls that did not go through at once, in order. The memory never forgets: simulated
    episodes lie a day apart.
    """

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
        return SqlStore(path, half_life_s=math.inf, now=START, hash_key=_HASH_KEY)

    def _remember(self, store: SqlStore) -> ToolMemory:
        return ToolMemory(
            store,
            fallback_map=self._map,
            policies=self._policies,
            options=MemoryOptions(
                mode=_MODES[self.name],
                beliefs=_BELIEFS.get(self.name, BeliefModel.POOLED),
                clock=self._time,
                sleep=self._sleep,
                rng=random.Random(self._seed),  # noqa: S311 - spreads simulated waits
            ),
        )

    # One memory, many episodes: it is handed the clock of whichever is on.

    def _time(self) -> float:
        return self._clock.time()

    def _sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

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

    def done(self, desk: Desk) -> None:
        """End the conversation: what was left open teaches nothing."""
        self.memory.end(desk.conversation)

    def _start_from(self, rows: Sequence[EvidenceRow], desk: Desk) -> None:
        """Forget everything, and know these rows instead."""
        self.memory.close()
        self._clock = desk.clock
        self._store = self._new_store()
        self._store.add_learned(rows)
        self.memory = self._remember(self._store)

    def evidence(self) -> tuple[EvidenceRow, ...]:
        """Return what was learned so far, as sums per key."""
        self.memory.flush()
        return tuple(self._store.evidence())

    def close(self) -> None:
        """Write what is left, and let go of the database."""
        self.memory.close()


class ShuffledArm(MemoryArm):
    """The control for learned numbers: before each episode they are dealt out to other keys.

    The memory holds as much evidence as it would have, only about the wrong things.
    """

    def calls(self, desk: Desk) -> Call:
        """Return the tools with a memory around them whose numbers are shuffled."""
        self._start_from(shuffled(self.evidence(), _deal(self._seed, desk)), desk)
        return super().calls(desk)


class FrozenArm(MemoryArm):
    """A memory that starts every episode from the same evidence, learned elsewhere: it stays as it was.

    As ``btm:shuffled`` it gets that evidence dealt out to other keys, anew for every episode.
    """

    def __init__(
        self, name: str, fallback_map: FallbackMap, seed: int, learned: Sequence[EvidenceRow]
    ) -> None:
        super().__init__(name, fallback_map, seed)
        self._learned = learned

    def calls(self, desk: Desk) -> Call:
        """Return the tools with the memory as it was learned around them."""
        rows = self._learned
        if self.name == "btm:shuffled":
            rows = shuffled(rows, _deal(self._seed, desk))
        self._start_from(rows, desk)
        return super().calls(desk)


def _deal(seed: int, desk: Desk) -> Draw:
    return Draw((seed, "shuffled", desk.conversation))


def shuffled(rows: Sequence[EvidenceRow], draw: Draw) -> tuple[EvidenceRow, ...]:
    """Deal the counters of evidence out to other keys: the same keys and the same counters, matched at random."""
    rows = sorted(rows)
    order = sorted(range(len(rows)), key=draw.unit)
    return tuple(
        (key, rows[other][1], rows[other][2]) for (key, _, _), other in zip(rows, order, strict=True)
    )


def observed(handled: Handled) -> ToolResponse:
    """Return what the agent gets to see of a handled call."""
    advice = handled.context.text if handled.context is not None else None
    if handled.refused:
        return ToolResponse("The call was not made.", is_error=True, advice=advice)
    if handled.error is not None:
        return ToolResponse(error_text(handled.error), is_error=True, advice=advice)
    return ToolResponse(handled.result, advice=advice, served_by=handled.served_by)
