"""What a model reads: the note at the end of its request, and the results of calls that failed or were refused.

The note is ephemeral: it is in the request and never in the stored history. It closes with the user's own request and
then with what to do now, see :func:`closing`. ``btm placement`` measures on any model where it is followed best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from btm.model import Action, ChoiceEnum
from btm.planning.closing import closing, turn
from btm.planning.context import DEFAULT_BUDGET, estimate_tokens, quoted, within
from btm.planning.instructions import call_text, in_a_word, instruction
from btm.planning.plan import RecoveryContext
from btm.runtime.drivers import Handled
from btm.support.untrusted import ARGUMENTS_LIMIT, cut, harmless, tool_name

MAX_CONTEXTS = 4
"""Recovery contexts in one note, at most: of more parallel failures the first are told."""

_SAY_LIMIT = 600
_BRIEF = 80  # characters of a call's arguments where several failures share a note
_LEFT = 20  # tokens that the line takes that names what is left

LOST = (
    "No result of this call was recorded: the run ended before it came. If it changes something it may have "
    "happened; check before you repeat it."
)
"""What stands in for the result of a call that a crash left without one."""

BRIDGE = "There is a note on this."
"""Said in the assistant's role between a tool's result and the note, for providers that want a turn of its own."""

# Mistral's API answers 400, "Unexpected role 'user' after role 'tool'"; others take it.
_WANTS_BRIDGE = ("mistral", "mixtral", "ministral", "magistral", "devstral", "codestral", "pixtral")


def wants_bridge(*names: str) -> bool:
    """Whether a model with one of these names refuses a user's message right after a tool's result."""
    return any(word in name.lower() for name in names for word in _WANTS_BRIDGE)


class Placement(ChoiceEnum):
    """Where in a model's request the recovery context stands."""

    USER_REMINDER = "user_reminder"  # an ephemeral last message in the user's role
    TOOL_RESULT = "tool_result"  # at the end of the failed call's own result
    SYSTEM = "system"  # at the end of the system message; costs the provider's prompt cache


def note(
    contexts: Sequence[RecoveryContext],
    request: str,
    lines: Iterable[str] = (),
    *,
    budget: int = DEFAULT_BUDGET,
) -> str:
    """Return the note's text, or ``""`` when there is nothing to say. ``lines`` are further lines of ours.

    What was asked for in one turn and failed is told together: in the order in which it is to be done, in one budget,
    with one ending. What does not fit is left out from the bottom of each context, the last one's first.
    """
    extra = "\n".join(line for line in lines if line)
    told = _in_order(contexts)
    if not told:
        return f"{extra}\n\n{closing((), request)}" if extra and request else extra
    end = closing(told, request)
    room = budget - estimate_tokens(end) - estimate_tokens(extra)
    kept = fitted(told, room)
    parts = [context.text for context in kept]
    if len(told) > len(kept):
        spare = room - sum(context.tokens for context in kept)
        parts.append(_also(told[len(kept) :], spare))
    return "\n\n".join([*parts, *([extra] if extra else []), closing(kept, request)])


def fitted(contexts: Sequence[RecoveryContext], room: int) -> list[RecoveryContext]:
    """Return contexts that take ``room`` tokens together: the first ones whole, the others as short as need be.

    One stays in any case. What a context says to do is never cut, but where the others have no room for it, long
    arguments are told in short.
    """
    limit = ARGUMENTS_LIMIT
    kept = [within(context, 0) for context in contexts[:MAX_CONTEXTS]]
    if len(kept) > 1 and sum(context.tokens for context in kept) > room:
        limit = _BRIEF
        kept = [within(context, 0, limit) for context in contexts[:MAX_CONTEXTS]]
    left = _room_for(contexts[len(kept) :], room)
    while len(kept) > 1 and sum(context.tokens for context in kept) > room - left:
        del kept[-1]
        left = _room_for(contexts[len(kept) :], room)
    spare = room - left - sum(context.tokens for context in kept)
    for place, (short, whole) in enumerate(zip(kept, contexts, strict=False)):
        kept[place] = within(whole, short.tokens + max(spare, 0), limit)
        spare -= kept[place].tokens - short.tokens
    return kept


def _room_for(contexts: Sequence[RecoveryContext], room: int) -> int:
    """Return the tokens to keep for the line that names these contexts: a third of the room at most."""
    return min(estimate_tokens(_also(contexts, room)), max(room // 3, _LEFT)) if contexts else 0


def _also(contexts: Sequence[RecoveryContext], room: int) -> str:
    """Return a line that names further failed calls, each with what is to be done, as far as there is room."""
    said = [in_a_word(context.plan) for context in contexts]
    whole = len(said)
    while True:
        more = f"; {whole - len(said)} more, see their results" if len(said) < whole else ""
        line = (
            f"also failed: {'; '.join(said)}{more}"
            if said
            else f"{whole} more calls failed; see their results."
        )
        if not said or estimate_tokens(line) <= max(room, _LEFT):
            return line
        del said[-1]


def _in_order(contexts: Iterable[RecoveryContext]) -> list[RecoveryContext]:
    """Return contexts that say different things: checks first, then calls, then a human, then what is to be stopped."""
    different = {context.text: context for context in contexts}.values()
    return sorted(different, key=turn)


def longer(content: Any, text: str) -> Any:
    """Return a message's content with ``text`` at its end; content blocks stay blocks."""
    return [*content, {"type": "text", "text": text}] if isinstance(content, list) else f"{content}\n\n{text}"


def done_text(handled: Handled) -> str:
    """Return the line that stands with an answer that btm brought about itself, ``""`` where it did nothing."""
    return f"[tool layer: {handled.done}]" if handled.done else ""


def refusal_text(handled: Handled) -> str:
    """Return what the model reads as the result of a call that was refused: why, and what is left to do.

    What a policy says may hold words of a model or a tool. It ends with the first line, on which nothing else follows
    it; what is left to do begins lines of its own.
    """
    said = f"{call_text(handled.call)} was not run."
    if handled.context is None:
        return said
    plan = handled.context.plan
    if plan.happened:  # nothing is left to do, least of all once more
        return f"{said} This very call was made before, and it worked; do not make it again."
    verdict = plan.forbidden.get(Action.RETRY)
    if verdict is not None and verdict.say:
        said += f" {harmless(cut(verdict.say, _SAY_LIMIT))}"
    lines = [said]
    if plan.first is not None:
        lines.append(f"Next: {instruction(plan.first, plan)}.")
    untried = [step for step in plan.steps[1:4] if step.action is Action.SWITCH]
    if untried:
        lines.append(f"Also untried: {', '.join(tool_name(step.tool) for step in untried)}.")
    return "\n".join(lines)


def late_text(tool: str, answer: str) -> str:
    """Return the line about a write that answered after its time limit."""
    return (
        f"late: {tool_name(tool)} answered after its time limit, so it may have happened: {quoted(answer)}. "
        "Check before you repeat it."
    )


def unreadable_error(tool: str, problem: str) -> Exception:
    """Return the error of a call whose arguments are no JSON. ``problem`` is the parser's text; it quotes them."""
    first = problem.strip().partition("\n")[0]
    reason = f" ({first})" if first and len(first) <= 160 else ""
    return ValueError(
        f"invalid arguments: the arguments of {tool_name(tool)} are not valid JSON{reason}. "
        "Call it again with arguments as one complete JSON object."
    )
