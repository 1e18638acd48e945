"""Dumps of LangChain messages: ``messages_to_dict``, ``load.dumps`` and ``model_dump``."""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs import lc
from btm.logs.chat import conversations, records_apart, sampled_messages
from btm.logs.conversation import Conversation, Skipped
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path

NAME = "langchain"
LOOKS_FOR = "messages of type `human`, `ai`, `tool` (with `data`, or with `lc` and `kwargs`)"


def matches(sample: Sample) -> bool:
    """Whether the log's first records hold LangChain's messages."""
    return any("role" not in message and lc.is_message(message) for message in sampled_messages(sample))


def apart(sample: Sample) -> Path | None:
    """Where the records lie that are a conversation each, if they are."""
    return records_apart(sample)


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read the log's conversations."""
    return conversations(log, NAME)
