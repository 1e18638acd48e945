"""Records of tracing platforms: one reader, and a table of how each product's exports are recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from btm.logs import loose, n8n, platforms, toolspans
from btm.logs.conversation import Entry, Skipped
from btm.logs.loose import LooseCall
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path


class Platform(NamedTuple):
    """A format of records, a call each. ``paths`` lead to them in a document that is too large to be read whole."""

    NAME: str
    LOOKS_FOR: str
    signs: tuple[frozenset[str], ...]
    parse: Callable[[Any], Iterator[LooseCall]] = platforms.parse
    paths: tuple[Path, ...] = (("data",), ("observations",), ("spans",))

    def matches(self, sample: Sample) -> bool:
        """Whether the log's beginning shows the format's signs."""
        return any(signs <= sample.signs for signs in self.signs)

    def apart(self, sample: Sample) -> None:
        """Conversations are mixed in these logs."""

    def read(self, log: Log) -> Iterator[Entry | Skipped]:
        """Read the traces as conversations."""
        whole = bool(log.sample.records)
        path = () if whole else next((path for path in self.paths if path[0] in log.sample.keys), ())
        return loose.entries(log, self.NAME, self.parse, path)


def _row(
    name: str, looks_for: str, *signs: str, parse: Callable[[Any], Iterator[LooseCall]] = platforms.parse
) -> Platform:
    return Platform(name, looks_for, tuple(frozenset(some.split()) for some in signs), parse)


PLATFORMS = (
    _row("langfuse", "observations of type `TOOL` with a `traceId`", "traceId type=TOOL", "parentObservationId",
         "parent_observation_id", "observations type=TOOL"),
    _row("openai_agents", "spans with `span_data` of type `function`", "object=trace.span", "span_data trace_id"),
    _row("datadog", "spans whose `meta` has the `span.kind` tool", "span.kind=tool meta", "span_id meta span kind=tool",
         "span_kind=tool ml_app", "type=span span_kind=tool start_ms", "meta span_id start_ns"),
    _row("weave", "calls with an `op_name`", "op_name trace_id"),
    _row("mlflow", "traces whose spans have an `mlflow.spanType`", "mlflow.spanType", parse=toolspans.parse),
    _row("jaeger", "`spans` with a `traceID` and `operationName`", "traceID operationName", parse=toolspans.parse),
    _row("logfire", "rows with an `otel_status_code` or a `span_name`", "otel_scope_name span_id", "span_name trace_id",
         parse=toolspans.parse),
    _row("braintrust", "spans with `span_attributes` and a `root_span_id`", "span_attributes root_span_id"),
    _row("opik", "spans of type `tool` with a `trace_id` and `error_info`", "trace_id error_info"),
    _row("n8n", "an execution with `resultData` and its `runData`", "runData", parse=n8n.parse),
)  # fmt: skip
