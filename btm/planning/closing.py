"""What a recovery context ends with: the user's request where a note closes a model's request, then what to do now."""

from __future__ import annotations

from collections.abc import Sequence

from btm.model import Action
from btm.planning.plan import RecoveryContext
from btm.support.untrusted import cut

_REQUEST_LIMIT = 240

_CALL = 'Make the call that stands after "next:" above now.'
_CALLS = 'Make the calls that stand after "next:" above now, in this order.'
_REST = 'Then do what the other "next:" says.'
_NO_CALL = 'Do what stands after "next:" above now.'

# The places in a note of what goes on without a call, and of what is to be stopped.
_LATER, _STOP = 3, 4


def closing(contexts: Sequence[RecoveryContext], request: str) -> str:
    """Return what a note ends with: the user's request, then what to do now.

    The instruction stands last. On the tasks it was tuned on, a 1.5B model at times repeated a note's last line, the
    request, instead of following the note, and answered "do this" with a sentence where "make the call" got a call.
    On 12 tasks kept apart the two endings differed on two (12 and 10 solved): no proof that this one is better.
    Where all that is left is to stop, the request is not put to the model again.
    """
    asked = cut(request, _REQUEST_LIMIT)
    if not contexts:
        return f"Continue with: {asked}"
    turns = [turn(context) for context in contexts]
    if all(turn == _STOP for turn in turns):
        return _NO_CALL
    calls = sum(turn < _LATER for turn in turns)
    last = _NO_CALL if not calls else _CALL if calls == 1 else _CALLS
    if 0 < calls < len(contexts):
        last = f"{last} {_REST}"
    return f"The request is still: {asked}\n\n{last}" if asked else last


def in_result(context: RecoveryContext | None) -> str:
    """Return a context as it stands behind a tool's result, with what to do now at its end; ``""`` for none.

    Without that last line a small model that has seen a few tasks done takes the result for the answer: of 24 failures in
    an unseen domain Qwen2.5-Coder-1.5B-Instruct followed the bare context in 3, with the line in 17, and in 18 where
    it stood as a note at the end of the request.
    """
    return "" if context is None else f"{context.text}\n\n{closing((context,), '')}"


def turn(context: RecoveryContext) -> int:
    """Return a context's place in a note: checks first, then calls, a human, what goes on, and what is to be stopped."""
    first = context.plan.first
    if first is None or first.action is Action.ABANDON:
        # A doubtful answer is gone on with.
        return _LATER if context.plan.outcome.silent else _STOP
    if first.not_before is not None:
        return _LATER
    if first.action is Action.ESCALATE:
        return 2
    return 0 if first.action is Action.VERIFY else 1
