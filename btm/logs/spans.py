"""Spans as the world writes them, read into one form.

Understood are OTLP JSON (``resourceSpans``, with attributes as lists of typed values), the Python SDK's
``span.to_json()``, Phoenix' spans (attributes flat or nested) and rows of its data frame (``attributes.tool.name``).
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from btm.logs.conversation import NO_RESULT
from btm.logs.loose import LooseCall
from btm.logs.sample import Sample
from btm.logs.scanner import Path
from btm.logs.values import is_control_flow, time_of

_RESOURCES = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_MAX_DEPTH = 8
_FAILED = frozenset({"ERROR", "STATUS_CODE_ERROR", "2"})


class Span(NamedTuple):
    """What a span says, as far as tool calls are concerned. ``error`` is an exception's text or the status message."""

    trace: str
    span_id: str
    parent: str
    name: str
    start: float | None
    end: float | None
    attributes: Mapping[str, Any]
    failed: bool
    error_type: str | None
    error: str | None

    def first(self, *names: str) -> Any:
        """Return the first of these attributes that is there."""
        for name in names:
            if (value := self.attributes.get(name)) is not None:
                return value
        return None


def path_of(sample: Sample) -> Path:
    """Return the way to the spans in a large OTLP document."""
    for resources, scopes in zip(_RESOURCES, _SCOPES, strict=False):
        if resources in sample.keys:
            return (resources, scopes, "spans")
    return ("data",) if "data" in sample.keys else ()


def spans_in(record: Any) -> Iterator[Mapping[str, Any]]:
    """Give the spans of a record: itself, or all those of an OTLP export request."""
    resources = next((record[key] for key in _RESOURCES if key in record), None)
    if resources is None:
        yield record
        return
    for resource in resources:
        for key in _SCOPES:
            for scope in resource.get(key) or ():
                yield from scope.get("spans") or ()


def are_spans(sample: Sample) -> bool:
    """Whether the log's first records are spans or OTLP export requests."""
    if any(map(_looks_like_span, sample.objects)) or not sample.keys.isdisjoint(_RESOURCES):
        return True
    paged = next(sample.objects, {}).get("data")  # a page of spans from Phoenix
    return isinstance(paged, list) and any(
        isinstance(item, dict) and _looks_like_span(item) for item in paged[:1]
    )


def _looks_like_span(record: Mapping[str, Any]) -> bool:
    if any(key in record for key in _RESOURCES):
        return True
    trace, span_id, _ = _ids(record)
    return bool(trace and span_id)


def attributes_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes by their dotted names."""
    given = record.get("attributes")
    if isinstance(given, list):
        return {pair["key"]: _typed(pair.get("value"), 0) for pair in given}
    if isinstance(given, dict):
        return given if dict not in map(type, given.values()) else dict(_flat(given, "", 0))
    prefix = "attributes."
    return dict(
        _flat({key.removeprefix(prefix): record[key] for key in record if key.startswith(prefix)}, "", 0)
    )


def _flat(value: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        yield prefix + key, item
        if isinstance(item, dict) and depth < _MAX_DEPTH:
            yield from _flat(item, f"{prefix}{key}.", depth + 1)


def _typed(value: Any, depth: int) -> Any:
    """Return the value of an OTLP AnyValue."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value
    for kind, held in value.items():
        if kind in ("intValue", "int_value"):
            return int(held)
        if kind in ("arrayValue", "array_value"):
            return [_typed(item, depth + 1) for item in held.get("values") or ()]
        if kind in ("kvlistValue", "kvlist_value"):
            return {pair["key"]: _typed(pair.get("value"), depth + 1) for pair in held.get("values") or ()}
        return held
    return None


def span_of(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> Span:
    """Read a span whose attributes have been read."""
    status = record.get("status")
    if isinstance(status, dict):
        code = status.get("code", status.get("status_code"))
        message = status.get("message", status.get("description"))
    else:
        code, message = record.get("status_code", status), record.get("status_message")
    raised, said = _exception(record)
    error_type = raised or attributes.get("error.type")
    trace, span_id, parent = _ids(record)
    return Span(
        trace,
        span_id,
        parent,
        str(record.get("name") or ""),
        _time(record, "startTimeUnixNano", "start_time"),
        _time(record, "endTimeUnixNano", "end_time"),
        attributes,
        str(code) in _FAILED or error_type is not None,
        None if error_type is None else str(error_type),
        said or (str(message) if message else None),
    )


def loose_call(
    span: Span, *, tool: object, arguments: dict[str, Any], call_id: object, conversation: object, result: Any
) -> LooseCall:
    """Return the call of a span, whose ``result`` is NO_RESULT where the span holds none.

    A span that ended well without its contents being recorded says at least that: ``is_error`` is False. Where there
    is a result, an unmarked status says nothing about errors that the tool handled, and ``is_error`` is None.
    """
    is_error: bool | None = True if span.failed else None
    if is_control_flow(span.error_type):
        result, is_error = NO_RESULT, None
    elif span.failed and (span.error or result is NO_RESULT):
        result = _error_text(span)
    elif result is NO_RESULT and span.end is not None:
        is_error = False
    return LooseCall(
        conversation=str(conversation or span.trace),
        own_id=span.span_id,
        tool=tool if isinstance(tool, str) else "",
        arguments=arguments,
        call_id=str(call_id or span.span_id),
        start=span.start,
        end=span.end,
        has_result=result is not NO_RESULT,
        result=None if result is NO_RESULT else result,
        is_error=is_error,
        error_type=span.error_type if is_error else None,
        parent=span.parent,
    )


def _error_text(span: Span) -> str:
    if span.error and span.error_type and not span.error.startswith(span.error_type):
        return f"{span.error_type}: {span.error}"
    return span.error or span.error_type or "error"


def _exception(record: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the type and text of the last exception event: what the call ended with."""
    events = record.get("events")
    for event in reversed(events if isinstance(events, list) else []):
        if isinstance(event, dict) and event.get("name") == "exception":
            said = attributes_of(event)
            kind, message = said.get("exception.type"), said.get("exception.message")
            return (None if kind is None else str(kind)), (None if message is None else str(message))
    return None, None


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
    return time_of(record.get(other) or record.get(f"{other}_unix_nano"))
