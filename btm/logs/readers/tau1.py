"""tau-bench's historical trajectories: ``traj`` is an OpenAI chat log, errors are texts that begin with "Error".

https://github.com/sierra-research/tau-bench
"""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs.chat import conversations, records_apart
from btm.logs.conversation import Conversation, Skipped
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path

NAME = "tau1"
LOOKS_FOR = "`traj`, a list of chat messages, beside `task_id` and `reward`"


def matches(sample: Sample) -> bool:
    """Whether the log's records have a ``traj``."""
    return any("traj" in record for record in sample.objects) or (
        not sample.records and b'"traj"' in sample.head
    )


def apart(sample: Sample) -> Path | None:
    """Where the records lie that are a conversation each, if they are."""
    return records_apart(sample)


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read the log's conversations."""
    return conversations(log, NAME)
