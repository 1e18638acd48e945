"""Failure trajectories (see ``btm.logs.trajectory``): an array of them, one a line, or one a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.conversation import NO_RESULT, Conversation, Skipped
from btm.logs.layout import start_in
from btm.logs.records import Log, Record, digest_of, read_each
from btm.logs.sample import Sample
from btm.logs.scanner import Path
from btm.logs.trajectory import LOGIC, Trajectory, TrajectoryStep
from btm.logs.turns import Turns, answer, told
from btm.logs.values import arguments_of, number_of, time_of

NAME = "trajectories"
LOOKS_FOR = "`trajectory_id` and `steps` with a `tool_name` each"


def matches(sample: Sample) -> bool:
    """Whether the log's first records are trajectories."""
    for record in sample.objects:
        if (
            "steps" in record and not _MARKS.isdisjoint(record) and "schema_version" not in record
        ):  # that is ATIF's
            return True
    return "trajectories" in sample.keys or (not sample.records and b'"trajectory_id"' in sample.head)


_MARKS = frozenset({"trajectory_id", "final_outcome", "failure_summary"})


def apart(sample: Sample) -> Path:
    """Where the trajectories lie."""
    return ("trajectories",) if "trajectories" in sample.keys else ()


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read each trajectory as a conversation."""
    return read_each(log, "a trajectory", lambda record: (_conversation(record),), apart(log.sample))


def _conversation(record: Record) -> Conversation:
    trajectory, digest = Trajectory.from_json(record.value), digest_of(record.raw)
    conversation_id, started_at = (str(trajectory.trajectory_id or digest), start_in(record.value))
    turns = Turns(conversation_id, started_at, digest[:8])
    turn: object = None
    for step in trajectory.steps:
        if step.extra.get("turn") is None or step.extra["turn"] != turn:
            turns.turn()
        turn = step.extra.get("turn")
        _add(turns, step)
    turns.task = trajectory.task_description or ""
    task_id = str(trajectory.extra.get("task_id") or "")
    own, reward = (record.place, digest, NAME), trajectory.reward
    return turns.conversation(*own, reward=reward, started_at=started_at, task_id=task_id)


def _add(turns: Turns, step: TrajectoryStep) -> None:
    extra = step.extra
    given, at = arguments_of(step.input_params), time_of(extra.get("at"))
    slot = turns.call(step.tool_name, given, extra.get("call_id"), at, intent=step.intent)
    told(slot, step.agent_observation, extra.get("reasoning"), extra.get("intent_source"))
    result, failed = _result(step.response), step.failure_type is not None
    # The types of logic are about the agent; and a step without response or failure has not been answered.
    silent = step.failure_type == LOGIC or (result is NO_RESULT and not failed)
    latency_s = number_of(extra.get("latency_s"))
    answer(slot, result, None if silent else failed, latency_s=latency_s, outcome=step.outcome)


def _result(response: Mapping[str, Any]) -> Any:
    """Return the body of a response that says nothing else, and otherwise the whole, for the code tells too."""
    said = {name for name, value in response.items() if value is not None}
    if said == {"body"} or (said == {"body", "status_code"} and response["status_code"] == 200):
        return response["body"]
    return response if said else NO_RESULT
