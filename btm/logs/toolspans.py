"""The two conventions by which a span says that it is a tool's: OpenTelemetry's GenAI, and OpenInference.

A trace may follow both (an instrumented framework and an instrumented client), so every span is held against both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.conversation import NO_RESULT
from btm.logs.loose import Asked, LooseCall
from btm.logs.modelcalls import events_of, messages_in
from btm.logs.spans import Span, attributes_of, loose_call, span_of, spans_in
from btm.logs.toolmessage import answer_in
from btm.logs.values import parsed_json, printed_arguments

OPENINFERENCE_KIND = "openinference.span.kind"

# The conventions' own names first, then those of products from before or beside them.
_NAMES = (
    "gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_call.function.name", "traceloop.entity.name", "mcp.tool.name",
)  # fmt: skip
_ARGUMENTS = (
    "gen_ai.tool.call.arguments", "tool_arguments", "ai.toolCall.args", "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args", "traceloop.entity.input", "mlflow.spanInputs", "langfuse.observation.input",
    "input.value", "tool_call.function.arguments", "tool.parameters",
)  # fmt: skip
_RESULTS = (
    "gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "ai.toolCall.output", "gcp.vertex.agent.tool_response",
    "traceloop.entity.output", "mlflow.spanOutputs", "langfuse.observation.output", "output.value",
)  # fmt: skip
_CALL_IDS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")
_KINDS = (
    OPENINFERENCE_KIND,
    "traceloop.span.kind",
    "mlflow.spanType",
    "langfuse.observation.type",
    "span.kind",
    "span.type",
)
_PREFIX = re.compile(r"(?:execute_tool|running tool:?|tool:)\s+")


_CONVERSATIONS = ("gen_ai.conversation.id", "session.id")


def parse(record: Any) -> Iterator[LooseCall | Asked]:
    """Give the tool calls and the model's calls among the spans of a record."""
    for given in spans_in(record):
        attributes = attributes_of(given)
        if _is_tool(attributes, given):
            yield _call(span_of(given, attributes), given)
        elif messages := messages_in(attributes, given):
            span = span_of(given, attributes)
            yield Asked(span.trace, str(span.first(*_CONVERSATIONS) or ""), messages, span.start)


def _is_tool(attributes: Mapping[str, Any], span: Mapping[str, Any]) -> bool:
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return bool(operation == "execute_tool")
    if "gen_ai.tool.name" in attributes or "ai.toolCall.name" in attributes:
        return True
    kinds = (attributes.get(name) for name in _KINDS)
    return any(str(kind).upper() == "TOOL" for kind in (*kinds, span.get("span_kind")))


def _call(span: Span, given: Mapping[str, Any]) -> LooseCall:
    asked, answered = span.first(*_ARGUMENTS), span.first(*_RESULTS)
    if asked is None and answered is None:
        said = {message["role"]: message.get("content") for message in events_of(given)}
        asked, answered = said.get("tool"), said.get("assistant")
    content, is_error, call_id = answer_in(answered)
    if span.first("gen_ai.tool.status") == "error":
        is_error = True
    content = parsed_json(content) if "mlflow.spanOutputs" in span.attributes else content
    call = loose_call(
        span,
        tool=span.first(*_NAMES) or _PREFIX.sub("", span.name).strip(),
        arguments=printed_arguments(asked),
        call_id=span.first(*_CALL_IDS) or call_id,
        conversation=span.first(*_CONVERSATIONS),
        result=NO_RESULT if content is None else content,
    )
    return call._replace(is_error=True) if is_error else call
