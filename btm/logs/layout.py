"""What a record says about a conversation as a whole: its id, start and score, and where its messages lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs.values import number_of, time_of

LISTS = (
    "trajectory", "run_steps", "messages", "traj", "conversation", "conversations", "history", "events", "steps",
    "intermediate_steps", "intermediateSteps", "chatMessages", "requests", "transcript_with_tool_calls", "transcript",
    "mapping", "episodes",
)  # fmt: skip
"""The keys under which a record's list of messages is looked for, in this order."""

_LASTING_IDS = (
    "conversation_id", "conversationId", "thread_id", "threadId", "session_id", "sessionId", "sessionID", "sessionKey",
)  # fmt: skip
SHARED_IDS = (*_LASTING_IDS, "run_id", "runId")
"""The keys by which messages that are logged one by one name their conversation. A run's may come up again."""

_OWN_IDS = (*_LASTING_IDS, "trace_id", "traceId")
_OTHER_IDS = ("id", "uuid", "task_id", "agent_id")
_TASKS = ("task_id", "taskId", "instance_id", "question_id", "example_id", "sample_id")
_STARTS = ("start_time", "started_at", "created_at", "timestamp", "created")
_REWARDS = ("reward", "reward_info", "score")
AROUND = ("choices", "output", "outputs", "input", "inputs", "request", "response", "body", "candidates")
_AROUND = frozenset(AROUND)
_UNIQUE = 20  # an id of this length is a UUID or the like; a shorter one may come up in another file again


def id_in(record: Mapping[str, Any], digest: str) -> str:
    """Return the conversation's id; one that is not sure to be unique is completed with the content's digest."""
    for key in _OWN_IDS:
        if own := record.get(key):
            return str(own)
    for key in _OTHER_IDS:
        if (other := record.get(key)) is not None and other != "":
            text = str(other)
            return text if len(text) >= _UNIQUE else f"{text}@{digest[:12]}"
    return digest


def task_in(record: Mapping[str, Any]) -> str:
    """Return the log's own name of the task, "" where it has none."""
    return next((str(value) for key in _TASKS if (value := record.get(key)) not in (None, "")), "")


def described_in(record: Mapping[str, Any], depth: int = 0) -> tuple[tuple[str, str], ...]:
    """Return the names and descriptions of the tools that a request lists."""
    tools = record.get("tools")
    if not isinstance(tools, list):
        inner = (
            record.get(key) for key in ("request", "body", "input", "inputs", "model_parameters", "metadata")
        )
        found = (described_in(place, depth + 1) for place in inner if isinstance(place, dict) and depth < 2)
        return next(filter(None, found), ())
    said = [tool.get("function") or tool for tool in tools if isinstance(tool, dict)]
    texts = [(t.get("name"), t.get("description")) for t in said if isinstance(t, dict)]
    return tuple((name, text) for name, text in texts if isinstance(name, str) and isinstance(text, str))


def start_in(record: Mapping[str, Any]) -> float | None:
    """Return when the conversation began, in seconds since the epoch."""
    return next((at for key in _STARTS if (at := time_of(record.get(key))) is not None), None)


def reward_in(record: Mapping[str, Any]) -> float | None:
    """Return the log's own score: ``reward``, ``reward_info.reward`` or ``score``."""
    for key in _REWARDS:
        reward = record.get(key)
        if type(reward) is dict:
            reward = reward.get("reward")
        if (number := number_of(reward)) is not None:
            return number
    return None


def plain_in(record: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages of a record that is a conversation and nothing else; None where it may be more."""
    if not _AROUND.isdisjoint(record):
        return None
    return next((found for key in LISTS if type(found := record.get(key)) is list), None)
