"""How one memory works, as one checked value."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from btm.events import Hook, log_actions
from btm.model import BeliefModel, ChoiceEnum, Mode
from btm.planning.context import DEFAULT_BUDGET, Detail, Format
from btm.planning.planner import Settings
from btm.planning.skills import Skills
from btm.runtime.breaker import Breaker
from btm.runtime.naming import NamingModel


class Durability(ChoiceEnum):
    """Which writes are on the disk, as begun, before they run; the others are noted without being waited for."""

    DEFAULT = "default"  # those that the map calls irreversible
    STRICT = "strict"  # all but idempotent ones


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHealth:
    """How a memory and its database stand.

    ``waiting`` events are not in the database yet; those beyond what memory holds are in the file ``journal``.
    ``dropped`` events are lost. ``trouble`` says what is wrong with the database, ``""`` that nothing is.
    ``incidents_left`` were given up because too many of a conversation were open.
    """

    database: str = ""
    waiting: int = 0
    dropped: int = 0
    trouble: str = ""
    journal: str = ""
    incidents_left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOptions:
    """How a memory works. Each option is described at :meth:`btm.ToolMemory.open`, which makes and checks this."""

    mode: Mode = Mode.ADVISE
    beliefs: BeliefModel = BeliefModel.POOLED
    settings: Settings = field(default_factory=Settings)
    explore: random.Random | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random | None = None
    budget_tokens: int = DEFAULT_BUDGET
    form: Format = Format.TAGGED
    detail: Detail = Detail.SHORT
    durability: Durability = Durability.DEFAULT
    store_arguments: bool = False
    learn_shapes: bool = False
    hooks: tuple[Hook, ...] = (log_actions,)
    name_unknown: NamingModel | None = None
    breaker: Breaker | None = field(default_factory=Breaker)
    skills: Skills | None = None
