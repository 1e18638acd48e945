"""``btm context``: the recovery context that a model would get."""

from __future__ import annotations

import time
from typing import Any

import click
import orjson

from btm.cli.database import open_existing
from btm.cli.options import POLICIES, kind_option, map_option
from btm.cli.output import emit_json, fail, remark
from btm.errors import did_you_mean
from btm.fallback import FallbackMap, Step
from btm.memory import ToolMemory
from btm.model import ToolCall
from btm.planning.context import DEFAULT_BUDGET, Detail, Format
from btm.planning.plan import RecoveryContext, RecoveryPlan
from btm.planning.policy import Policies
from btm.runtime.options import MemoryOptions
from btm.store.sql import SqlStore
from btm.support.open_files import read_whole


@click.command()
@click.option("--tool", required=True, help="The tool that failed.")
@kind_option("--error", required=True, help="How it failed.")
@click.option(
    "--call",
    "call_json",
    metavar="JSON",
    help='The call\'s arguments, e.g. \'{"order_id": "O1"}\', or @FILE.',
)
@click.option(
    "--db",
    "database",
    metavar="FILE",
    help="The database to believe (path or URL); without one, only the shipped beliefs.",
)
@map_option()
@POLICIES
@click.option("--budget", type=click.IntRange(20), default=DEFAULT_BUDGET, help="Tokens, at most.")
@click.option("--format", "form", type=click.Choice([f.value for f in Format]), default="tagged")
@click.option("--detail", type=click.Choice([d.value for d in Detail]), default="short")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: text, plan, tokens.")
def context(
    tool: str,
    error: str,
    call_json: str | None,
    database: str | None,
    map_name: str | None,
    policies: str,
    budget: int,
    form: str,
    detail: str,
    as_json: bool,
) -> None:
    """Print the recovery context for a first failure of TOOL, as a model would get it."""
    store = open_existing(database) if database else SqlStore(None, now=time.time(), hash_key=b"btm context")
    with ToolMemory(
        store,
        fallback_map=known_tool(map_name, tool),
        policies=Policies.load(policies),
        options=MemoryOptions(budget_tokens=budget, form=Format(form), detail=Detail(detail)),
    ) as memory:
        call = ToolCall(
            tool, _arguments(call_json), memory.effect_of(tool), conversation="context", call_id="1"
        )
        made = memory.context(tool, error, call)
    if as_json:
        emit_json(document(made))
    else:
        click.echo(made.text)


def known_tool(map_name: str | None, tool: str) -> FallbackMap:
    """Load a map (an empty one without a name), and say when it does not know the tool: that may be a slip."""
    if map_name is None:
        return FallbackMap.empty()
    fallback_map = FallbackMap.load(map_name)
    if tool not in fallback_map.tools:
        hint = did_you_mean(tool, fallback_map.tools, ", so it has nothing to say about it")
        remark(f"the map has no tool {tool!r}{hint}")
    return fallback_map


def _arguments(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        source = read_whole(text[1:]).decode("utf-8") if text.startswith("@") else text
    except OSError as problem:
        fail(f"--call cannot be read from {text[1:]}: {problem.strerror or problem}")
    except UnicodeDecodeError:
        fail(f"--call cannot be read from {text[1:]}: this is not UTF-8 text")
    try:
        arguments = orjson.loads(source)
    except orjson.JSONDecodeError as problem:
        fail(f"--call is not JSON: {problem}")
    if not isinstance(arguments, dict):
        fail('--call is not a JSON object of arguments, such as {"order_id": "O1"}')
    return arguments


def document(made: RecoveryContext) -> dict[str, Any]:
    """Return a context in the form of ``btm context --json``."""
    return {"text": made.text, "plan": plan_document(made.plan), "tokens": made.tokens}


def plan_document(plan: RecoveryPlan) -> dict[str, Any]:
    """Return a plan as JSON values."""
    return {
        "tool": plan.call.tool,
        "kind": plan.outcome.kind,
        "steps": [step_document(step) for step in plan.steps],
        "rejected": [step_document(step) for step in plan.rejected],
        "forbidden": [
            {"action": action, "policy": verdict.policy, "level": verdict.level, "say": verdict.say}
            for action, verdict in plan.forbidden.items()
        ],
        "directives": [verdict.say for verdict in plan.verdicts],
        "escalation_tool": plan.escalation_tool or None,
        "health": plan.health or None,
    }


def step_document(step: Step) -> dict[str, Any]:
    """Return a step as JSON values."""
    belief = step.belief
    return {
        "action": step.action,
        "tool": step.tool or None,
        "arguments": dict(step.arguments) if step.arguments is not None else None,
        "missing": list(step.missing),
        "chance": step.chance if belief else None,
        "low": belief.low if belief else None,
        "high": belief.high if belief else None,
        "n": belief.n if belief else None,
        "value": step.coverage,
        "cost": step.cost,
        "wait_s": step.wait_s,
        "score": step.score,
        "worth_trying": step.worth_trying,
        "lacks": list(step.lacks),
    }
