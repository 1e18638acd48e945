"""Spans and metrics of OpenTelemetry (extra ``otel``): what failed, what was tried and what came of it.

::

    from btm.adapters.otel import Telemetry

    telemetry = Telemetry()
    memory = ToolMemory.open("btm.db", hooks=[telemetry])
    telemetry.watch(memory)  # the writer's lag and losses

An incident is a span under whatever span was current when its call failed; under it stands an ``execute_tool`` span for
each attempt, named as OpenTelemetry's GenAI conventions have it (``gen_ai.tool.name``,
``error.type``). What act mode does is an event on the current span too. Nothing that a tool returned or was called with
is in any of them. Without an SDK, OpenTelemetry's own functions do nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from btm.errors import MissingExtraError
from btm.events import ActionTaken, BreakerClosed, BreakerOpened, ContextGiven, IncidentClosed, IncidentOpened
from btm.model import Attempt, Incident, ToolCall
from btm.support.bounded import BoundedDict

if TYPE_CHECKING:
    from btm.memory import ToolMemory

try:
    from opentelemetry import context as otel_context
    from opentelemetry import metrics, trace
except ImportError as missing:
    raise MissingExtraError("opentelemetry-api", "otel", "telemetry") from missing

_MOST_OPEN = 1_000
_NANO = 1_000_000_000


class Telemetry:
    """A hook that tells OpenTelemetry. ``tracer`` and ``meter`` are those of the global providers unless given."""

    def __init__(self, *, tracer: trace.Tracer | None = None, meter: metrics.Meter | None = None) -> None:
        self._tracer = tracer or trace.get_tracer("btm")
        self._meter = meter or metrics.get_meter("btm")
        made = self._meter
        self._failures = made.create_counter("btm.failures", "{failure}", "Calls that opened an incident")
        self._closed = made.create_counter(
            "btm.incidents.closed", "{incident}", "Incidents by how they ended"
        )
        self._actions = made.create_counter(
            "btm.actions", "{action}", "What act mode did, and whether it worked"
        )
        self._waits = made.create_histogram("btm.wait", "s", "Seconds that act mode waited")
        self._notes = made.create_counter(
            "btm.contexts", "{context}", "Recovery contexts that were handed over"
        )
        self._tokens = made.create_counter(
            "btm.context.tokens", "{token}", "Estimated tokens of recovery contexts"
        )
        self._breakers = made.create_up_down_counter(
            "btm.breakers.open", "{breaker}", "What is down for everyone"
        )
        # Where each open incident began: an attempt may run in another task.
        self._parents: BoundedDict[str, otel_context.Context] = BoundedDict(_MOST_OPEN)

    def watch(self, memory: ToolMemory) -> None:
        """Report a memory's writing, whenever metrics are collected: events that wait, and those that were lost."""

        def waiting(_: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
            yield metrics.Observation(memory.health().waiting)

        def dropped(_: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
            yield metrics.Observation(memory.health().dropped)

        self._meter.create_observable_gauge(
            "btm.writer.waiting", [waiting], "{event}", "Events not yet stored"
        )
        self._meter.create_observable_counter(
            "btm.writer.dropped", [dropped], "{event}", "Events that were lost"
        )

    def __call__(self, event: object) -> None:
        """Take an event."""
        match event:
            case IncidentOpened(incident):
                self._failures.add(1, _named(incident.call, incident.kind))
                self._parents[incident.incident_id] = otel_context.get_current()
            case IncidentClosed(incident):
                self._closed.add(
                    1, {**_named(incident.call, incident.kind), "btm.state": str(incident.state)}
                )
                self._spans(incident)
            case ActionTaken():
                self._acted(event)
            case ContextGiven(call, kind, _, tokens, refused):
                self._notes.add(1, {**_named(call, kind), "btm.refused": refused})
                self._tokens.add(tokens)
            case BreakerOpened(what, _, kind):
                self._breakers.add(1, {"btm.breaker": what})
                _tell("btm.breaker_opened", {"btm.breaker": what, "error.type": str(kind)})
            case BreakerClosed(what):
                self._breakers.add(-1, {"btm.breaker": what})
                _tell("btm.breaker_closed", {"btm.breaker": what})

    def _acted(self, event: ActionTaken) -> None:
        if event.outcome is None:
            self._waits.record(event.waited_s, {"gen_ai.tool.name": event.call.tool})
            _tell("btm.wait", {"gen_ai.tool.name": event.call.tool, "btm.waited_s": event.waited_s})
            return
        told = {
            **_named(event.call, event.outcome.kind),
            "btm.action": event.action,
            "btm.for": event.asked.tool,
        }
        self._actions.add(1, {**told, "btm.worked": event.outcome.ok})
        _tell("btm.action", told)

    def _spans(self, incident: Incident) -> None:
        parent = self._parents.pop(incident.incident_id, None) or otel_context.get_current()
        began, ended = incident.opened_at, incident.closed_at or incident.latest_at
        span = self._tracer.start_span(
            f"incident {incident.tool}",
            parent,
            attributes={
                **_named(incident.call, incident.kind),
                "gen_ai.conversation.id": incident.conversation,
                "btm.state": str(incident.state),
            },
            start_time=int(began * _NANO),
        )
        inside = trace.set_span_in_context(span, parent)
        for attempt in incident.attempts:
            self._span_of(attempt, inside)
        span.end(int(max(began, ended) * _NANO))

    def _span_of(self, attempt: Attempt, parent: otel_context.Context) -> None:
        tool = attempt.key.target or attempt.key.tool
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": attempt.call_id,
            "btm.action": str(attempt.key.action),
            "btm.ordinal": attempt.key.ordinal,
        }
        if attempt.failed_as is not None:
            attributes["error.type"] = str(attempt.failed_as)
        began = int((attempt.at - (attempt.latency_s or 0.0)) * _NANO)
        span = self._tracer.start_span(
            f"execute_tool {tool}", parent, attributes=attributes, start_time=began
        )
        if not attempt.success:
            span.set_status(trace.StatusCode.ERROR)
        span.end(max(began, int(attempt.at * _NANO)))


def _named(call: ToolCall, kind: object) -> dict[str, Any]:
    named: dict[str, Any] = {"gen_ai.tool.name": call.tool}
    return {**named, "error.type": str(kind)} if kind is not None else named


def _tell(name: str, attributes: Mapping[str, Any]) -> None:
    trace.get_current_span().add_event(name, attributes)
