"""Spans and metrics: read back from OpenTelemetry's own SDK where it is installed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from core_kit import NO_MAP, Clock, Tools, call, memory_of

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from btm.adapters.otel import Telemetry
from btm.events import BreakerOpened
from btm.model import ErrorKind


class Collected:
    def __init__(self) -> None:
        self.spans, self.metrics = InMemorySpanExporter(), InMemoryMetricReader()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.tracer = provider.get_tracer("agent")
        self.telemetry = Telemetry(
            tracer=provider.get_tracer("btm"), meter=MeterProvider([self.metrics]).get_meter("btm")
        )

    def points(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        data = self.metrics.get_metrics_data()
        assert data is not None
        return {
            metric.name: [
                (dict(p.attributes), getattr(p, "value", None) or getattr(p, "sum", 0))
                for p in metric.data.data_points
            ]
            for metric in data.resource_metrics[0].scope_metrics[0].metrics
        }


def test_an_incident_is_a_span_with_its_attempts_under_the_callers_own() -> None:
    collected, clock = Collected(), Clock()
    secret = "sk-not-to-be-told"
    with memory_of(clock, fallback_map=NO_MAP, hooks=[collected.telemetry]) as memory:
        collected.telemetry.watch(memory)
        with collected.tracer.start_as_current_span("agent run"):
            for reply in (TimeoutError(f"timed out {secret}"), TimeoutError("timed out"), {"order": secret}):
                memory.call(call("get_order", "talk", order_id=secret), Tools(get_order=[reply]))
                clock.now += 1.0
        points = collected.points()
    spans = {span.name: span for span in collected.spans.get_finished_spans()}
    agent, incident = spans["agent run"], spans["incident get_order"]
    attempts = [s for s in collected.spans.get_finished_spans() if s.name == "execute_tool get_order"]
    assert incident.parent is not None
    assert incident.parent.span_id == agent.context.span_id
    assert incident.attributes["btm.state"] == "resolved"
    assert incident.attributes["error.type"] == "timeout"
    assert incident.end_time - incident.start_time >= 2_000_000_000
    assert [(s.attributes["btm.action"], s.attributes.get("error.type")) for s in attempts] == [
        ("retry", "timeout"),
        ("retry", None),
    ]
    assert {s.parent.span_id for s in attempts} == {incident.context.span_id}
    assert points["btm.failures"] == [({"gen_ai.tool.name": "get_order", "error.type": "timeout"}, 1)]
    assert points["btm.incidents.closed"][0][0]["btm.state"] == "resolved"
    assert points["btm.writer.dropped"] == [({}, 0)]
    assert secret not in str([span.to_json() for span in spans.values()]) + str(points)


def test_what_act_mode_does_is_counted_and_stands_on_the_current_span() -> None:
    collected = Collected()
    with memory_of(mode="act", fallback_map=NO_MAP, hooks=[collected.telemetry]) as memory:
        with collected.tracer.start_as_current_span("agent run"):
            memory.call(
                call("get_order", "talk", order_id="o1"), Tools(get_order=[TimeoutError("timed out"), "fine"])
            )
        points = collected.points()
    (agent,) = (span for span in collected.spans.get_finished_spans() if span.name == "agent run")
    assert "btm.action" in [event.name for event in agent.events]
    ((named, count),) = points["btm.actions"]
    assert (named["btm.action"], named["btm.worked"], count) == ("retry", True, 1)
    assert points["btm.wait"][0][1] > 0


DASHBOARD = json.loads((Path(__file__).parents[2] / "docs/grafana-dashboard.json").read_text("utf-8"))


def test_the_dashboard_asks_for_series_that_prometheus_gets() -> None:
    """What a scrape of real telemetry holds, under the names and labels that OpenTelemetry's own exporter gives them."""
    exporter = pytest.importorskip(
        "opentelemetry.exporter.prometheus", reason="needs opentelemetry-exporter-prometheus"
    )
    scraped = pytest.importorskip("prometheus_client").generate_latest
    reader = exporter.PrometheusMetricReader()
    telemetry = Telemetry(meter=MeterProvider([reader]).get_meter("btm"))
    with memory_of(mode="act", fallback_map=NO_MAP, hooks=[telemetry]) as memory:
        telemetry.watch(memory)
        for number in range(3):
            tools = Tools(get_order=[TimeoutError("timed out")] * (1 + 4 * number) + ["fine"])
            memory.call(call("get_order", f"talk {number}", order_id="o1"), tools)
        telemetry(BreakerOpened("get_order", False, ErrorKind.UNAVAILABLE, 5, 5, 9.0, 10.0, 20.0))
        text = scraped().decode()
    series = {
        name: set(re.findall(r'(\w+)="', labels))
        for name, labels in re.findall(r"^(\w+)(\{.*\})? ", text, re.M)
    }
    asked = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    assert len(asked) > 9
    for expression in asked:
        grouped = {word for group in re.findall(r"by \(([^)]*)\)", expression) for word in group.split(", ")}
        plain = re.sub(r"by \([^)]*\)", "", expression)
        for name, labels in re.findall(r"(btm_\w+)(?:\{([^}]*)\})?[\[)]", plain):
            assert name in series, name
            used = grouped | set(re.findall(r"(\w+)=", labels))
            assert used - {"le"} <= series[name], (expression, series[name])
