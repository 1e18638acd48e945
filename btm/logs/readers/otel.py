"""OpenTelemetry's GenAI spans: ``execute_tool``, as OTLP JSON or a span a line.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span (version 1.37 and later).
Arguments and results are opt-in there, so many logs hold only ``error.type`` and the status.
"""

from __future__ import annotations

from collections.abc import Iterator

from btm.logs import loose, toolspans
from btm.logs.conversation import Entry, Skipped
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.spans import are_spans, path_of

NAME = "otel"
LOOKS_FOR = "OpenTelemetry spans (`resourceSpans`, or records with a trace id and a span id)"


def matches(sample: Sample) -> bool:
    """Whether the log's first records are spans."""
    return are_spans(sample)


def apart(sample: Sample) -> None:
    """Conversations are mixed in these logs."""


def read(log: Log) -> Iterator[Entry | Skipped]:
    """Read the traces as conversations."""
    return loose.entries(log, NAME, toolspans.parse, path_of(log.sample))
