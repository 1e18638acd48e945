"""OpenAI's Responses API: a flat list of items, on its own or as ``input`` and ``output`` of a logged request."""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs.chat import conversations, records_apart, sampled_messages
from btm.logs.conversation import Conversation, Skipped
from btm.logs.items import is_own_item
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path

NAME = "openai_responses"
LOOKS_FOR = "items of type `function_call` and `function_call_output` (a list, or `input` and `output`)"


def matches(sample: Sample) -> bool:
    """Whether the log's first records hold items that only the Responses API has."""
    if any(record.get("object") == "response" for record in sample.objects):
        return True
    return any(is_own_item(message) for message in sampled_messages(sample))


def apart(sample: Sample) -> Path | None:
    """Where the records lie that are a conversation each, if they are."""
    return records_apart(sample)


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read the log's conversations."""
    return conversations(log, NAME)
