"""What a verdict moves: what the log teaches with the call as a failure, less what it taught with it as a success."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from btm.judge.agreement import RECHECKED, picked
from btm.judge.record import CallName, JudgedCall, VerdictFile
from btm.logs.conversation import Conversation, RecordedCall
from btm.logs.listening import Listener, Told
from btm.model import Action, Attempt, ErrorKind, EvidenceKey, Outcome
from btm.store import EvidenceRow, FittedConversation
from btm.store.sql import SqlStore

Move = tuple[Any, ...]
"""An attempt to add or to take away: tool, kind, action, target, ordinal, success, time, +1 or -1."""


def moves(
    conversation: Conversation, told: Told, listener: Listener, call_id: str, kind: ErrorKind
) -> tuple[Move, ...]:
    """Return the attempts that a conversation teaches otherwise when one of its calls had failed, silently, as ``kind``."""
    outcome = Outcome(kind, silent=True, reason="judges agree", rule="judge")

    def judged(recorded: RecordedCall) -> RecordedCall:
        return recorded._replace(outcome=outcome) if recorded.call.call_id == call_id else recorded

    batches = tuple(tuple(map(judged, batch)) for batch in conversation.batches)
    after = listener.listen(conversation._replace(batches=batches))
    change: Counter[Move] = Counter(map(_plain, after.attempts))
    change.subtract(map(_plain, told.attempts))
    return tuple((*one, n) for one, n in change.items() if n)


def _plain(attempt: Attempt) -> Move:
    return (*map(str, attempt.key[:4]), attempt.key.ordinal, attempt.success, attempt.at)


@dataclass
class Applied:
    """What applying verdicts came to: calls whose evidence moved, moved back, and those that a database does not know."""

    moved: int = 0
    undone: int = 0
    unknown: int = 0


def settle(store: SqlStore, file: VerdictFile, *, undo: bool = False) -> Applied:
    """Bring a database's evidence to what the verdicts say, each call once, however often this runs.

    A call that both judges or a person found wanting counts as failed; one that a person found good after all, or every
    one with ``undo``, as it did before. Each step and the mark that it was made are one transaction.
    """
    done = Applied()
    digests = store.fitted_digests()
    for call, judged in file:
        wrong = not undo and judged.satisfied is False and judged.failed_as is not None
        steps = _steps_made(call, digests)
        if wrong == bool(steps % 2):
            continue
        against = [row for row in judged.verdicts if row.satisfied is False]
        row = next(iter(against or [row for row in judged.verdicts if row.moves] or judged.verdicts), None)
        if row is None:
            continue
        mark = FittedConversation(_mark(call, steps + 1), f"judge: {call[0][:80]}", 0)
        known = bool(against) or picked(call, RECHECKED)  # for others it was not worked out what would move
        if row.digest in digests and known:
            store.add_learned(_rows(store, row.moves, 1 if wrong else -1), fitted=[mark])
        elif _lived(store, call, judged, wrong=wrong):
            store.add_learned((), fitted=[mark])
        else:
            done.unknown += 1
            continue
        if wrong:
            done.moved += 1
        else:
            done.undone += 1
    return done


def _lived(store: SqlStore, call: CallName, judged: JudgedCall, *, wrong: bool) -> bool:
    """Report a call that the database lived through, or take that back; return whether it did. Twice is as once."""
    if not wrong:
        return store.take_back_report(*call).found
    return judged.failed_as is not None and store.report(*call, judged.failed_as.kind).found


def _steps_made(call: CallName, digests: frozenset[str]) -> int:
    """Return how often a call's evidence was moved, there and back."""
    steps = 0
    while _mark(call, steps + 1) in digests:
        steps += 1
    return steps


def _mark(call: CallName, step: int) -> str:
    named = hashlib.blake2b("\0".join(call).encode("utf-8", "replace"), digest_size=20).hexdigest()
    return f"verdict:{named}:{step}"


def _rows(store: SqlStore, found: Iterable[Sequence[Any]], sign: int) -> list[EvidenceRow]:
    decay = store.decay
    rows: list[EvidenceRow] = []
    for tool, kind, action, target, ordinal, success, at, n in found:
        key = EvidenceKey(tool, ErrorKind(kind), Action(action), target, ordinal)
        weight = sign * n * decay.weight(at)
        rows.append((key, weight * bool(success), weight * (not success)))
    return rows
