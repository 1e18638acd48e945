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
from btm.posterior import Share, shares


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

    For every step: its chance, value and cost, and how much of the chance comes from the tool's own evidence and how
    much from failures of its kind and family, or from the substitute's record elsewhere.
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
    def step_with_levels(step: Step) -> dict[str, Any]:
        levels = [
            {
                "level": list(share.level),
                "successes": share.counts.successes,
                "failures": share.counts.failures,
                "prior_mean": share.prior_mean,
                "strength": share.strength,
                "mean": share.mean,
            }
            for share in _shares(plan, step, learned)
        ]
        return {**step_document(step), "levels": levels}

    return {
        "tool": plan.call.tool,
        "kind": plan.outcome.kind,
        "steps": [step_with_levels(step) for step in plan.steps],
        "rejected": [step_with_levels(step) for step in plan.rejected],
        "policies": [{"policy": v.policy, "say": v.say} for v in plan.verdicts],
    }


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
    rows = table(
        "level", "worked", "failed", "told", "believes", numeric=("worked", "failed", "told", "believes")
    )
    for share in _shares(plan, step, learned):
        rows.add_row(
            _level_name(share),
            f"{share.counts.successes:.4g}",
            f"{share.counts.failures:.4g}",
            f"{share.prior_mean:.2f} (as {share.strength:.1f} tries)",
            f"{share.mean:.2f}",
        )
    out.print(rows)
    key = _key(plan, step)
    belief = learned.belief(key) if key is not None else step.belief
    own = belief.n / (belief.alpha + belief.beta)
    out.print(
        f"   {own:.0%} of this belief is this tool's own evidence, {1 - own:.0%} comes from the levels above.\n"
    )


def _level_name(share: Share) -> str:
    match share.level[0]:
        case "family":
            return f"   other {share.level[1]} errors"
        case "kind":
            return f"   {share.level[1]} of other tools"
        case "target":
            return f"   {share.level[2]} elsewhere"
        case _:
            return "   here"
