"""What a record says about a conversation as a whole: its id, start and score, and where its messages lie.

The records of a log have the same keys, so where to look is worked out once for a set of keys and not for each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from btm.logs.values import number_of, time_of

LISTS = (
    "trajectory", "messages", "traj", "conversation", "conversations", "history", "events", "steps",
    "intermediate_steps", "intermediateSteps", "chatMessages", "requests", "transcript_with_tool_calls", "transcript",
    "mapping",
)  # fmt: skip
"""The keys under which a record's list of messages is looked for, in this order."""

SHARED_IDS = (
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
    "session_id",
    "sessionId",
    "sessionID",
)
"""The keys by which messages that are logged one by one name their conversation."""

_OWN_IDS = (*SHARED_IDS, "trace_id", "traceId")
_OTHER_IDS = ("id", "uuid", "task_id")
_TASKS = ("task_id", "taskId", "instance_id", "question_id", "example_id", "sample_id")
_STARTS = ("start_time", "started_at", "created_at", "timestamp", "created")
_REWARDS = ("reward", "reward_info", "score")
AROUND = ("choices", "output", "outputs", "input", "inputs", "request", "response", "body", "candidates")
_UNIQUE = 20  # an id of this length is a UUID or the like; a shorter one may come up in another file again
_USUAL = 64  # records with more keys than this are not worth remembering


class Layout(NamedTuple):
    """Which of the keys that matter a record has."""

    lists: tuple[str, ...]
    own_ids: tuple[str, ...]
    other_ids: tuple[str, ...]
    starts: tuple[str, ...]
    rewards: tuple[str, ...]
    around: bool
    tasks: tuple[str, ...] = ()

    def id_in(self, record: Mapping[str, Any], digest: str) -> str:
        """Return the conversation's id; one that is not sure to be unique is completed with the content's digest."""
        for key in self.own_ids:
            if own := record[key]:
                return str(own)
        for key in self.other_ids:
            if (other := record[key]) is not None and other != "":
                text = str(other)
                return text if len(text) >= _UNIQUE else f"{text}@{digest[:12]}"
        return digest

    def task_in(self, record: Mapping[str, Any]) -> str:
        """Return the log's own name of the task, "" where it has none."""
        return next((str(record[key]) for key in self.tasks if record[key] not in (None, "")), "")

    def start_in(self, record: Mapping[str, Any]) -> float | None:
        """Return when the conversation began, in seconds since the epoch."""
        for key in self.starts:
            if (start := time_of(record[key])) is not None:
                return start
        return None

    def reward_in(self, record: Mapping[str, Any]) -> float | None:
        """Return the log's own score: ``reward``, ``reward_info.reward`` or ``score``."""
        for key in self.rewards:
            reward = record[key]
            if type(reward) is dict:
                reward = reward.get("reward")
            if (number := number_of(reward)) is not None:
                return number
        return None

    def plain_in(self, record: Mapping[str, Any]) -> list[Any] | None:
        """Return the messages of a record that is a conversation and nothing else; None where it may be more."""
        if self.around:
            return None
        return next((found for key in self.lists if type(found := record[key]) is list), None)


def layout_of(record: Any) -> Layout:
    """Return the layout of a record. Raises ValueError when it is no object."""
    if type(record) is not dict:
        raise ValueError(f"expected an object or an array, found {type(record).__name__}")
    return (_layout if len(record) <= _USUAL else _layout.__wrapped__)(tuple(record))


@lru_cache(maxsize=256)
def _layout(keys: tuple[str, ...]) -> Layout:
    present = frozenset(keys)

    def those(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name in present)

    return Layout(
        those(LISTS),
        those(_OWN_IDS),
        those(_OTHER_IDS),
        those(_STARTS),
        those(_REWARDS),
        bool(those(AROUND)),
        those(_TASKS),
    )
