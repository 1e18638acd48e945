"""The shop as an evaluation environment: its tasks are what each user says, and the recipe that solves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from btm.lab.environment import Clock, Task, ToolSpec, simulated_clock
from btm.lab.jsonvalue import Path
from btm.lab.script import bind
from btm.lab.shop.data import fresh
from btm.lab.shop.recipes import Recipe, Recipes
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


@cache
def build_tasks() -> tuple[Task, ...]:
    """Return every task with its script bound to what a clean session shows."""
    rows = yaml.safe_load((files("btm.lab.shop") / "tasks.yaml").read_text("utf-8"))
    return tuple(_build(f"shop-{number:02d}", *row) for number, row in enumerate(rows, start=1))


def _build(task_id: str, user_id: str, by: str, solve: str, given: Sequence[Any], request: str) -> Task:
    recipes = Recipes(fresh(), user_id, by)
    recipe: Recipe = getattr(recipes, solve)(*given)
    facts = {**recipes.facts, **recipe.facts}
    told = (*facts.values(), *recipe.said)

    def said(path: Path, value: object) -> bool:  # noqa: ARG001 - what was said may go anywhere
        return value in told

    session = ShopSession()
    bound = bind(recipe.calls, session, said, {name: spec.effect for name, spec in TOOLS.items()})
    answers = tuple(bound.answer(place) for place in recipe.asks)
    changes = tuple(write.change for write in session.writes)
    return Task(task_id, request, facts, bound.steps, session.digest(), answers, changes)
