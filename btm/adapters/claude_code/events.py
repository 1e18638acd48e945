"""One hook event of Claude Code, and the answer to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.adapters.framework import PutOff
from btm.adapters.wording import refusal_text
from btm.memory import ToolMemory
from btm.model import Effect, Family, Outcome, ToolCall
from btm.planning.closing import in_result
from btm.runtime.drivers import Handled
from btm.support.effects import is_general

BEFORE, AFTER, FAILED, END = "PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"

# Tools of Claude Code's own whose names do not say that they only look.
_READS = frozenset({"Glob", "Grep", "LS", "NotebookRead", "Read", "WebFetch", "WebSearch"})


def answer(event: Mapping[str, Any], memory: ToolMemory) -> dict[str, Any]:
    """Learn from an event, and return what the hook answers: ``{}`` where there is nothing to say.

    A failure is told what to do next (``additionalContext``); in guard mode a call that a policy forbids is denied.
    """
    name = event.get("hook_event_name")
    if name == END:
        memory.end(_conversation(event))
        return {}
    if name not in (BEFORE, AFTER, FAILED) or not isinstance(event.get("tool_name"), str):
        return {}
    call = _call(event, memory)
    if name == BEFORE:
        return _denied(call, memory)
    if name == FAILED and event.get("is_interrupt") is True:
        return {}  # the user has stopped it: no failure of the tool
    handled = _replayed(call, event, memory)
    if handled is None or handled.context is None or _says_nothing(call, handled.outcome):
        return {}
    return _said(str(name), additionalContext=in_result(handled.context))


def _said(event: str, **fields: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _conversation(event: Mapping[str, Any]) -> str:
    """A subagent's calls are a conversation of their own."""
    parts = ("claude", str(event.get("session_id", "")), str(event.get("agent_id") or ""))
    return "-".join(part for part in parts if part)


def _call(event: Mapping[str, Any], memory: ToolMemory) -> ToolCall:
    tool = event["tool_name"]
    given = event.get("tool_input")
    arguments = given if isinstance(given, Mapping) else {}
    effect = memory.effect_of(tool, Effect.READ if tool in _READS else None)
    return ToolCall(tool, arguments, effect, _conversation(event), str(event.get("tool_use_id") or ""))


def _denied(call: ToolCall, memory: ToolMemory) -> dict[str, Any]:
    def invoke(_tool: str, _arguments: Mapping[str, Any]) -> Any:
        raise PutOff  # nothing forbids it: Claude Code makes it, and what comes of it is learned afterwards

    try:
        handled = memory.call(call, invoke)
    except PutOff:
        return {}
    if not handled.refused:
        return {}
    return _said(BEFORE, permissionDecision="deny", permissionDecisionReason=refusal_text(handled))


def _replayed(call: ToolCall, event: Mapping[str, Any], memory: ToolMemory) -> Handled | None:
    """Take a call that Claude Code has made through btm, with what came of it in the place of the tool."""
    failed = event["hook_event_name"] == FAILED

    def invoke(tool: str, _arguments: Mapping[str, Any]) -> Any:
        if failed:
            raise RuntimeError(str(event.get("error") or "the tool failed"))
        # Claude Code flags the failures of its own tools. What they show (a file, a page, a log) is full of other
        # people's errors; only servers of MCP answer with failures that nobody has flagged.
        return event.get("tool_response") if tool.startswith("mcp__") else "done"

    handled = memory.call(call, invoke)
    if not handled.refused:
        return handled
    # It was made all the same, beside the call that forbids it: what came of it is learned.
    ticket = memory.begin(call)
    if ticket is not None:
        memory.finish(ticket, result="done", error=RuntimeError(str(event.get("error"))) if failed else None)
    return None


def _says_nothing(call: ToolCall, outcome: Outcome) -> bool:
    """Whether a failure is the everyday kind that a coding agent deals with itself, such as a test that fails."""
    everyday = outcome.family in (Family.CALLER, Family.UNKNOWN)
    return everyday and is_general(call.tool, call.arguments)
