"""What a map offers: steps, and a tool's entry made ready for queries: templates compiled, fallbacks in order, costs summed.

Arguments of an offer are filled from what is known: ``call``, ``known`` and earlier steps of a composition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from btm.authored.expressions import compile_value
from btm.classify.expectations import ErrorRule, Expectations, Freshness
from btm.errors import TemplateError
from btm.fallback.checking import steps_of
from btm.fallback.schema import CrossCheck, Fallback, MapFile, Repair, ToolEntry, Verify
from btm.learning.posterior import BetaPosterior
from btm.model import Action, ErrorKind, Incident, ToolCall

PREVIOUS = "btm previous"  # the result of the step before; with a space no template can write it


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can be done next.

    ``arguments`` are those that the map could fill, ``missing`` names those that the agent must supply. ``coverage`` in
    (0, 1] is the chance that what a substitute gives suffices. For a composition ``via`` names all of its tools in
    order and ``tool`` is the first: the later calls come from :meth:`btm.fallback.FallbackMap.next_step`, and only the
    last result stands for the failed tool's. ``irreversible`` says that it does what cannot be undone.

    The planner adds the rest: ``chance`` is the belief's mean, or a draw from it when exploring; ``score`` is what a unit
    of cost buys, the order in which steps are tried; ``worth_trying`` says whether that is worth it. ``not_before`` (epoch
    seconds) is when a retry may be made whose wait is longer than btm waits by itself. ``above`` is the incident that the
    step answers where that is not the plan's own: the one that a substitute, which failed in turn, was to answer.
    """

    action: Action
    tool: str
    arguments: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    belief: BetaPosterior | None = None
    chance: float = 1.0
    coverage: float = 1.0
    cost: float = 1.0
    wait_s: float = 0.0
    worth_trying: bool = True
    gives: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    pick: str | None = None
    irreversible: bool = False
    above: Incident | None = None
    score: float = 0.0
    not_before: float | None = None

    def weighed(
        self,
        belief: BetaPosterior,
        *,
        chance: float,
        wait_s: float,
        cost: float,
        score: float,
        worth_trying: bool,
        not_before: float | None = None,
    ) -> Step:
        """Return this step with the numbers it is ranked by (dataclasses.replace takes three times as long)."""
        return Step(
            self.action, self.tool, self.arguments, self.missing, belief, chance, self.coverage, cost, wait_s,
            worth_trying, self.gives, self.lacks, self.via, self.pick, self.irreversible, self.above, score, not_before,
        )  # fmt: skip

    @property
    def complete(self) -> bool:
        """Whether the call can be made as it stands."""
        return not self.missing

    @property
    def target(self) -> str:
        """The name under which evidence about this step is kept: its tool, or its tools in a row.

        Empty for a retry or revise of the tool itself.
        """
        if self.action in (Action.RETRY, Action.REVISE):
            return ""
        return " > ".join(self.via) if self.via else self.tool


Names = Mapping[str, Any]
_Filler = Callable[[Names], Any]


class Arguments(Protocol):
    """How the arguments of one call are made."""

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the arguments that could be filled, and the names of those that could not."""
        ...


def names_of(call: ToolCall, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what templates see: ``call`` (the arguments, ``tool`` and ``arguments`` beside them) and ``known``."""
    return {"call": {**call.arguments, "tool": call.tool, "arguments": call.arguments}, "known": known}


@dataclass(frozen=True, slots=True)
class Written:
    """Arguments as the map writes them: templates and constants."""

    fillers: tuple[tuple[str, _Filler], ...]
    required: tuple[str, ...] = ()

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Fill each template; one that uses an undefined name (or fails on a value) leaves its argument missing."""
        filled: dict[str, Any] = {}
        missing: list[str] = []
        for name, filler in self.fillers:
            try:
                filled[name] = filler(names)
            except TemplateError:
                missing.append(name)
        missing.extend(name for name in self.required if name not in filled and name not in missing)
        return filled, tuple(missing)


@dataclass(frozen=True, slots=True)
class ByName:
    """Arguments that line up by name with the failed call's, an earlier step's result, or what is known.

    An optional argument is only taken from the call itself: a value that was merely seen may not be meant.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    previous: str | None = None

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Fill each argument from the first source that has it."""
        arguments = names["call"]["arguments"]
        before = names.get(self.previous) if self.previous else None
        sources = [s for s in (before, arguments, names["known"]) if isinstance(s, Mapping)]
        filled: dict[str, Any] = {}
        for name in self.required:
            for source in sources:
                if name in source:
                    filled[name] = source[name]
                    break
        filled.update({name: arguments[name] for name in self.optional if name in arguments})
        return filled, tuple(name for name in self.required if name not in filled)


class Unchanged:
    """The failed call's own arguments."""

    def fill(self, names: Names) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Pass every argument of the call."""
        return dict(names["call"]["arguments"]), ()


def arguments_for(
    written: Mapping[str, Any] | None,
    takes: tuple[str, ...] | None,
    *,
    previous: str | None = None,
) -> Arguments:
    """Choose how a call's arguments are made: as written; else by the names that the tool takes; else unchanged."""
    required = tuple(name for name in takes or () if not name.endswith("?"))
    if written is not None:
        return Written(tuple((name, _filler(value)) for name, value in written.items()), required)
    if takes is not None:
        optional = tuple(name.removesuffix("?") for name in takes if name.endswith("?"))
        return ByName(required, optional, previous)
    return Unchanged()


