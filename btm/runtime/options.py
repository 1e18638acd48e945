"""How one memory works, as one checked value."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from btm.events import Hook, log_actions
from btm.model import BeliefModel, Mode
from btm.planning.context import DEFAULT_BUDGET, Format
from btm.planning.planner import Settings
from btm.runtime.breaker import Breaker


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
    store_arguments: bool = False
    learn_shapes: bool = False
    hooks: tuple[Hook, ...] = (log_actions,)
    breaker: Breaker | None = field(default_factory=Breaker)
