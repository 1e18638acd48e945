"""What an evaluation runs on: tools over a database, tasks with a checkable end, and the script of each task.

An environment is opened once per episode and gives a fresh session. Tools answer with JSON values and raise their
own exceptions. A task is judged by the digest of the database, and by what was really seen for its read-only parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from btm.errors import EvaluationError, did_you_mean
from btm.lab.faults.clock import START
from btm.lab.jsonvalue import Path
from btm.model import Effect

Clock = Callable[[], float]
"""Seconds since the epoch."""

SIMULATED_NOW = START
"""The time an environment's clock shows unless it is given one: 2026-01-01T00:00:00Z."""


def simulated_clock() -> float:
    """Return the fixed time ``SIMULATED_NOW``."""
    return SIMULATED_NOW


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as an agent is told of it; ``parameters`` is the JSON schema (an object) of its arguments.

    ``by_user``: the user does it with a device of their own. No fault strikes there, and no arm stands in between.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: Effect
    by_user: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """The user said it, or it is the agent's own choice of words or reckoning: nothing has to be looked up."""


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A tool result must have shown it: ``value`` stands at ``path`` of the clean result of step number ``step``.

    ``beside`` are the (field, value) pairs that stand with it in the same element of a list: what a reader knows
    the element by when its position has changed.
    """

    step: int
    path: Path
    value: Any
    beside: tuple[tuple[str, Any], ...] = ()


Source = Given | ShownValue


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One gold call, and where the agent gets what it needs for it.

    ``sources`` gives every leaf of ``arguments`` (by its path in them) the place its value comes from. ``requires``
    are further places that must show their value before the step is taken: no order is cancelled without having
    seen that it is pending. ``evidence`` are (field, value) pairs that a look at the changed record shows once a
    write has happened and not before; it is empty for reads.
    """

    tool: str
    arguments: Mapping[str, Any]
    sources: tuple[tuple[Path, Source], ...] = ()
    requires: tuple[ShownValue, ...] = ()
    evidence: tuple[tuple[str, Any], ...] = ()
    effect: Effect = Effect.READ

    @property
    def needs(self) -> tuple[ShownValue, ...]:
        """Every place that must have been seen before this step can be taken."""
        return tuple(s for _, s in self.sources if isinstance(s, ShownValue)) + self.requires


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """What the user wants to know, and the places a tool result must have shown for it to be known.

    ``looked``: it only had to be looked up, in no words of the agent's.
    """

    text: str
    sources: tuple[ShownValue, ...]
    looked: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One request with a checkable end.

    ``facts`` is what the user knows, by argument name. ``goal`` is the digest of the database after the gold calls
    in a clean session. ``changes`` names the changes those calls make, as ``Write.change`` does. ``held_back`` is what
    the user says only when asked.
    """

    task_id: str
    request: str
    facts: Mapping[str, Any]
    steps: tuple[ScriptStep, ...]
    goal: str
    answers: tuple[ExpectedAnswer, ...] = ()
    changes: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()

    @property
    def scripted(self) -> bool:
        """Whether its gold calls are known: without them only the end is, and no scenario can promise a way there."""
        return bool(self.steps)

    def used(self, step: int) -> tuple[ShownValue, ...]:
        """Places in the result of step ``step`` on which a later step or an answer depends."""
        wanted = [s for later in self.steps for s in later.needs if s.step == step]
        wanted += [s for answer in self.answers for s in answer.sources if s.step == step]
        return tuple(place for n, place in enumerate(wanted) if place not in wanted[:n])


@dataclass(frozen=True, slots=True)
class Write:
    """A change that really happened. ``change`` is equal for equal changes, whichever tool made them."""

    tool: str
    arguments: Mapping[str, Any]
    change: str


class Session(Protocol):
    """One episode's tools over its own copy of the database."""

    @property
    def writes(self) -> list[Write]:
        """The changes that really happened, in order."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Run a tool; returns JSON values, raises the tool's own exception."""

    def digest(self) -> str:
        """Return a hash of the database as it stands."""


class Environment(Protocol):
    """A domain: tools, tasks, and the shipped fallback map that is written for it."""

    @property
    def domain(self) -> str:
        """The name it is asked for by."""

    @property
    def fallback_map(self) -> str:
        """The name of the shipped fallback map."""

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """Every tool by name."""

    @property
    def tasks(self) -> Sequence[Task]:
        """Every task, in a fixed order."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why a task of the source is not among ``tasks``, by its id."""

    def open(self, task: Task, clock: Clock = simulated_clock) -> Session:
        """Return a fresh session; ``clock`` dates the results (``as_of``) where the domain dates them."""


def double_writes(task: Task, writes: Sequence[Write]) -> int:
    """Count changes made more often than the task asks for: once where it does not ask for them at all."""
    asked = Counter(task.changes)
    made = Counter(w.change for w in writes)
    return sum(max(0, n - max(1, asked[change])) for change, n in made.items())


def wrong_writes(task: Task, writes: Sequence[Write]) -> int:
    """Count changes that the task does not ask for."""
    return sum(w.change not in task.changes for w in writes)


DOMAINS: Mapping[str, str] = MappingProxyType(
    {
        "shop": "the built-in shop",
        "tau2:retail": "tau2-bench retail (extra: tau2)",
        "tau2:airline": "tau2-bench airline",
        "tau2:telecom": "tau2-bench telecom: the user's phone has tools too",
        "bfcl": "the multi-turn tasks of the Berkeley Function Calling Leaderboard (pip install --no-deps bfcl-eval mpmath)",
    }
)
"""The domains that ``load_environment`` knows, each with what it is."""


def load_environment(domain: str, fallback_map: str | None = None) -> Environment:
    """Return the environment of a domain: ``"shop"``, ``"tau2:retail"``, or one's own as ``"my_pkg.envs:ClinicEnv"``.

    An MCP server with a file of tasks is ``"mcp:tasks.yaml"``. ``fallback_map`` (a path, or the name of a shipped one)
    replaces the environment's own. Raises EvaluationError for an unknown name, MissingExtraError when the domain's package
    is absent.
    """
    made = _environment(domain)
    if fallback_map is None:
        return made
    from btm.lab.loading import Remapped  # noqa: PLC0415 - it needs this module

    return Remapped(made, fallback_map, made.domain)


def _environment(domain: str) -> Environment:
    if domain == "shop":
        from btm.lab.shop import ShopEnvironment  # noqa: PLC0415 - a run loads only the domain it asks for

        return ShopEnvironment()
    if domain in DOMAINS and domain.startswith("tau2:"):
        from btm.lab.tau2 import tau2_environment  # noqa: PLC0415

        return tau2_environment(domain.removeprefix("tau2:"))
    if domain == "bfcl":
        from btm.lab.bfcl import BfclEnvironment  # noqa: PLC0415

        return BfclEnvironment()
    if domain.startswith("mcp:"):
        from btm.lab.mcp_environment import McpEnvironment  # noqa: PLC0415

        return McpEnvironment(domain.removeprefix("mcp:"))
    if ":" in domain and not domain.startswith("tau2:"):
        from btm.lab.loading import own_environment  # noqa: PLC0415

        return own_environment(domain)
    raise EvaluationError(
        f"there is no domain {domain!r}: expected one of {', '.join(DOMAINS)}, or your own as module:attribute"
        f"{did_you_mean(domain, DOMAINS)}"
    )
