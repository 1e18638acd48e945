"""tau2-bench's result files: ``simulations[].messages``, an ``error`` flag on answers, ``reward_info.reward``.

https://github.com/sierra-research/tau2-bench. The simulated user has tools of its own (``requestor: "user"``: it
restarts its phone); those calls are left out, for they are not the agent's. A file of one simulation is read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from btm.logs.chat import conversations, records_apart
from btm.logs.conversation import Conversation, Skipped
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path

NAME = "tau2"
LOOKS_FOR = "`simulations`, each with `messages` and `reward_info`"
_AROUND = frozenset({"info", "tasks"})  # what comes before the simulations, and can be larger than a sample


def matches(sample: Sample) -> bool:
    """Whether the log is a result file or holds simulations."""
    return _is_result_file(sample) or any(map(_is_simulation, sample.objects))


def apart(sample: Sample) -> Path | None:
    """Where the simulations lie."""
    return ("simulations",) if _is_result_file(sample) else records_apart(sample)


def read(log: Log) -> Iterator[Conversation | Skipped]:
    """Read the simulations as conversations."""
    return conversations(log, NAME, apart(log.sample) or ())


def _is_result_file(sample: Sample) -> bool:
    return "simulations" in sample.keys or sample.keys >= _AROUND


def _is_simulation(record: Any) -> bool:
    return "messages" in record and ("reward_info" in record or "termination_reason" in record)
