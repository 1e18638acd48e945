"""The two conventions by which a span says that it is a tool's: OpenTelemetry's GenAI, and OpenInference.

A trace may follow both (an instrumented framework and an instrumented client), so every span is held against both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.conversation import NO_RESULT
from btm.logs.loose import LooseCall
from btm.logs.spans import Span, attributes_of, loose_call, span_of, spans_in
from btm.logs.toolmessage import answer_in
from btm.logs.values import printed_arguments

OPENINFERENCE_KIND = "openinference.span.kind"

# The conventions' own names first, then those of Pydantic AI and Traceloop from before the conventions had any.
_GENAI_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments", "traceloop.entity.input")
_GENAI_RESULTS = ("gen_ai.tool.call.result", "tool_response", "traceloop.entity.output")
_INFERENCE_ARGUMENTS = ("input.value", "tool_call.function.arguments", "tool.parameters")


def parse(record: Any) -> Iterator[LooseCall]:
    """Give the tool calls among the spans of a record."""
    for span in spans_in(record):
        attributes = attributes_of(span)
        if _is_genai_tool(attributes):
            yield _genai_call(span_of(span, attributes))
        elif "TOOL" in (attributes.get(OPENINFERENCE_KIND), span.get("span_kind")):
            yield _openinference_call(span_of(span, attributes))


def _is_genai_tool(attributes: Mapping[str, Any]) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if operation is None:
        return "gen_ai.tool.name" in attributes or attributes.get("traceloop.span.kind") == "tool"
    return bool(operation == "execute_tool")


def _genai_call(span: Span) -> LooseCall:
    content, is_error, _ = answer_in(span.first(*_GENAI_RESULTS))
    call = loose_call(
        span,
        tool=span.first("gen_ai.tool.name", "traceloop.entity.name")
        or span.name.removeprefix("execute_tool").strip(),
        arguments=printed_arguments(span.first(*_GENAI_ARGUMENTS)),
        call_id=span.first("gen_ai.tool.call.id"),
        conversation=span.first("gen_ai.conversation.id", "session.id"),
        result=NO_RESULT if content is None else content,
    )
    return call._replace(is_error=True) if is_error else call


def _openinference_call(span: Span) -> LooseCall:
    content, is_error, call_id = answer_in(span.first("output.value"))
    call = loose_call(
        span,
        tool=span.first("tool.name", "tool_call.function.name") or span.name,
        arguments=printed_arguments(span.first(*_INFERENCE_ARGUMENTS)),
        call_id=span.first("tool_call.id", "tool.id") or call_id,
        conversation=span.first("session.id"),
        result=NO_RESULT if content is None else content,
    )
    return call._replace(is_error=True) if is_error else call
