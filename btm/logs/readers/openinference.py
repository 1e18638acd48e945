"""OpenInference spans (Phoenix, Arize): ``openinference.span.kind`` is TOOL.

https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md. A tool that handles its own error
ends with status OK: what it returned is kept, for only that tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs import loose, toolspans
from btm.logs.conversation import Entry, Skipped
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.spans import are_spans, path_of
from btm.logs.toolspans import OPENINFERENCE_KIND

NAME = "openinference"
LOOKS_FOR = "spans with the attribute `openinference.span.kind`, or with a `span_kind` beside their context"

_MARKS = (OPENINFERENCE_KIND.encode(), b'"openinference":')  # flat or unfolded


def matches(sample: Sample) -> bool:
    """Whether the log is one of spans in whose beginning the convention's own attribute comes up."""
    if not are_spans(sample):
        return False
    mentioned = any(mark in sample.head for mark in _MARKS)
    return mentioned or any("span_kind" in record for record in sample.objects)


def apart(sample: Sample) -> None:
    """Conversations are mixed in these logs."""


def read(log: Log) -> Iterator[Entry | Skipped]:
    """Read the traces as conversations."""
    return loose.entries(log, NAME, toolspans.parse, path_of(log.sample))
