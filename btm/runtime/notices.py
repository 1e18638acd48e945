"""What a model is told before its turn, a line each, in the request alone.

Tools that are down for everyone, answers to be confirmed by a second source before what cannot be undone, and answers that
seemed to be successes and may be error texts: a hint, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.model import Effect, Outcome, ToolCall
from btm.planning.instructions import call_text, instruction
from btm.planning.plan import RecoveryPlan
from btm.runtime.breaker import Down
from btm.runtime.conditions import ToolEffects, span_text
from btm.runtime.cross_check import Check, SecondSources
from btm.runtime.ledger import Ledger
from btm.support.untrusted import tool_name

BEFORE_ANY_CHANGE = "before you change anything"

MAX_LINES = 4
"""Tools that are named in one request, at most."""


def doubt_lines(ledger: Ledger, conversation: str) -> list[str]:
    """Return a line on the conversation's latest answer, if it may be an error text."""
    found = ledger.conversations.suspected(conversation)
    if found is None:
        return []
    tool, kind = found
    return [
        f"doubt: what {tool_name(tool)} just answered may be an error ({kind.replace('_', ' ')}) and no result; read it "
        "again before you rely on it"
    ]


def down_text(down: Down, tool: str, now: float) -> str:
    """Return what is down, in words, and when it is tried again."""
    name = tool_name(tool)
    where = f"{name} (with all of {tool_name(down.name)})" if down.is_group else name
    worked = f"{down.calls - down.failed} of its last {down.calls} calls worked, {span_text(down.span_s)}"
    wait_s = down.probe_at - now
    again = f"it is tried again in {span_text(wait_s)}" if wait_s > 0 else "a read is to try it first"
    return f"{where} is down for everyone ({worked}); {again}"


def down_tools(ledger: Ledger, effects: ToolEffects, available: Collection[str] | None) -> dict[str, Down]:
    """Return the tools whose calls would not go through now, each with what is down. None: those of the map."""
    names = effects.mapped if available is None else available
    now = ledger.now()
    found = ((name, ledger.conditions.closed_to(name, effects.likely(name), now)) for name in names)
    return {name: down for name, down in found if down is not None}


def down_lines(
    ledger: Ledger,
    fallback_map: FallbackMap,
    effects: ToolEffects,
    conversation: str,
    available: Collection[str] | None,
) -> list[str]:
    """Return a line for each tool that is down, with what can stand in for it in this conversation."""
    if not ledger.conditions.any_down:
        return []
    tools = down_tools(ledger, effects, available)
    known = ledger.known(conversation) if tools else {}
    return [
        f"down: {down_text(down, tool, ledger.now())}{_instead(tool, down, fallback_map, known, tools, available)}"
        for tool, down in list(tools.items())[:MAX_LINES]
    ]


def check_lines(sources: SecondSources, conversation: str, available: Collection[str] | None) -> list[str]:
    """Return a line for each answer that a second source could confirm before what cannot be undone.

    It is a ``check`` before any change where answers of the tool turned out wrong before; else it is told.
    """
    fallback_map = sources.fallback_map
    names = list(fallback_map.tools if available is None else available)
    tools = fallback_map.tools
    writes = [n for n in names if fallback_map.effect(n) is Effect.WRITE and tools[n].role is None]
    final = [name for name in writes if fallback_map.entry(name).irreversible]
    checks = sources.standing(conversation, (final or writes)[0]) if writes else []
    before = ", ".join(map(tool_name, final[:MAX_LINES]))
    return [
        f"check: {BEFORE_ANY_CHANGE}, {check_text(check)}"
        if sources.ledger.reads.suspected(check.read.call.tool)
        else f"unconfirmed: before {before}, which cannot be undone, {check_text(check)}"
        for check in checks
    ]


def check_text(check: Check) -> str:
    """Return a check as an instruction: ``verify with list_orders {...} what get_order {...} gave``."""
    return f"verify with {call_text(check.other)} what {call_text(check.read.call)} gave"


def _instead(
    tool: str,
    down: Down,
    fallback_map: FallbackMap,
    known: Mapping[str, Any],
    out: Collection[str],
    available: Collection[str] | None,
) -> str:
    """Return what to call in its place: of what the map offers, the first that needs nothing else of the agent.

    What a substitute takes of the call itself is not known before that call: it stands as ``{email}``.
    """
    call, blanks = _blank_call(tool, fallback_map)
    bare = {s.target: s for s in fallback_map.candidates(replace(call, arguments={}), down.kind, known)}
    usable = [
        step if _holds_blanks(step, bare[step.target], blanks) else bare[step.target]
        for step in fallback_map.candidates(call, down.kind, known)
        if not any(
            name in out or (available is not None and name not in available)
            for name in step.via or (step.tool,)
        )
    ]
    if not usable:
        return ""
    step = next((step for step in usable if step.complete), usable[0])
    said = f". Instead, {instruction(step, RecoveryPlan('', call, Outcome(down.kind), (step,)))}"
    named = ", ".join(blank for blank in blanks if blank in str(step.arguments))
    return f"{said}; for {named} put what you would give {tool_name(tool)}" if named else said


def _blank_call(tool: str, fallback_map: FallbackMap) -> tuple[ToolCall, list[str]]:
    """Return a call of a tool whose arguments are blanks, and the blanks."""
    entry = fallback_map.entry(tool)
    blanks = {name: f"{{{tool_name(name)}}}" for name in entry.required_arguments}
    return ToolCall(tool, blanks, fallback_map.effect(tool) or Effect.READ), list(blanks.values())


def _holds_blanks(step: Step, bare: Step, blanks: Collection[str]) -> bool:
    """Whether what is missing without blanks shows them whole: a template may have made something else of one."""
    filled = [str((step.arguments or {})[name]) for name in bare.missing if name not in step.missing]
    return all(any(blank in text for blank in blanks) for text in filled)
