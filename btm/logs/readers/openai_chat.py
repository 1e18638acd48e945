"""OpenAI chat logs: one conversation a line, a JSON array of them, or one as an array of messages.

https://platform.openai.com/docs/api-reference/chat. Calls are in the assistant's ``tool_calls`` (name and arguments
under ``function``, or on the call itself), answers in messages of role ``tool``.
"""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs.chat import conversations, records_apart, sampled_messages
from btm.logs.conversation import Conversation, Skipped
from btm.logs.layout import LISTS
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path

NAME = "openai_chat"
LOOKS_FOR = "`messages` whose members have a `role`, calls in `tool_calls`, answers with role `tool`"


def matches(sample: Sample) -> bool:
    """Whether the log's first records hold messages with roles."""
    if any(isinstance(message.get("role"), str) for message in sampled_messages(sample)):
        return True
    return not sample.records and not sample.keys.isdisjoint(LISTS) and b'"role"' in sample.head


def apart(sample: Sample) -> Path | None:
    """Where the records lie that are a conversation each, if they are."""
    return records_apart(sample)


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read the log's conversations."""
    return conversations(log, NAME)
