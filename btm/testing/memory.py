"""A memory for tests: in this process only, the same in every run."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path

from btm.events import Hook
from btm.fallback import FallbackMap
from btm.memory import ToolMemory
from btm.model import Mode
from btm.planning.policy import Policies
from btm.testing.clock import ManualClock


def in_memory(
    *,
    fallback_map: str | Path | FallbackMap | None = None,
    policies: str | Path | Policies = "default",
    mode: Mode | str = Mode.ADVISE,
    clock: ManualClock | None = None,
    hooks: Iterable[Hook] | None = None,
) -> ToolMemory:
    """Open a memory without a file that waits by ``clock`` (default: a new one) and never forgets.

    For other options use :meth:`btm.ToolMemory.open` with ``path=None``. Raises what that raises.
    """
    clock = clock or ManualClock()
    return ToolMemory.open(
        None,
        fallback_map=fallback_map,
        policies=policies,
        mode=mode,
        half_life_s=math.inf,
        hash_key=b"for tests",
        clock=clock,
        sleep=clock.sleep,
        asleep=clock.asleep,
        rng=random.Random(0),  # noqa: S311 - spreads waits and names runs
        hooks=hooks,
    )
