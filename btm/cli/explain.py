"""``btm explain``: why a plan is what it is, level by level."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from btm.cli.context import step_document
from btm.cli.database import DEFAULT_DATABASE, Learned, open_existing
from btm.cli.options import kind_option
from btm.cli.output import console, emit_json, table
from btm.fallback import FallbackMap
from btm.memory import ToolMemory
from btm.model import EvidenceKey, ToolCall
from btm.plan import RecoveryPlan, Step
from btm.policy import Policies
from btm.posterior import Share, shares, weights


@click.command()
@click.option("--tool", required=True, help="The tool that failed.")
@kind_option("--error", required=True, help="How it failed.")
@click.option(
    "--db", "database", default=DEFAULT_DATABASE, show_default=True, help="The database (path or URL)."
)
@click.option("--map", "map_name", help="A fallback map: a path, or the name of a shipped one.")
@click.option(
    "--policies", default="default", show_default=True, help="A policy file: a path, or a shipped one's name."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def explain(tool: str, error: str, database: str, map_name: str | None, policies: str, as_json: bool) -> None:
    """Tell why the plan for a first failure of TOOL is what it is.

    For every step: its chance, value and cost, and how the chance comes about, from the general to the special: what it
    starts from, what failures of its family and kind taught, or the substitute's record elsewhere, and what was seen
    here. Each line says what is believed with it, and how much of the final belief it makes.
    """
    learned = Learned.read(database)
    with ToolMemory(
        open_existing(database),
        fallback_map=FallbackMap.load(map_name) if map_name else FallbackMap.empty(),
        policies=Policies.load(policies),
        clock=time.time,
    ) as memory:
        call = ToolCall(tool, effect=memory.effect_of(tool), conversation="explain", call_id="1")
        plan = memory.context(tool, error, call).plan
    if as_json:
        emit_json(_document(plan, learned))
    else:
        _print(plan, learned)


def _key(plan: RecoveryPlan, step: Step) -> EvidenceKey | None:
    if step.belief is None or plan.outcome.kind is None:
        return None
    return EvidenceKey(plan.call.tool, plan.outcome.kind, step.action, step.target, 1)


def _shares(plan: RecoveryPlan, step: Step, learned: Learned) -> Sequence[Share]:
    key = _key(plan, step)
    return shares(learned.evidence, key, learned.priors, learned.scale) if key is not None else ()


def _document(plan: RecoveryPlan, learned: Learned) -> dict[str, Any]:
    return {
        "tool": plan.call.tool,
        "kind": plan.outcome.kind,
        "steps": [_step_document(plan, step, learned) for step in plan.steps],
        "rejected": [_step_document(plan, step, learned) for step in plan.rejected],
        "policies": [{"policy": v.policy, "say": v.say} for v in plan.verdicts],
    }


def _step_document(plan: RecoveryPlan, step: Step, learned: Learned) -> dict[str, Any]:
    found = _shares(plan, step, learned)
    start, *parts = weights(found)
    levels = [
        {
            "level": list(share.level),
            "successes": share.counts.successes,
            "failures": share.counts.failures,
            "prior_mean": share.prior_mean,
            "strength": share.strength,
            "mean": share.mean,
            "share": part,
        }
        for share, part in zip(found, parts, strict=True)
    ]
    begun = {"mean": found[0].prior_mean, "share": start} if found else None
    return {**step_document(step), "start": begun, "levels": levels}


def _print(plan: RecoveryPlan, learned: Learned) -> None:
    out = console()
    out.print(f"{plan.call.tool} failed as {plan.outcome.kind}. Steps in order of chance x value / cost:\n")
    for number, step in enumerate(plan.steps, start=1):
        _print_step(f"{number}.", plan, step, learned)
    if plan.rejected:
        out.print("Weighed and left out:\n")
        for step in plan.rejected:
            forbidden = plan.forbidden.get(step.action)
            why = f"forbidden by {forbidden.policy}" if forbidden else "not worth its cost"
            _print_step(f"-  ({why})", plan, step, learned)
    for verdict in plan.verdicts:
        out.print(f"policy {verdict.policy}: {verdict.say}")


def _print_step(mark: str, plan: RecoveryPlan, step: Step, learned: Learned) -> None:
    out = console()
    name = f"{step.action} {step.tool if step.target else ''}".strip()
    if step.belief is None:
        out.print(f"{mark} {name}\n")
        return
    out.print(
        f"{mark} {name}: chance {step.chance:.2f} x value {step.value:g} / cost {step.cost:.3g} = {step.score:.3f}"
    )
    columns = ("worked", "failed", "chance", "share of the belief")
    rows = table("", *columns, numeric=columns)
    found = _shares(plan, step, learned)
    start, *parts = weights(found)
    rows.add_row("   to start with", "", "", f"{found[0].prior_mean:.2f}", f"{start:.0%}")
    for share, part in zip(found, parts, strict=True):
        rows.add_row(
            f"   {_level_name(share, step)}",
            f"{share.counts.successes:.4g}",
            f"{share.counts.failures:.4g}",
            f"{share.mean:.2f}",
            f"{part:.0%}",
        )
    out.print(rows)
    low, high = step.belief.interval()
    out.print(f"   95 % between {low:.2f} and {high:.2f}\n")


def _level_name(share: Share, step: Step) -> str:
    """Return whose record a level holds: always without what stands in the lines below it."""
    match share.level[0]:
        case "family" if step.target:
            return f"any other {step.action} after {share.level[1]} errors"
        case "family":
            return f"other {share.level[1]} errors"
        case "kind":
            return f"{share.level[1]} of other tools"
        case "target":
            return f"{share.level[2]} in other places"
        case _:
            return "here"
