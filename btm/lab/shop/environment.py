"""The shop as an evaluation environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from btm.lab.environment import Clock, Task, ToolSpec, simulated_clock
from btm.lab.shop.tasks import build_tasks
from btm.lab.shop.tools import TOOLS, ShopSession


class ShopEnvironment:
    """The built-in shop: 11 reads, 6 writes, a repair and an escalation tool, 42 tasks. Nothing is left out."""

    domain = "shop"
    fallback_map = "shop"
    left_out: Mapping[str, str] = MappingProxyType({})

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        return TOOLS

    @property
    def tasks(self) -> Sequence[Task]:
        return build_tasks()

    def open(self, task: Task, clock: Clock = simulated_clock) -> ShopSession:  # noqa: ARG002 - all tasks start alike
        return ShopSession(clock)
