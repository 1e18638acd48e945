from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_samples import FOUND, flags_of, jsonl, last, read, read_one, trajectory, write

from btm.logs.trajectory import TYPE_OF_KIND, Trajectory, TrajectoryStep, failure_fields
from btm.model import ErrorKind, Outcome


@pytest.mark.parametrize("form", ["one", "array", "lines"])
def test_trajectories_are_read_in_every_framing(form: str, tmp_path: Path) -> None:
    records = [trajectory(f"t{n}") for n in range(1 if form == "one" else 3)]
    content: Any = records[0] if form == "one" else records if form == "array" else jsonl(records)
    conversations, skipped = read(write(tmp_path / "log", content))
    assert skipped == []
    assert [c.conversation_id for c in conversations] == [r["trajectory_id"] for r in records]
    for conversation in conversations:
        assert conversation.format == "trajectories"
        assert [len(batch) for batch in conversation.batches] == [2, 1]
        assert [c.call.intent for c in conversation.calls] == ["work on W1", "work on W2", "work on W1"]
        assert flags_of(conversation) == [False, True, None]


def test_a_step_keeps_its_response_and_the_annotated_outcome(tmp_path: Path) -> None:
    found, missing, cancelled = read_one(write(tmp_path / "log", trajectory())).calls
    assert found.result == FOUND
    assert found.outcome is None
    assert missing.result["error_code"] == "NOT_FOUND"
    assert missing.outcome is not None
    assert (missing.outcome.kind, missing.outcome.status_code) == (ErrorKind.NOT_FOUND, 404)
    assert not cancelled.answered


@pytest.mark.parametrize(
    ("failure_type", "subtype", "code", "kind"),
    [
        ("infrastructure", "timeout", None, ErrorKind.TIMEOUT),
        ("infrastructure", "authz", 403, ErrorKind.AUTH_ERROR),
        ("infrastructure", "server_error", 500, ErrorKind.SERVER_ERROR),
        ("infrastructure", "server_error", 503, ErrorKind.UNAVAILABLE),
        ("infrastructure", "rate_limit", 429, ErrorKind.RATE_LIMIT),
        ("parameter", "syntactic", 400, ErrorKind.INVALID_ARGUMENTS),
        ("parameter", "boundary", None, ErrorKind.INVALID_ARGUMENTS),
        ("parameter", "boundary", 409, ErrorKind.PRECONDITION_FAILED),
        ("parameter", "semantic", 200, ErrorKind.FACTUAL_ERROR),
        ("parameter", "unheard of", None, None),
        ("logic", "infinite_retry", None, None),
        (None, None, 200, None),
    ],
)
def test_types_and_subtypes_have_our_kinds_beside_them(
    failure_type: str | None, subtype: str | None, code: int | None, kind: ErrorKind | None
) -> None:
    step = TrajectoryStep(
        0, "f", failure_type=failure_type, failure_subtype=subtype, response={"status_code": code}
    )
    assert (step.outcome.kind if step.outcome else None) is kind


def test_the_audit_types_say_nothing_of_the_call_itself(tmp_path: Path) -> None:
    record = trajectory()
    record["steps"][0].update(failure_type="logic", failure_subtype="cascade")
    first = next(read_one(write(tmp_path / "log", record)).calls)
    assert (first.is_error, first.outcome, first.result) == (None, None, FOUND)


def test_a_trajectory_is_written_as_it_was_read() -> None:
    record = trajectory()
    again = Trajectory.from_json(record).to_json()
    assert Trajectory.from_json(again) == Trajectory.from_json(record)
    assert {key: again[key] for key in record if key != "steps"} == {
        key: record[key] for key in record if key != "steps"
    }
    for written, given in zip(again["steps"], record["steps"], strict=True):
        assert {key: written[key] for key in given} == given
    assert again["reviewed_by"] == "a person"
    assert again["steps"][0]["turn"] == 1


def test_the_fields_are_those_of_the_record() -> None:
    written = Trajectory("t", steps=(TrajectoryStep(0, "f"),)).to_json()
    assert list(written) == [
        "trajectory_id",
        "task_description",
        "final_outcome",
        "steps",
        "failure_summary",
        "metadata",
    ]
    assert list(written["steps"][0]) == [
        "step_index",
        "tool_name",
        "intent",
        "input_params",
        "response",
        "failure_type",
        "failure_subtype",
        "failure_detail",
        "agent_observation",
        "agent_decision",
        "decision_correctness",
        "correctness_reason",
        "correct_action",
    ]


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_has_a_type_and_comes_back_exactly(kind: ErrorKind) -> None:
    assert TYPE_OF_KIND[kind]
    step = TrajectoryStep.from_json({"tool_name": "f", **failure_fields(Outcome(kind, detail="why"))}, 0)
    assert step.outcome is not None
    assert (step.outcome.kind, step.outcome.detail) == (kind, "why")


def test_a_success_has_no_failure_fields() -> None:
    assert TrajectoryStep.from_json({"tool_name": "f", **failure_fields(Outcome())}, 0).outcome is None


def test_the_outcome_is_a_reward_where_it_is_clear() -> None:
    outcomes = ("success", "failure", "partial", "escalated")
    assert [Trajectory("t", final_outcome=o).reward for o in outcomes] == [1.0, 0.0, None, None]


def test_a_trajectory_that_is_none_is_skipped(tmp_path: Path) -> None:
    records = [
        trajectory(),
        {"trajectory_id": "x", "steps": [{"input_params": {}}]},
        {"trajectory_id": "y"},
        trajectory(),
    ]
    conversations, skipped = read(write(tmp_path / "log", jsonl(records)))
    assert len(conversations) == 2
    assert [s.line for s in skipped] == [2, 3]
    assert last(conversations[0]).call.tool == "cancel_order"
