"""The arms of an evaluation: what stands between the scripted agent and its tools.

An arm gives each episode a call function. Those without btm are here and in ``fixed_orders``; they keep nothing from
one episode to the next. The arms with btm are in ``memory_arms``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from btm.lab.agent import Call, ToolResponse
from btm.lab.desk import Desk
from btm.lab.fixed_orders import FixedOrder
from btm.lab.forgetful import Forgetful
from btm.lab.names import known_names
from btm.lab.oracle import Oracle
from btm.lab.outside_arms import Chain, PlainBreaker, Tenacity
from btm.lab.prompted_arms import PROMPTED

NEUTRAL = "The call failed. Continue."
"""What the control for advice says: a message at the same place that advises nothing."""

RETRIES = 3
PAUSE_S = 1.0
"""What a fixed retry decorator does: so many repeats, so many seconds apart."""


class Arm(Protocol):
    """One way of running the agent."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    @property
    def trials(self) -> int:
        """How often at most it begins a task anew that it did not solve."""

    def reflect(self, desk: Desk) -> tuple[str, ...]:
        """Return what it notes of a trial that failed."""

    def calls(self, desk: Desk) -> Call:
        """Return the call function for one episode."""

    def notices(self, desk: Desk) -> str:
        """Return what the agent's request says before its turn."""

    def done(self, desk: Desk) -> None:
        """Take note that an episode has ended."""

    def close(self) -> None:
        """Give back what the arm holds."""


class OverheardArm:
    """An arm of which every answer is told, with its call."""

    def __init__(self, arm: Arm, hear: Callable[[Desk, str, Mapping[str, Any], ToolResponse], None]) -> None:
        self._arm, self._hear, self.name = arm, hear, arm.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arm, name)

    def calls(self, desk: Desk) -> Call:
        through = self._arm.calls(desk)

        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            answer = through(tool, arguments)
            self._hear(desk, tool, arguments, answer)
            return answer

        return call


class Bare(Forgetful):
    """The agent alone: an error is an error. With ``message`` it is told that, and nothing else."""

    message: str | None = None

    def calls(self, desk: Desk) -> Call:
        def call(tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
            answer = desk.tries(tool, arguments)
            return replace(answer, advice=self.message) if answer.is_error else answer

        return call


class Neutral(Bare):
    """The control for advice."""

    message = NEUTRAL


class Retry3(Forgetful):
    """A fixed retry decorator around every tool, blind to what a repeat does."""

    def calls(self, desk: Desk) -> Call:
        return lambda tool, arguments: desk.tries(tool, arguments, 1 + RETRIES, pause_s=PAUSE_S)


class Clairvoyant(Forgetful):
    """An agent helped by someone who knows the map and the faults: the most that recovery could reach."""

    def calls(self, desk: Desk) -> Call:
        tools, given = desk.environment.tools, desk.setup.task.facts
        return Oracle(desk.call, desk.injector, desk.fallback_map, tools, given)


COMPLIANCE = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How often a simulated model does what a context says: the arms ``btm:advise@...``, a curve of gain over compliance."""

HASTY = "btm:advise@hasty"

BTM_ARMS: Mapping[str, str] = {
    "btm": "with btm in act mode: it recovers by itself before the agent sees the error",
    "btm:observe": "btm only learns",
    "btm:advise": "btm tells the agent what to do next",
    "btm:guard": "btm advises, and refuses calls that an enforced policy forbids",
    "btm:act": "the same as btm",
    "btm:no-breaker": "btm in act mode without circuit breakers: it waits for what is down in every conversation",
    "btm:priors-only": "btm in act mode, nothing learned: it decides by what it is shipped with",
    "btm:rules-only": "the same as btm:priors-only",
    "btm:flat": "btm in act mode, each number learned for itself from Beta(1, 1)",
    "btm:shuffled": "btm in act mode, its learned numbers dealt out to other keys of the same action and try",
    "btm:shuffled-kind": "as btm:shuffled, within the same kind of error too: only tools and targets are mixed up",
    **{
        f"btm:advise@{share:g}": f"btm:advise with a simulated model that does what it is told in {share:.0%} of cases"
        for share in COMPLIANCE
    },
    HASTY: "btm:advise@1, but the simulated model hands over at one failure in five, whatever it is told",
    "btm:informed": "btm in act mode, told the true chances (heterogeneous profile): the most that learning could reach",
}
"""The arms with btm, each with what it is."""

_MOST_REPEATS = 3

ORDERS: Mapping[str, FixedOrder] = {
    order.name: order
    for n in range(_MOST_REPEATS + 1)
    for order in (
        FixedOrder(f"order:retry{n}-then-switch", n),
        FixedOrder(f"order:switch-then-retry{n}", n, switch_first=True),
    )
}
"""The fixed orders, which know the map, the classifier and how to verify, and learn nothing."""

_PLAIN: Mapping[str, tuple[Callable[[str], Arm], str]] = {
    "bare": (Bare, "the scripted agent alone"),
    "retry3": (Retry3, f"each call repeated up to {RETRIES} times on an exception, {PAUSE_S:g} s apart"),
    "retry3:any": (
        lambda name: FixedOrder(name, RETRIES, switches=False, any_kind=True),
        f"each call repeated up to {RETRIES} times on any error that the classifier names",
    ),
    "neutral": (Neutral, f"a failed call is followed by {NEUTRAL!r}: the control for advice"),
    "tenacity": (Tenacity, "the library tenacity: three tries of whatever raises, exponential waits"),
    "chain": (Chain, "the map's first substitute on an exception, always, as with_fallbacks of LangChain"),
    "breaker": (
        PlainBreaker,
        "three tries through a circuit breaker a tool: open after five failures in a row, for a minute",
    ),
    **PROMPTED,
    "oracle": (Clairvoyant, "helped by one who knows the map and the faults: the most that can be reached"),
    **dict.fromkeys(
        ORDERS,
        (
            ORDERS.__getitem__,
            "a fixed order with btm's map, classifier and verification, but nothing learned",
        ),
    ),
}

ARMS: Mapping[str, str] = {**{name: about for name, (_, about) in _PLAIN.items()}, **BTM_ARMS}
"""Every arm, each with what it is."""


def plain_arm(name: str) -> Arm:
    """Return an arm without btm. Raises KeyError for another name."""
    return _PLAIN[name][0](name)


def check_arms(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once. Raises EvaluationError that gives the nearest arm for one that is none."""
    return known_names("arm", names, ARMS)
