"""Spans as the world writes them, read into one form.

Understood are OTLP JSON (``resourceSpans``, with attributes as lists of typed values), the Python SDK's
``span.to_json()``, Phoenix' spans (attributes flat or nested) and rows of its data frame (``attributes.tool.name``).
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from btm.logs.sample import Sample
from btm.logs.scanner import Path
from btm.logs.values import parsed_json, rows_in, time_of
from btm.logs.words import plain

_RESOURCES = ("resourceSpans", "resource_spans", "resourceLogs")
_SCOPES = ("scopeSpans", "scope_spans", "scopeLogs", "instrumentationLibrarySpans")
_LISTS = ("data", "spans", "traces", "trace", "batches", "result", "rows", "logRecords")
_MAX_DEPTH = 8
_FAILED = frozenset({"ERROR", "STATUS_CODE_ERROR", "2"})


def path_of(sample: Sample) -> Path:
    """Return the way to the spans in a large document."""
    for resources, scopes in zip(_RESOURCES, _SCOPES, strict=False):
        if resources in sample.keys:
            return (resources, scopes, "spans")
    return next(((key,) for key in ("data", "spans", "traces") if key in sample.keys and key in _LISTS), ())


def spans_in(
    record: Any, depth: int = 0, is_one: Callable[[Mapping[str, Any]], bool] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Give the spans of a record: itself, or all those of an export, a trace or a page of them.

    ``is_one`` tells what is looked for, if not spans.
    """
    if isinstance(record, list):
        for item in record:
            yield from spans_in(item, depth + 1, is_one)
    elif isinstance(record, dict) and depth < _MAX_DEPTH:
        if rows := rows_in(record):
            yield from spans_in(rows, depth + 1, is_one)
            return
        if (is_one or _looks_like_span)(record):
            yield _as_otel(record)
            return
        for key in (*_RESOURCES, *_SCOPES, *_LISTS):
            if isinstance(inner := record.get(key), list | dict):
                yield from spans_in(inner, depth + 1, is_one)
    elif depth == 0:
        raise ValueError(f"expected an object, found {type(record).__name__}")


def are_spans(sample: Sample) -> bool:
    """Whether the log's first records are spans, or hold them."""
    if any(map(_holds_spans, sample.objects)):
        return True
    return not sample.keys.isdisjoint(_RESOURCES)


def _holds_spans(record: Mapping[str, Any]) -> bool:
    try:
        return next(spans_in(record), None) is not None
    except (AttributeError, KeyError, TypeError, ValueError):
        return True  # a broken one, which is said with its reason when it is read


def _looks_like_span(record: Mapping[str, Any]) -> bool:
    if "traceID" in record or "operationName" in record:  # Jaeger
        return "spanID" in record
    if "localEndpoint" in record or ("tags" in record and "traceId" in record and "id" in record):  # Zipkin
        return True
    trace, span_id, _ = _ids(record)
    return bool(trace and span_id and not _PLATFORMS_OWN & record.keys())


_PLATFORMS_OWN = frozenset({"meta", "span_attributes", "root_span_id", "span_data", "request"})


