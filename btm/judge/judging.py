"""Judging logs: every call that seems to have worked is put to each judge once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from btm.judge.agreement import RECHECKED, picked
from btm.judge.evidence import Move, moves
from btm.judge.models import Judge
from btm.judge.question import questions
from btm.judge.record import FOUND_BY_A_PERSON, CallName, VerdictFile, verdict_row
from btm.judge.verdict import JudgeReply
from btm.logs.conversation import Conversation
from btm.logs.learned import heard_once
from btm.logs.listening import Listener
from btm.model import ErrorKind


@dataclass
class Judging:
    """What a run did: calls met, those without an intent to judge by left out, and requests made to models."""

    calls: int = 0
    asked: int = 0
    requests: int = 0


def _would_count_as(reply: JudgeReply | None, call: CallName) -> ErrorKind | None:
    """Return what a call would count as if it failed: what its judge says, or where a person is asked in any case."""
    if reply is not None and reply.category is not None:
        return reply.category.kind
    return FOUND_BY_A_PERSON.kind if picked(call, RECHECKED) else None


def judge_logs(
    conversations: Iterable[Conversation],
    listener: Listener,
    judges: Sequence[Judge],
    file: VerdictFile,
    *,
    clock: Callable[[], float],
    limit: int | None = None,
) -> Judging:
    """Ask each judge about each call that it has not judged, and write its verdict down before the next is asked."""
    done = Judging()
    for conversation, told in heard_once(conversations, listener):
        for question in questions(conversation, told):
            if question.call_id in told.before:
                continue
            if limit is not None and done.calls >= limit:
                return done
            done.calls += 1
            name = (question.conversation, question.call_id)
            for judge in judges:
                if file.has(name, judge.name):
                    continue
                reply = judge.ask(question)
                done.asked += 1
                done.requests += judge.asks
                moved: tuple[Move, ...] = ()
                kind = _would_count_as(reply, name)
                if kind is not None:
                    moved = moves(conversation, told, listener, question.call_id, kind)
                file.add(verdict_row(question, judge.name, reply, clock(), moved))
    return done
