"""A step of a plan as an instruction for a model, with its arguments.

Arguments and tool names are data: cut, on one line, with ``<`` and ``>`` escaped.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from btm.fallback import Step
from btm.learning.judging import IN_A_ROW, NOT_YET
from btm.model import Action, ErrorKind, ToolCall
from btm.planning.plan import UNCHECKED, Level, RecoveryPlan
from btm.support.untrusted import ARGUMENTS_LIMIT, arguments_text, harmless, text_of, tool_name

_SHORT_VALUE = 40  # characters
_IN_A_WORD = {
    Action.RETRY: "retry",
    Action.REVISE: "revise",
    Action.REPAIR: "repair with",
    Action.SWITCH: "switch to",
    Action.VERIFY: "verify with",
    Action.ESCALATE: "escalate with",
}


def instruction(step: Step, plan: RecoveryPlan, arguments_limit: int = ARGUMENTS_LIMIT) -> str:
    """Return a step as an instruction: ``retry get_order {"order_id": "O1"}``."""
    name = tool_name(step.tool)
    arguments = _given(step, plan, arguments_limit)
    fill = f", and fill in {', '.join(tool_name(m) for m in step.missing)}" if step.missing else ""
    match step.action:
        case Action.RETRY:
            if step.not_before is not None:
                return f"do something else first; retry {name}{arguments} {_when(step)}, or tell the user to wait"
            return f"retry {name}{arguments}"
        case Action.REVISE:
            return _another_call(name, plan)
        case Action.REPAIR:
            return f"repair with {name}{arguments}{fill}, then retry {_failed(step, plan)}"
        case Action.SWITCH:
            if step.arguments is None:
                return f"switch to {name}, with arguments of your own"
            if len(step.via) > 1:
                fill += "".join(f", then {tool_name(tool)} with what it gave" for tool in step.via[1:])
            lacks = f"; it lacks {harmless(', '.join(step.lacks))}" if step.lacks else ""
            return f"switch to {name}{arguments}{fill}{lacks}"
        case Action.VERIFY:
            failed = _failed(step, plan)
            about = f"what {failed} gave" if _of_read(step, plan) else f"whether {failed} went through"
            return f"verify with {name}{arguments}{fill} {about}"
        case Action.ESCALATE:
            return f"escalate with {name}: nothing else is left to try"
        case Action.ABANDON:
            return _the_end(_failed(step, plan), plan)


def _failed(step: Step, plan: RecoveryPlan) -> str:
    """Return the name of the tool that a step makes good for."""
    return tool_name(plan.call.tool if step.above is None else step.above.tool)


def in_a_word(plan: RecoveryPlan) -> str:
    """Return a failed call and its next step in a few words: ``get_rates: retry it``."""
    failed, step = tool_name(plan.call.tool), plan.first
    if step is None or step.action is Action.ABANDON:
        return f"{failed}: {'go on with what it gave' if plan.outcome.silent else 'stop calling it'}"
    whom = "it" if step.tool == plan.call.tool else tool_name(step.tool)
    return f"{failed}: {_IN_A_WORD[step.action]} {whom}"


def call_text(call: ToolCall) -> str:
    """Return a call as it stands in our lines: its tool and its arguments."""
    return f"{tool_name(call.tool)} {arguments_text(call.arguments)}"


def _given(step: Step, plan: RecoveryPlan, limit: int) -> str:
    """Return a step's arguments as they stand behind its tool; those that are too long for a note in short."""
    if step.arguments is None:
        return ""
    text = arguments_text(step.arguments)
    if len(text) <= limit:
        return f" {text}"
    failed = plan.call if step.above is None else step.above.call
    if step.arguments == failed.arguments:
        return (
            " with the same arguments"
            if step.action is Action.RETRY
            else " with the arguments of the failed call"
        )
    sent = {value for value in failed.arguments.values() if type(value) is str}
    short: dict[str, Any] = {}
    for name, value in step.arguments.items():
        if len(text_of(value, _SHORT_VALUE + 1)) <= _SHORT_VALUE:
            short[name] = value
        elif type(value) is str and value in sent:
            short[name] = f"[as in {tool_name(failed.tool)}]"
    left = [tool_name(name) for name in step.arguments if name not in short]
    return f" {arguments_text(short)}" + (f" and {', '.join(left)}" if left else "")


def _another_call(name: str, plan: RecoveryPlan) -> str:
    if not plan.general:
        # What is not in order may be the user's wish itself, and other arguments another wish.
        wish = (
            " as far as the user's request allows"
            if plan.outcome.kind is ErrorKind.PRECONDITION_FAILED
            else ""
        )
        return f"revise the arguments of {name} and call it again{wish}"
    if plan.outcome.ambiguous and plan.happened is None:
        return f"call {name} to look what this call did, before you run it again"
    if plan.outcome.silent:
        return f"call {name} with another command if you need more than it gave"
    return f"call {name} with another command: this one will fail the same way again"


def _the_end(failed: str, plan: RecoveryPlan) -> str:
    """Return what to do when btm knows of nothing more. It never claims to know the agent's other tools."""
    if plan.outcome.kind is ErrorKind.EMPTY_RESULT:
        if plan.outcome.rule == IN_A_ROW:
            return f"stop asking {failed}: it finds nothing, whatever it is asked. Use another tool, or tell the user so"
        return f"if the arguments of {failed} were right, its empty answer is the answer: go on with it"
    if plan.outcome.rule == NOT_YET:
        return f"go on, and tell the user that {failed} is under way and not confirmed yet"
    if plan.outcome.ambiguous and plan.happened is None and not plan.outcome.silent:
        retry = plan.forbidden.get(Action.RETRY)
        if plan.assumed and (retry is None or retry.level is Level.ADVISE):
            return (
                f"call {failed} again if all it does is look something up; if it changes anything, do not, "
                "and tell the user that it may have gone through"
            )
        return f"stop calling {failed} and tell the user that it may have gone through"
    if plan.outcome.silent:
        return f"go on with what {failed} gave, with care, and say what may be wrong with it"
    if plan.general:
        return f"go on without this call of {failed}, and tell the user what failed if nothing else does it"
    if plan.mapped:
        return f"stop calling {failed} and tell the user what failed: nothing else is left to try"
    if not plan.exhausted:
        return f"stop calling {failed} like this and tell the user what failed"
    return (
        f"stop calling {failed} like this: no substitute is known. Another of your tools may do; "
        "else tell the user what failed"
    )


def _of_read(step: Step, plan: RecoveryPlan) -> bool:
    return step.above is None and plan.outcome.rule == UNCHECKED


def _when(step: Step) -> str:
    """Return when a retry may be made, for a reader without a clock: in UTC, rounded up to a minute, and from now."""
    due = math.ceil((step.not_before or 0.0) / 60) * 60
    try:
        at = datetime.fromtimestamp(due, UTC)
    except (ValueError, OverflowError, OSError):  # a clock of some other era
        return f"not before {duration(step.wait_s)} from now"
    return f"not before {at:%H:%M} UTC ({duration(step.wait_s)} from now)"


def duration(seconds: float) -> str:
    """Return a time span in words: ``45 s``, ``12 min``, ``3 h``."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 5400 else f"{math.ceil(seconds / 360) / 10:g} h"
