"""Anthropic's Messages API: content blocks ``tool_use`` and ``tool_result`` (with ``is_error``)."""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs.blocks import is_block
from btm.logs.chat import conversations, records_apart, sampled_messages
from btm.logs.conversation import Conversation, Skipped
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path

NAME = "anthropic"
LOOKS_FOR = "`messages` whose `content` is a list with blocks of type `tool_use` and `tool_result`"


def matches(sample: Sample) -> bool:
    """Whether the log's first records hold blocks of calls or answers."""
    for message in sampled_messages(sample):
        content = message.get("content")
        if "lc" not in message and isinstance(content, list) and any(map(is_block, content)):
            return True
    return not sample.records and b'"tool_use_id"' in sample.head


def apart(sample: Sample) -> Path | None:
    """Where the records lie that are a conversation each, if they are."""
    return records_apart(sample)


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read the log's conversations."""
    return conversations(log, NAME)
