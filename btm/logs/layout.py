"""What a record says about a conversation as a whole: its id, start and score, and where its messages lie.

The records of a log have the same keys, so where to look is worked out once for a set of keys and not for each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from btm.logs.values import number_of, time_of

LISTS = ("messages", "traj", "conversation", "conversations", "history")
"""The keys under which a record's list of messages is looked for, in this order."""

SHARED_IDS = ("conversation_id", "thread_id", "session_id", "sessionId")
"""The keys by which messages that are logged one by one name their conversation."""

_OWN_IDS = ("conversation_id", "trace_id", "thread_id", "session_id")
_OTHER_IDS = ("id", "uuid", "task_id")
_STARTS = ("start_time", "started_at", "created_at", "timestamp", "created")
_REWARDS = ("reward", "reward_info", "score")
_AROUND = ("choices", "output", "input", "request", "response")
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

    def messages_in(self, record: Mapping[str, Any]) -> list[Any]:
        """Return the record's messages, and after those of a logged request those of its response.

        Raises ValueError when it has none.
        """
        for key in self.lists:
            if type(found := record[key]) is list:
                return found + _answers(record) if self.around else found
        if self.around and (found := _request(record) + _answers(record)):
            return found
        if record.get("role"):
            return [record]
        raise ValueError(f"no list of messages under any of {', '.join(LISTS)}, input, output")


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
        bool(those(_AROUND)),
    )


def messages_of(record: Any) -> list[Any]:
    """Return a record's messages; the record may be the list itself. Raises ValueError when there are none."""
    return record if type(record) is list else layout_of(record).messages_in(record)


def _request(record: Mapping[str, Any]) -> list[Any]:
    """Return what was sent: the ``input`` of a Responses request, or the messages of a logged ``request``."""
    if type(items := record.get("input")) is list:
        return items
    request = record.get("request")
    return messages_of(request) if type(request) is dict else []


def _answers(record: Mapping[str, Any]) -> list[Any]:
    """Return what came back: ``choices``, ``output``, the message of a response, or a nested ``response``."""
    if type(choices := record.get("choices")) is list:
        return [choice["message"] for choice in choices[:1] if type(choice.get("message")) is dict]
    if type(output := record.get("output")) is list:
        return output
    if type(response := record.get("response")) is dict:
        return [response] if response.get("role") == "assistant" else _answers(response)
    return []
