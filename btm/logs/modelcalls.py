"""The messages of model calls, as traces hold them: where no span of its own tells of a tool's call, they do.

A model's span holds what was asked and what it answered: as JSON texts, as numbered attributes
(``llm.input_messages.0.message.role``), or as events (``gen_ai.tool.message``). Each repeats what went before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.finding import both_sides
from btm.logs.loose import Asked
from btm.logs.spans import attributes_of, spans_in, typed
from btm.logs.values import parsed_json

_SIDES = (
    ("gen_ai.input.messages", "gen_ai.output.messages"),
    ("llm.input_messages", "llm.output_messages"),
    ("ai.prompt.messages", "ai.response"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("pydantic_ai.all_messages", ""),
    ("all_messages_events", ""),
    ("input.value", "output.value"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
    ("langfuse.observation.input", "langfuse.observation.output"),
    ("traceloop.entity.input", "traceloop.entity.output"),
)
"""Where spans hold what was asked, and where what was answered."""


_MONOCLE = {"data.input": "tool", "data.output": "assistant"}
"""What Monocle's spans have as events: what was given, and what came."""


def messages_in(attributes: Mapping[str, Any], span: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a span that is a model's call, none for any other."""
    for asked, answered in _SIDES:
        given = _value(attributes, asked)
        if given and (messages := both_sides(given, _value(attributes, answered))):
            return messages
    return [*events_of(span)]


def _value(attributes: Mapping[str, Any], name: str) -> Any:
    if not name or (value := parsed_json(attributes.get(name))) is not None:
        return value if name else None
    root: dict[str, Any] = {}
    for key, held in attributes.items():
        if key.startswith(f"{name}."):
            place = root
            *way, last = key[len(name) + 1 :].split(".")
            for step in way:
                inner = place.setdefault(step, {})
                place = inner if isinstance(inner, dict) else {}
            place[last] = parsed_json(held)
    if name == "ai.response" and root:
        return {"role": "assistant", "content": root.get("text"), "toolCalls": root.get("toolCalls")}
    return _listed(root)


def _listed(value: Any) -> Any:
    """Return an object whose keys are numbers as the list that it is."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(inner) for key, inner in value.items()}


def events_of(span: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the messages that a span's events are, by OpenTelemetry's convention."""
    events = span.get("events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict):
            yield from _event(str(event.get("name") or ""), attributes_of(event))


def _event(kind: str, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    said = {key: parsed_json(value) for key, value in given.items()}
    if kind in _MONOCLE and (text := said.get("input", said.get("response"))) is not None:
        yield {"role": _MONOCLE[kind], "content": text}
    if kind == "gen_ai.choice":
        message = said.get("message")
        yield {"role": "assistant", **(message if isinstance(message, dict) else {"content": message})}
    elif kind.startswith("gen_ai.") and kind.endswith(".message"):
        who = kind.split(".")[1]
        # The answer's id stands there as its own.
        yield {"role": who, **said, **({"tool_call_id": said.get("id")} if who == "tool" else {})}


def logged(record: Any) -> Iterator[Asked]:
    """Give the model calls of an export of OpenTelemetry's log records, in which a call's messages share a span."""
    spans: dict[tuple[str, str], list[Any]] = {}
    for found in spans_in(record, is_one=lambda inner: "body" in inner and "traceId" in inner):
        attributes, body = attributes_of(found), typed(found["body"])
        kind = str(found.get("eventName") or attributes.get("event.name") or "")
        messages = spans.setdefault((found["traceId"], str(found.get("spanId"))), [])
        messages += _event(kind, {**attributes, **(body if isinstance(body, dict) else {"content": body})})
    for (trace, _), messages in spans.items():
        if messages:
            yield Asked(trace, "", messages)
