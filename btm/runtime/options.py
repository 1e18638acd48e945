"""How one memory works, as one value; and what :meth:`btm.ToolMemory.open` was given, checked all of it at once."""

from __future__ import annotations

import asyncio
import random
import reprlib
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar

from btm.events import Hook, log_actions
from btm.fallback import FallbackMap
from btm.model import BeliefModel, ChoiceEnum, Mode
from btm.planning.context import DEFAULT_BUDGET, Detail, Format
from btm.planning.plan import Skills
from btm.planning.planner import Settings
from btm.planning.policy import Policies
from btm.runtime.alarm import NoveltyAlarm
from btm.runtime.breaker import Breaker
from btm.runtime.naming import NamingModel
from btm.store import meta

C = TypeVar("C", bound=ChoiceEnum)
T = TypeVar("T")


class Durability(ChoiceEnum):
    """Which writes are on the disk, as begun, before they run; the others are noted without being waited for."""

    DEFAULT = "default"  # those that cannot be undone, by the map or else by their names
    STRICT = "strict"  # all but idempotent ones


_USUAL_FAILURES = 10


def _usual_hooks() -> tuple[Hook, ...]:
    return log_actions, NoveltyAlarm(kinds_after=_USUAL_FAILURES)


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
    hooks: tuple[Hook, ...] = field(default_factory=_usual_hooks)
    name_unknown: NamingModel | None = None
    breaker: Breaker | None = field(default_factory=Breaker)
    skills: Skills | None = None


class OptionChecks:
    """Collects problems; :meth:`raise_problems` raises them as one error.

    Each check returns a value to go on with: what was given if it is right, else a stand-in that is never used.
    """

    def __init__(self) -> None:
        self._problems: list[tuple[type[Exception], str]] = []

    def choice(self, name: str, kind: type[C], given: C | str) -> C:
        """Read a member of a closed set, from itself or from its text."""
        try:
            return kind(given)
        except ValueError as error:
            self._problems.append((ValueError, f"{name}: {error}"))
            return next(iter(kind))

    def instance(self, name: str, given: T, kinds: type | tuple[type, ...], wanted: str) -> T:
        """Check a type; ``wanted`` says in words what it is to be."""
        right = isinstance(given, kinds) and not (isinstance(given, bool) and kinds is not bool)
        if not right:
            self._problems.append((TypeError, f"{name} is {wanted}, not {reprlib.repr(given)}"))
        return given

    def function(self, name: str, given: Callable[..., T]) -> Callable[..., T]:
        """Check that something can be called."""
        if not callable(given):
            self._problems.append((TypeError, f"{name} is a function, not {reprlib.repr(given)}"))
        return given

    def functions(self, name: str, given: Iterable[Callable[..., T]]) -> tuple[Callable[..., T], ...]:
        """Check that something holds functions only."""
        if callable(given) or not isinstance(given, Iterable):
            self._problems.append((TypeError, f"{name} is a list of functions, not {reprlib.repr(given)}"))
            return ()
        return tuple(self.function(f"each of {name}", one) for one in given)

    def at_least(self, name: str, given: float, least: float) -> None:
        """Check a lower bound. What is no number was noted before."""
        with suppress(TypeError):
            if given < least:
                self._problems.append((ValueError, f"{name} is at least {least}, not {given!r}"))

    def run(self, check: Callable[[Any], T], given: Any) -> None:
        """Note the TypeError or ValueError of a check that lives elsewhere."""
        try:
            check(given)
        except (TypeError, ValueError) as error:
            self._problems.append((type(error), str(error)))

    def raise_problems(self) -> None:
        """Raise TypeError when all problems are of type, ValueError when any is of value; nothing when there are none."""
        if not self._problems:
            return
        only_types = all(issubclass(kind, TypeError) for kind, _ in self._problems)
        text = "; ".join(problem for _, problem in self._problems)
        raise TypeError(text) if only_types else ValueError(text)


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
        hooks=_usual_hooks() if hooks is None else checks.functions("hooks", hooks),
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
