"""``btm explain``: why a plan is what it is, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.markup import escape
from rich.padding import Padding

from btm.cli.context import known_tool, step_document
from btm.cli.database import open_existing
from btm.cli.options import JSON, POLICIES, database_option, kind_option, map_option
from btm.cli.output import console, emit_json, paragraph, percent, table
from btm.fallback import Step
from btm.learning.posterior import Share, weights
from btm.memory import ToolMemory
from btm.model import EvidenceKey, ToolCall
from btm.planning.plan import RecoveryPlan
from btm.planning.policy import Policies

_INDENT = "   "


@click.command()
@click.option("--tool", required=True, help="The tool that failed.")
@kind_option("--error", required=True, help="How it failed.")
@database_option("The database")
@map_option()
@POLICIES
@JSON
def explain(tool: str, error: str, database: str, map_name: str | None, policies: str, as_json: bool) -> None:
    """Tell why the plan for a first failure of TOOL is what it is.

    For every step: its chance, value and cost, and how the chance comes about, from the general to the special: what it
    starts from, what failures of its family and kind taught, or the substitute's record elsewhere, and what was seen
    here. Each line says what is believed with it, and its share of the final belief.
    """
    fallback_map = known_tool(map_name, tool)
    with ToolMemory(
        open_existing(database), fallback_map=fallback_map, policies=Policies.load(policies)
    ) as memory:
        call = ToolCall(tool, effect=memory.effect_of(tool), conversation="explain", call_id="1")
        plan = memory.context(tool, error, call).plan
        if as_json:
            emit_json(_document(plan, memory))
        else:
            _print(plan, memory)


def _key(plan: RecoveryPlan, step: Step) -> EvidenceKey | None:
    if step.belief is None or plan.outcome.kind is None:
        return None
    return EvidenceKey(plan.call.tool, plan.outcome.kind, step.action, step.target, 1)


def _shares(plan: RecoveryPlan, step: Step, memory: ToolMemory) -> Sequence[Share]:
    key = _key(plan, step)
    return memory._ledger.shares(key) if key is not None else ()


def _document(plan: RecoveryPlan, memory: ToolMemory) -> dict[str, Any]:
    return {
        "tool": plan.call.tool,
        "kind": plan.outcome.kind,
        "steps": [_step_document(plan, step, memory) for step in plan.steps],
        "rejected": [_step_document(plan, step, memory) for step in plan.rejected],
        "policies": [{"policy": v.policy, "say": v.say} for v in plan.verdicts],
    }


def _step_document(plan: RecoveryPlan, step: Step, memory: ToolMemory) -> dict[str, Any]:
    found = _shares(plan, step, memory)
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


def _print(plan: RecoveryPlan, memory: ToolMemory) -> None:
    out = console()
    paragraph(
        out, f"{plan.call.tool} failed as {plan.outcome.kind}. Steps in order of chance x value / cost:"
    )
    out.print()
    for number, step in enumerate(plan.steps, start=1):
        _print_step(f"{number}. {_name(step)}", plan, step, memory)
    if plan.rejected:
        out.print("Weighed and left out:\n")
        for step in plan.rejected:
            forbidden = plan.forbidden.get(step.action)
            why = f"forbidden by {forbidden.policy}" if forbidden else "not worth its cost"
            _print_step(f"-  {_name(step)}: {why}", plan, step, memory)
    for verdict in plan.verdicts:
        paragraph(out, f"policy {verdict.policy}: {verdict.say}", rest="  ")


def _name(step: Step) -> str:
    return f"{step.action} {step.tool if step.target else ''}".strip()


def _print_step(head: str, plan: RecoveryPlan, step: Step, memory: ToolMemory) -> None:
    out = console()
    paragraph(out, head, rest=_INDENT, style="bold")
    if step.belief is None:
        out.print()
        return
    low, high = step.belief.interval()
    out.print(
        f"{_INDENT}chance {step.chance:.2f} (95 % {low:.2f} to {high:.2f}) "
        f"x value {step.coverage:g}, cost {step.cost:.3g}: a unit of cost buys {step.score:.3f}"
    )
    rows = table("", ">worked", ">failed", ">chance", ">share")
    found = _shares(plan, step, memory)
    start, *parts = weights(found)
    rows.add_row("to start with", "", "", f"{found[0].prior_mean:.2f}", percent(start))
    for share, part in zip(found, parts, strict=True):
        counts = (f"{count:.4g}" for count in share.counts)
        rows.add_row(escape(_level_name(share, step)), *counts, f"{share.mean:.2f}", percent(part))
    out.print(Padding.indent(rows, len(_INDENT)))
    out.print()


def _level_name(share: Share, step: Step) -> str:
    """Return whose record a level holds: always without what stands in the lines below it."""
    match share.level[0]:
        case "action":
            return f"any other {step.action}"
        case "tool":
            return "here after other errors"
        case "family":
            return f"other {share.level[1]} errors"
        case "kind":
            return f"{share.level[1]} of other tools"
        case "target":
            return f"{share.level[2]} in other places"
        case _:
            return "here"
