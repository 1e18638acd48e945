"""Records of tracing platforms: one reader, and a table of how each product's exports are recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from btm.logs import loose, modelcalls, n8n, platforms, spans
from btm.logs.conversation import Entry, Skipped
from btm.logs.loose import Loose
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.scanner import Path


class Platform(NamedTuple):
    """A format of records, a call each. ``paths`` lead to them in a document that is too large to be read whole."""

    NAME: str
    LOOKS_FOR: str
    signs: tuple[frozenset[str], ...]
    parse: Callable[[Any], Iterator[Loose]] = platforms.parse
    paths: tuple[Path, ...] = (("data",), ("observations",), ("spans",), ("runs",), ("traces",))

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


class Spans(Platform):
    """Spans of OpenTelemetry's form, which is told from the first records themselves."""

    def matches(self, sample: Sample) -> bool:
        """Whether the log's first records are spans, with the row's signs if it has any."""
        return spans.are_spans(sample) and (not self.signs or super().matches(sample))

    def read(self, log: Log) -> Iterator[Entry | Skipped]:
        """Read the traces as conversations."""
        return loose.entries(log, self.NAME, self.parse, spans.path_of(log.sample))


def _row(
    name: str,
    looks_for: str,
    *signs: str,
    parse: Callable[[Any], Iterator[Loose]] = platforms.parse,
    kind: type[Platform] = Platform,
) -> Platform:
    return kind(name, looks_for, tuple(frozenset(some.split()) for some in signs), parse)


PLATFORMS = (
    _row("langsmith", "runs with a `run_type` and a `trace_id`", "run_type trace_id", "run_type dotted_order",
         "run_type parent_run_id", "run_type child_runs", "run_type session_id", "run_type inputs"),
    _row("langfuse", "observations of type `TOOL` with a `traceId`", "traceId type=TOOL", "parentObservationId",
         "parent_observation_id", "observations type=TOOL", "traceId statusMessage",
         "trace_id status_message level"),
    _row("openai_agents", "spans with `span_data` of type `function`", "object=trace.span", "span_data trace_id"),
    _row("datadog", "spans whose `meta` has the `span.kind` tool", "span.kind=tool meta", "span_id meta span kind=tool",
         "span_kind=tool ml_app", "type=span span_kind=tool start_ms", "meta span_id start_ns"),
    _row("weave", "calls with an `op_name`", "op_name trace_id"),
    _row("wandb", "a tree of spans with `child_spans`, or rows with its `root_span_dumps`", "root_span_dumps",
         "child_spans span_kind"),
    _row("mlflow", "traces whose spans have an `mlflow.spanType`", "mlflow.spanType", parse=platforms.spans),
    _row("jaeger", "`spans` with a `traceID` and `operationName`", "traceID operationName", parse=platforms.spans),
    _row("logfire", "rows with an `otel_status_code` or a `span_name`", "otel_scope_name span_id", "span_name trace_id",
         parse=platforms.spans),
    _row("braintrust", "spans with `span_attributes` and a `root_span_id`", "span_attributes root_span_id"),
    _row("opik", "spans of type `tool` with a `trace_id` and `error_info`", "trace_id error_info"),
    _row("langwatch", "spans of type `tool` with `timestamps`", "timestamps span_id trace_id"),
    _row("mastra", "spans with a `spanType` and an `entityName`", "traceId spanType"),
    _row("genkit", "spans with the attribute `genkit:metadata:subtype`", "genkit:metadata:subtype", "genkit:type"),
    _row("honeyhive", "events with an `event_type` and an `event_name`", "event_type event_name session_id"),
    _row("posthog", "events `$ai_generation`", "$ai_trace_id"),
    _row("humanloop", "logs of a flow with `trace_children`", "trace_children"),
    _row("n8n", "an execution with `resultData` and its `runData`", "runData", "data workflowData", "executionId data",
         "data workflowId finished", parse=n8n.parse),
    _row("langchain_events", "events `on_tool_start` and `on_tool_end`", "event=on_tool_start", "event=on_tool_end",
         "event=on_chain_start run_id", parse=platforms.events),
    _row("otel_logs", "OpenTelemetry log records (`resourceLogs`) of model calls", "resourceLogs", parse=modelcalls.logged),
    _row("openinference", "spans with the attribute `openinference.span.kind`, or a `span_kind` beside their context",
         "openinference.span.kind", "key=openinference.span.kind", "openinference", "attributes.openinference.span.kind",
         "span_kind", parse=platforms.spans, kind=Spans),
    _row("otel", "OpenTelemetry spans (`resourceSpans`, or records with a trace id and a span id)",
         parse=platforms.spans, kind=Spans),
)  # fmt: skip
