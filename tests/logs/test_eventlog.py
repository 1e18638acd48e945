from __future__ import annotations

import json
from pathlib import Path

import pytest
from event_lines import call_event, end_event
from hypothesis import given
from hypothesis import strategies as st
from log_samples import read, read_one, write

from btm.logs.conversation import HASHED, NO_RESULT
from btm.logs.eventlog import outcome_fields, outcome_from, report_event
from btm.model import Effect, ErrorKind, Outcome, ToolCall

READ = ToolCall("get_order", {"order_id": "W1"}, conversation="c1", call_id="1", at=10.0, intent="look")
WRITE = ToolCall("cancel", {"order_id": "W1"}, Effect.WRITE, conversation="c1", call_id="2", at=11.0)
LATE = Outcome(
    ErrorKind.TIMEOUT, "no answer in 30 s", ambiguous=True, confidence=0.9, reason="text", rule="timeout"
)


def test_a_call_comes_back_with_its_verdict_and_without_a_result(tmp_path: Path) -> None:
    lines = [
        call_event(READ, Outcome(), hash_key=None, latency_s=0.5),
        call_event(WRITE, LATE, hash_key=None),
        end_event("c1", 12.0, reward=0.0),
    ]
    conversation = read_one(write(tmp_path / "log", b"".join(lines)))
    first, second = conversation.calls
    assert (conversation.conversation_id, conversation.reward, conversation.started_at) == ("c1", 0.0, 10.0)
    assert (first.call, second.call) == (READ, WRITE)
    assert (first.outcome, second.outcome) == (Outcome(), LATE)
    assert first.result is NO_RESULT
    assert first.latency_s == pytest.approx(0.5)
    assert first.answered


def test_hashed_arguments_can_still_be_compared(tmp_path: Path) -> None:
    same, other = ({"order_id": n} for n in ("W1", "W2"))
    calls = [
        ToolCall("f", arguments, conversation="c", call_id=str(n))
        for n, arguments in enumerate((same, same, other))
    ]
    raw = b"".join(call_event(call, Outcome(), hash_key=b"secret") for call in calls)
    first, again, second = (c.call.arguments for c in read_one(write(tmp_path / "log", raw)).calls)
    assert first == again != second
    assert set(first) == {HASHED}
    assert b"W1" not in raw


def test_a_later_report_turns_a_success_into_a_failure(tmp_path: Path) -> None:
    raw = call_event(READ, Outcome()) + report_event("c1", "1", ErrorKind.FACTUAL_ERROR, 99.0)
    (call,) = read_one(write(tmp_path / "log", raw)).calls
    assert call.outcome is not None
    assert (call.outcome.kind, call.outcome.silent) == (ErrorKind.FACTUAL_ERROR, True)


def test_calls_of_one_turn_are_one_batch_by_name_or_by_time(tmp_path: Path) -> None:
    def line(number: int, at: float, conversation: str, turn: str | None, latency_s: float | None) -> bytes:
        call = ToolCall("f", {}, conversation=conversation, call_id=str(number), at=at)
        return call_event(call, Outcome(), turn=turn, latency_s=latency_s)

    named = [line(n, float(n), "named", turn, None) for n, turn in enumerate(("a", "a", "b"))]
    timed = [line(n, at, "timed", None, 1.0) for n, at in enumerate((0.0, 0.5, 1.2))]
    mixed = [event for pair in zip(named, timed, strict=True) for event in pair]
    conversations, skipped = read(write(tmp_path / "log", b"".join(mixed)))
    assert skipped == []
    assert {c.conversation_id: [len(b) for b in c.batches] for c in conversations} == {
        "named": [2, 1],
        "timed": [2, 1],
    }


def test_an_event_that_comes_again_counts_once(tmp_path: Path) -> None:
    raw = call_event(READ, Outcome()) * 2
    assert len(list(read_one(write(tmp_path / "log", raw)).calls)) == 1


def test_events_of_an_unknown_kind_are_passed_over_and_unknown_error_kinds_reported(tmp_path: Path) -> None:
    lines = [
        call_event(READ, Outcome()),
        b'{"type": "heartbeat", "conversation": "c1"}\n',
        b'{"type": "call", "conversation": "c1", "call_id": "9", "tool": "f", "kind": "gremlins"}\n',
        b'{"type": "call", "conversation": "c1", "call_id": "9", "kind": null}\n',
    ]
    conversations, skipped = read(write(tmp_path / "log", b"".join(lines)))
    assert [len(list(c.calls)) for c in conversations] == [1]
    assert [s.line for s in skipped] == [3, 4]


def test_a_record_stays_small_and_tells_no_secret() -> None:
    leaking = Outcome(ErrorKind.AUTH_ERROR, detail="denied: api_key=sk-abcdefghijklmnop")
    line = call_event(READ, leaking)
    assert b"abcdefghijklmnop" not in line
    assert set(json.loads(call_event(WRITE, Outcome()))) == {
        "type",
        "conversation",
        "call_id",
        "tool",
        "at",
        "kind",
        "arguments_hash",
        "effect",
    }


@given(
    st.builds(
        Outcome,
        kind=st.none() | st.sampled_from(ErrorKind),
        status_code=st.none() | st.integers(100, 599),
        retry_after_s=st.none() | st.floats(0, 1e6),
        silent=st.booleans(),
        ambiguous=st.booleans(),
        confidence=st.floats(0, 1),
    )
)
def test_an_outcome_survives_being_written(outcome: Outcome) -> None:
    assert outcome_from({"kind": outcome.kind, **outcome_fields(outcome)}) == outcome
