"""A tool's entry made ready for queries: templates compiled, fallbacks in their order, costs added up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from btm.classify.expectations import ErrorRule, Expectations, Freshness
from btm.fallback.checking import steps_of
from btm.fallback.fields import FULL, expand_kinds
from btm.fallback.filling import Arguments, arguments_for
from btm.fallback.schema import CrossCheck, Fallback, MapFile, Repair, ToolEntry, Verify
from btm.fallback.step import Step
from btm.model import Action, ErrorKind, Family

PREVIOUS = "btm previous"  # the result of the step before; with a space no template can write it


@dataclass(frozen=True, slots=True)
class Edge:
    """One offer of the map: the calls it takes, what it gives, and for which error kinds (None: all)."""

    template: Step
    kinds: frozenset[ErrorKind] | None
    steps: tuple[Arguments, ...]
    results: tuple[str, ...] = ()  # the name of each step's result, "" for none

    def applies(self, kind: ErrorKind | None) -> bool:
        """Whether it is offered after an error of this kind; an unknown kind (None) shuts nothing out.

        Unless the map says so, values that one tool refused are not sent to another, which may be less strict, and an
        empty answer, which may be true, is not replaced by rows of a tool that gives only a part.
        """
        if kind is None:
            return True
        if self.kinds is not None:
            return kind in self.kinds
        partly = kind is ErrorKind.EMPTY_RESULT and self.template.coverage < FULL
        return kind.family is not Family.CALLER and not partly

    def fill(self, names: Mapping[str, Any], step: int = 0) -> Step:
        """Return the offer's call (of the given step) with its arguments filled from ``names``."""
        filled, missing = self.steps[step].fill(names)
        base = self.template
        tool = base.via[step] if base.via else base.tool
        return Step(
            base.action, tool, filled, missing, None, 1.0, base.coverage, base.cost, 0.0, True,
            base.gives, base.lacks, base.via, base.pick, base.irreversible,
        )  # fmt: skip


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
        verify=_single(entry.verify, model.tools) if entry.verify else None,
        cross_check=_single(entry.cross_check, model.tools) if entry.cross_check else None,
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
        kinds=expand_kinds(fallback.only_for) if fallback.only_for else None,
        steps=tuple(
            arguments_for(step.arguments, entry.takes, previous=PREVIOUS if index else None)
            for index, (step, entry) in enumerate(zip(steps, entries, strict=True))
        ),
        results=tuple(names),
    )


def _single(
    offer: Repair | Verify | CrossCheck,
    tools: Mapping[str, ToolEntry],
    kinds: frozenset[ErrorKind] | None = None,
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
