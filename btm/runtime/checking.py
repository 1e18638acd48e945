"""Checks what :meth:`btm.ToolMemory.open` was given, all of it at once, and returns it as one value."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Literal

from btm.events import Hook, log_actions
from btm.fallback import FallbackMap
from btm.model import BeliefModel, Mode
from btm.planning.context import Detail, Format
from btm.planning.planner import Settings
from btm.planning.policy import Policies
from btm.planning.skills import Skills
from btm.runtime.breaker import Breaker
from btm.runtime.naming import NamingModel
from btm.runtime.options import Durability, MemoryOptions
from btm.store import meta
from btm.support.options import OptionChecks

FLAG = "True or False"
GENERATOR = (random.Random, NoneType)


def checked_options(
    *,
    path: str | Path | None,
    fallback_map: str | Path | FallbackMap | None,
    policies: str | Path | Policies,
    half_life_s: float | None,
    hash_key: bytes | None,
    read_only: bool,
    strict: bool,
    mode: Mode | str,
    beliefs: BeliefModel | str,
    settings: Settings | None,
    wait_up_to_s: float | None,
    explore: random.Random | None,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    asleep: Callable[[float], Awaitable[None]],
    rng: random.Random | None,
    budget_tokens: int,
    form: Format | str,
    detail: Detail | str,
    durability: Durability | str,
    store_arguments: bool,
    learn_shapes: bool,
    hooks: Iterable[Hook] | None,
    breaker: Breaker | Literal["auto"] | None,
    skills: Skills | None,
    name_unknown: NamingModel | None,
) -> MemoryOptions:
    """Return how a memory works. Raises TypeError or ValueError; the text names every option that is wrong."""
    checks = OptionChecks()
    checks.instance("path", path, (str, Path, NoneType), "a path, a database URL or None")
    known_map = (str, Path, FallbackMap, NoneType)
    checks.instance("fallback_map", fallback_map, known_map, "a path, a name or a FallbackMap")
    checks.instance("policies", policies, (str, Path, Policies), "a path, a name or Policies")
    checks.instance("hash_key", hash_key, (bytes, NoneType), "bytes or None")
    checks.instance("read_only", read_only, bool, FLAG)
    checks.instance("strict", strict, bool, FLAG)
    if half_life_s is not None:
        checks.run(meta.seconds, half_life_s)
    weighed = checks.instance("settings", settings, (Settings, NoneType), "Settings") or Settings()
    if wait_up_to_s is not None:
        checks.instance("wait_up_to_s", wait_up_to_s, (int, float), "a number of seconds")
        checks.at_least("wait_up_to_s", wait_up_to_s, 0)
        weighed = replace(weighed, wait_up_to_s=wait_up_to_s)
    if breaker == "auto":
        breaker = Breaker()
    options = MemoryOptions(
        mode=checks.choice("mode", Mode, mode),
        beliefs=checks.choice("beliefs", BeliefModel, beliefs),
        settings=weighed,
        explore=checks.instance("explore", explore, GENERATOR, "a random.Random"),
        clock=checks.function("clock", clock),
        sleep=checks.function("sleep", sleep),
        asleep=checks.function("asleep", asleep),
        rng=checks.instance("rng", rng, GENERATOR, "a random.Random"),
        budget_tokens=checks.instance("budget_tokens", budget_tokens, int, "a whole number of tokens"),
        form=checks.choice("form", Format, form),
        detail=checks.choice("detail", Detail, detail),
        durability=checks.choice("durability", Durability, durability),
        store_arguments=checks.instance("store_arguments", store_arguments, bool, FLAG),
        learn_shapes=checks.instance("learn_shapes", learn_shapes, bool, FLAG),
        hooks=(log_actions,) if hooks is None else checks.functions("hooks", hooks),
        breaker=checks.instance("breaker", breaker, (Breaker, NoneType), '"auto", a Breaker or None'),
        skills=checks.instance("skills", skills, (Skills, NoneType), "a SkillBook or None"),
        name_unknown=checks.instance(
            "name_unknown",
            name_unknown,
            (NamingModel, NoneType),
            "a chat model with with_structured_output or None",
        ),
    )
    checks.at_least("budget_tokens", budget_tokens, 1)
    checks.raise_problems()
    return options