def _as_otel(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a span of Jaeger or Zipkin, whose times are in microseconds, in OpenTelemetry's form."""
    tags = record.get("tags")
    if tags is None or "duration" not in record:
        return record
    attributes = tags if isinstance(tags, dict) else {tag["key"]: tag.get("value") for tag in tags}
    start = record.get("startTime", record.get("timestamp")) or 0
    said = [{f["key"]: f.get("value") for f in log.get("fields") or ()} for log in record.get("logs") or ()]
    references = record.get("references") or ()
    above = [r.get("spanID") for r in references if r.get("refType") in (None, "CHILD_OF")]
    error = attributes.get("error")
    lost = "ERROR" if str(error or "").lower() not in ("", "false") else None
    return {
        "traceId": record.get("traceID", record.get("traceId")),
        "spanId": record.get("spanID", record.get("id")),
        "parentSpanId": above[0] if above else record.get("parentId"),
        "name": record.get("operationName", record.get("name")),
        "startTimeUnixNano": int(start * 1_000),
        "endTimeUnixNano": int((start + record["duration"]) * 1_000),
        "attributes": attributes,
        "status": {
            "code": attributes.get("otel.status_code") or lost,
            "message": attributes.get("otel.status_description")
            or (error if isinstance(error, str) and error != "true" else None),
        },
        "events": [{"name": one.get("event"), "attributes": one} for one in said],
    }


def attributes_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes by their dotted names."""
    given = parsed_json(record.get("attributes"))
    if isinstance(given, list):
        return {pair["key"]: typed(pair.get("value"), 0) for pair in given}
    if isinstance(given, dict):
        if any(name.startswith("mlflow.") for name in given):  # whose values are JSON texts
            return {name: _unquoted(value) for name, value in given.items()}
        return given if dict not in map(type, given.values()) else dict(_flat(given, "", 0))
    prefix = "attributes."
    named = {key.removeprefix(prefix): record[key] for key in record if key.startswith(prefix)}
    return dict(_flat(named, "", 0))


def _unquoted(value: Any) -> Any:
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _flat(value: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        yield prefix + key, item
        if isinstance(item, dict) and depth < _MAX_DEPTH:
            yield from _flat(item, f"{prefix}{key}.", depth + 1)


def typed(value: Any, depth: int = 0) -> Any:
    """Return the value of an OTLP AnyValue."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value
    for kind, held in value.items():
        if kind in ("intValue", "int_value"):
            return int(held)
        if kind in ("arrayValue", "array_value"):
            return [typed(item, depth + 1) for item in held.get("values") or ()]
        if kind in ("kvlistValue", "kvlist_value"):
            return {pair["key"]: typed(pair.get("value"), depth + 1) for pair in held.get("values") or ()}
        return held
    return None


def flat_span(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span as a record of a platform: its attributes under their plain names, beside what it says of itself."""
    status = record.get("status")
    if isinstance(status, dict):
        code = status.get("code", status.get("status_code"))
        message = status.get("message", status.get("description"))
    else:
        code = record.get("status_code") or record.get("otel_status_code") or status
        message = record.get("status_message") or record.get("otel_status_message")
    raised, said = _exception(record)
    error_type, text = raised or attributes.get("error.type"), said or message
    failed = str(code) in _FAILED or error_type is not None
    if failed and text and error_type and not str(text).startswith(str(error_type)):
        text = f"{error_type}: {text}"
    trace, span_id, parent = _ids(record)
    return {
        **{
            plain(name): value for name, value in reversed([*attributes.items()])
        },  # the first of several counts
        "spankind": attributes.get("span.kind") or record.get("span_kind"),
        "traceid": trace,
        "spanid": span_id,
        "parentid": parent,
        "name": str(record.get("name") or record.get("span_name") or ""),
        "starttime": _time(record, "startTimeUnixNano", "start_time"),
        "endtime": _time(record, "endTimeUnixNano", "end_time"),
        "status": "error" if failed else None,
        "error": {"message": str(text or error_type or "error"), "type": error_type} if failed else None,
    }


def _exception(record: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the type and text of the last exception event: what the call ended with."""
    events = record.get("events")
    for event in reversed(events if isinstance(events, list) else []):
        if isinstance(event, dict) and event.get("name") == "exception":
            said = attributes_of(event)
            kind, message = said.get("exception.type"), said.get("exception.message")
            return (None if kind is None else str(kind)), (None if message is None else str(message))
    kind, message = record.get("exception_type"), record.get("exception_message")
    return (str(kind) if kind else None), (str(message) if message else None)


def _ids(record: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the ids of a span's trace, of itself and of its parent; "" where there is none."""
    if "spanId" in record:
        trace, span_id, parent = record.get("traceId"), record["spanId"], record.get("parentSpanId")
    else:
        context = record.get("context")
        if not isinstance(context, dict):
            context = {
                key: record.get(f"context.{key}") or record.get(key) for key in ("trace_id", "span_id")
            }
        trace, span_id = context.get("trace_id"), context.get("span_id")
        parent = record.get("parent_id") or record.get("parent_span_id")
    return _hex(trace), _hex(span_id), _hex(parent)


def _hex(given: object) -> str:
    return str(given or "").removeprefix("0x")


def _time(record: Mapping[str, Any], nanoseconds: str, other: str) -> float | None:
    if (given := record.get(nanoseconds)) is not None:
        return int(given) / 1e9
    stamp = other.replace("_time", "_timestamp")
    return time_of(record.get(other) or record.get(f"{other}_unix_nano") or record.get(stamp))