def _filler(value: Any) -> _Filler:
    if isinstance(value, str):
        return compile_value(value) if "{" in value else _constant(value)
    if isinstance(value, dict):
        inner = {key: _filler(item) for key, item in value.items()}
        return lambda names: {key: filler(names) for key, filler in inner.items()}
    if isinstance(value, list):
        items = [_filler(item) for item in value]
        return lambda names: [filler(names) for filler in items]
    return _constant(value)


def _constant(value: Any) -> _Filler:
    return lambda _names: value


@dataclass(frozen=True, slots=True)
class Edge:
    """One offer of the map: the calls it takes, what it gives, and for which error kinds.

    ``kinds`` is None where the kind is not asked (a check, which follows no error); an empty set is for none, never.
    """

    template: Step
    kinds: frozenset[ErrorKind] | None
    steps: tuple[Arguments, ...]
    results: tuple[str, ...] = ()  # the name of each step's result, "" for none

    def is_for(self, kind: ErrorKind | None) -> bool:
        """Whether it is offered after an error of this kind (None: of one that is not known)."""
        if kind is None:
            return self.kinds is None or bool(self.kinds)
        return self.kinds is None or kind in self.kinds

    def fill(self, names: Mapping[str, Any], step: int = 0) -> Step:
        """Return the offer's call (of the given step) with its arguments filled from ``names``."""
        filled, missing = self.steps[step].fill(names)
        base = self.template
        tool = base.via[step] if base.via else base.tool
        return Step(
            base.action, tool, filled, missing, None, 1.0, base.coverage, base.cost, 0.0, True,
            base.gives, base.lacks, base.via, base.pick, base.irreversible,
        )  # fmt: skip


def offers(
    edges: tuple[Edge, ...], call: ToolCall, kind: ErrorKind | None, known: Mapping[str, Any]
) -> tuple[Step, ...]:
    """Return what is offered after an error of this kind (None: of any), each call with its arguments filled."""
    offered = [edge for edge in edges if edge.is_for(kind)]
    names = names_of(call, known) if offered else {}
    return tuple(edge.fill(names) for edge in offered)


@dataclass(frozen=True, slots=True)
class Compiled:
    """One tool's offers, checks and expectations."""

    fallbacks: tuple[Edge, ...]
    repairs: tuple[Edge, ...]
    verify: Edge | None
    cross_check: Edge | None
    expectations: Expectations | None
    errors: tuple[ErrorRule, ...]


def compile_tool(name: str, model: MapFile) -> Compiled:
    """Make one tool's entry ready; the map must be free of problems."""
    entry = model.tools[name]
    edges = sorted(
        (_fallback(fallback, model.tools) for fallback in entry.fallbacks),
        # sorted() keeps the file's order of equals
        key=lambda edge: (-edge.template.coverage, edge.template.cost),
    )
    return Compiled(
        fallbacks=tuple(edges),
        repairs=tuple(_single(repair, model.tools, repair.kinds) for repair in entry.repairs),
        verify=_single(entry.verify, model.tools, None) if entry.verify else None,
        cross_check=_single(entry.cross_check, model.tools, None) if entry.cross_check else None,
        expectations=_expectations(entry),
        errors=tuple(ErrorRule(rule.match, rule.kind) for rule in entry.errors),
    )


def _fallback(fallback: Fallback, tools: Mapping[str, ToolEntry]) -> Edge:
    steps = steps_of(fallback)
    entries = [tools[step.tool] for step in steps]
    names = [step.as_ or "" for step in steps]
    return Edge(
        template=Step(
            Action.SWITCH,
            tool=steps[0].tool,
            coverage=fallback.coverage,
            gives=fallback.gives,
            lacks=fallback.lacks,
            cost=fallback.cost if fallback.cost is not None else sum(entry.cost for entry in entries),
            via=tuple(step.tool for step in steps) if fallback.via else (),
            pick=fallback.pick,
            irreversible=any(entry.irreversible for entry in entries),
        ),
        kinds=frozenset(filter(fallback.offered_for, ErrorKind)),
        steps=tuple(
            arguments_for(step.arguments, entry.takes, previous=PREVIOUS if index else None)
            for index, (step, entry) in enumerate(zip(steps, entries, strict=True))
        ),
        results=tuple(names),
    )


def _single(
    offer: Repair | Verify | CrossCheck,
    tools: Mapping[str, ToolEntry],
    kinds: frozenset[ErrorKind] | None,
) -> Edge:
    entry = tools[offer.tool]
    written = offer.arguments
    if written is None and entry.takes is None and isinstance(offer, Repair):
        written = {}  # a token refresh has no use for the failed call's arguments
    repairs = isinstance(offer, Repair)
    template = Step(
        Action.REPAIR if repairs else Action.VERIFY,
        tool=offer.tool,
        cost=entry.cost + 1.0 if repairs else entry.cost,  # a repair is followed by the call it repairs
        irreversible=bool(entry.irreversible),
        pick=offer.pick if isinstance(offer, CrossCheck) else None,
    )
    return Edge(template, kinds, (arguments_for(written, entry.takes),))


def _expectations(entry: ToolEntry) -> Expectations | None:
    expect = entry.expect
    if expect is None:
        return None
    fresh = Freshness(expect.fresh.field, expect.fresh.within) if expect.fresh else None
    return Expectations(required=expect.required, types=expect.types, ranges=expect.ranges, fresh=fresh)
