from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from log_samples import (
    FOUND,
    MISSING,
    attributes,
    flags_of,
    jsonl,
    langsmith_runs,
    last,
    openinference_spans,
    otlp,
    read,
    read_one,
    story_of,
    write,
)

from btm.logs.conversation import NO_RESULT

STORY = [
    [("get_order", {"order_id": "W1"}, FOUND), ("get_order", {"order_id": "W2"}, MISSING)],
    [("cancel_order", {"order_id": "W1"}, NO_RESULT)],
]
OTHER = "00000000000000000000000000000001"


def sdk_spans() -> list[dict[str, Any]]:
    """Spans as the Python SDK's ``to_json`` writes them."""
    spans = []
    for span in otlp()["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        end = span.get("endTimeUnixNano")
        spans.append(
            {
                "name": span["name"],
                "context": {
                    "trace_id": f"0x{span['traceId']}",
                    "span_id": f"0x{span['spanId']}",
                    "trace_state": "[]",
                },
                "kind": "SpanKind.INTERNAL",
                "parent_id": span.get("parentSpanId") and f"0x{span['parentSpanId']}",
                "start_time": int(span.get("startTimeUnixNano", 0)) / 1e9,
                "end_time": end and int(end) / 1e9,
                "status": {"status_code": "UNSET"},
                "attributes": {a["key"]: a["value"]["stringValue"] for a in span["attributes"]},
                "events": [],
            }
        )
    return spans


def phoenix_rows() -> list[dict[str, Any]]:
    """Rows of Phoenix' data frame of spans."""
    return [
        {
            "name": span["name"],
            "span_kind": "TOOL",
            "context.span_id": span["context"]["span_id"],
            "context.trace_id": span["context"]["trace_id"],
            "start_time": span["start_time"],
            "end_time": span["end_time"],
            "status_code": "OK",
            **{f"attributes.{key}": value for key, value in span["attributes"].items()},
        }
        for span in openinference_spans()
    ]


def nested(span: dict[str, Any]) -> dict[str, Any]:
    """A span with its attributes unfolded, as Phoenix' API gives them."""
    tree: dict[str, Any] = {}
    for key, value in span["attributes"].items():
        *path, name = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[name] = value
    return {**span, "attributes": tree}


LOGS: dict[str, tuple[Any, str]] = {
    "OTLP JSON": (otlp(), "otel"),
    "OTLP JSON over many lines": (json.dumps(otlp(), indent=1), "otel"),
    "an OTLP request a line": (jsonl([otlp(), {"resourceSpans": []}]), "otel"),
    "a span a line": (jsonl(otlp()["resourceSpans"][0]["scopeSpans"][0]["spans"]), "otel"),
    "the console exporter's output": ("\n".join(json.dumps(span, indent=4) for span in sdk_spans()), "otel"),
    "OpenInference, a span a line": (jsonl(openinference_spans()), "openinference"),
    "OpenInference, an array": (openinference_spans(), "openinference"),
    "Phoenix, a page of spans": (
        {"data": [nested(s) for s in openinference_spans()], "next_cursor": None},
        "openinference",
    ),
    "Phoenix, rows of a data frame": (jsonl(phoenix_rows()), "openinference"),
    "LangSmith, a run a line": (jsonl(langsmith_runs()), "langsmith"),
    "LangSmith, an array": (langsmith_runs(), "langsmith"),
    "LangSmith, a page of runs": ({"runs": langsmith_runs(), "cursors": {}}, "langsmith"),
    "LangSmith, a tree": ({**langsmith_runs()[-1], "child_runs": langsmith_runs()[:-1]}, "langsmith"),
}


@pytest.mark.parametrize(("content", "format_name"), LOGS.values(), ids=LOGS)
def test_every_form_of_spans_tells_the_same_story(content: Any, format_name: str, tmp_path: Path) -> None:
    conversation = read_one(write(tmp_path / "log", content))
    assert conversation.format == format_name
    assert story_of(conversation) == STORY
    assert not last(conversation).answered


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("OTLP JSON", [None, None, None]),
        ("OpenInference, a span a line", [None, True, None]),
        ("LangSmith, a run a line", [None, True, None]),
    ],
)
def test_a_handled_error_is_flagged_only_where_the_nested_status_says_so(
    name: str, flags: list[Any], tmp_path: Path
) -> None:
    assert flags_of(read_one(write(tmp_path / "log", LOGS[name][0]))) == flags


def test_traces_that_are_mixed_in_a_log_are_told_apart(tmp_path: Path) -> None:
    one, other = openinference_spans(), openinference_spans(OTHER)
    mixed = [span for pair in zip(one, other, strict=True) for span in pair]
    conversations, _ = read(write(tmp_path / "log", jsonl(mixed)))
    assert {c.conversation_id for c in conversations} == {one[0]["context"]["trace_id"][2:], OTHER}
    assert all(story_of(c) == STORY for c in conversations)


def test_a_span_that_was_exported_twice_counts_once(tmp_path: Path) -> None:
    once = read_one(write(tmp_path / "once", jsonl(openinference_spans())))
    twice = read_one(write(tmp_path / "twice", jsonl(openinference_spans() * 2)))
    assert story_of(twice) == STORY
    assert twice.digest == once.digest


def span(status: dict[str, Any], events: list[Any], **given: Any) -> dict[str, Any]:
    return {
        "traceId": OTHER,
        "spanId": "eee19b7ec3c1b171",
        "name": "execute_tool book",
        "startTimeUnixNano": "1754000000000000000",
        "endTimeUnixNano": "1754000030500000000",
        "attributes": attributes(gen_ai__operation__name="execute_tool", gen_ai__tool__name="book", **given),
        "status": status,
        "events": events,
    }


def exception(kind: str, message: str) -> dict[str, Any]:
    return {"name": "exception", "attributes": attributes(exception__type=kind, exception__message=message)}


def test_an_exception_event_is_the_result_of_a_failed_span(tmp_path: Path) -> None:
    failed = span(
        {"code": 2}, [exception("httpx.ReadTimeout", "no answer in 30 s")], error__type="httpx.ReadTimeout"
    )
    (call,) = read_one(write(tmp_path / "log", failed)).calls
    assert (call.is_error, call.error_type) == (True, "httpx.ReadTimeout")
    assert call.result == "httpx.ReadTimeout: no answer in 30 s"
    assert call.latency_s == pytest.approx(30.5)
    assert call.call.at == 1754000000.0


def test_a_failed_span_without_words_still_tells_its_error_type(tmp_path: Path) -> None:
    (call,) = read_one(write(tmp_path / "log", span({}, [], error__type="429"))).calls
    assert (call.is_error, call.error_type, call.result) == (True, "429", "429")


def test_a_span_that_ended_well_without_contents_is_answered_all_the_same(tmp_path: Path) -> None:
    (call,) = read_one(write(tmp_path / "log", span({"code": 1}, []))).calls
    assert (call.is_error, call.result, call.answered) == (False, NO_RESULT, True)


def test_an_interrupt_is_no_failure_and_no_answer(tmp_path: Path) -> None:
    raised = [exception("langgraph.errors.GraphInterrupt", "please confirm")]
    (call,) = read_one(write(tmp_path / "log", span({"code": 2}, raised))).calls
    assert not call.answered
    run = {
        **langsmith_runs()[0],
        "error": "GraphInterrupt((Interrupt(value='ok?'),))",
        "end_time": "2025-08-01T16:21:00",
    }
    (call,) = read_one(write(tmp_path / "run", jsonl([run, run]))).calls
    assert not call.answered


def test_a_clients_span_within_the_agents_span_of_the_same_call_counts_once(tmp_path: Path) -> None:
    outer = span({}, [], gen_ai__tool__call__result="booked")
    inner = {**span({}, [], mcp__method__name="tools/call"), "spanId": "b2", "parentSpanId": outer["spanId"]}
    (call,) = read_one(write(tmp_path / "log", jsonl([inner, outer]))).calls
    assert call.result == "booked"


def test_typed_values_of_otlp_are_unfolded(tmp_path: Path) -> None:
    listed = {"arrayValue": {"values": [{"intValue": "7"}, {"boolValue": True}, {"doubleValue": 0.5}]}}
    given = {"kvlistValue": {"values": [{"key": "ids", "value": listed}]}}
    typed = span({}, [])
    typed["attributes"].append({"key": "gen_ai.tool.call.arguments", "value": given})
    (call,) = read_one(write(tmp_path / "log", typed)).calls
    assert call.call.arguments == {"ids": [7, True, 0.5]}


def test_a_run_that_raised_keeps_the_text_and_the_name_of_its_error(tmp_path: Path) -> None:
    raised = "TimeoutError('no answer')Traceback (most recent call last):\n  ..."
    run = {**langsmith_runs()[0], "error": raised, "outputs": {}, "end_time": "2025-08-01T16:21:00"}
    (call,) = read_one(write(tmp_path / "log", jsonl([run]))).calls
    assert (call.is_error, call.error_type, call.result) == (True, "TimeoutError", raised)


def test_a_nested_status_of_the_tools_own_is_left_in_the_result(tmp_path: Path) -> None:
    own = {"status": "error", "detail": "sold out"}
    run = {**langsmith_runs()[0], "outputs": {"output": own}, "end_time": "2025-08-01T16:21:00"}
    (call,) = read_one(write(tmp_path / "log", jsonl([run]))).calls
    assert (call.is_error, call.result) == (None, own)


def test_calls_of_one_step_of_a_graph_are_one_turn_even_if_they_ran_one_after_the_other(
    tmp_path: Path,
) -> None:
    first, second = langsmith_runs()[2], langsmith_runs()[1]
    for run in (first, second):
        run["extra"] = {"metadata": {"langgraph_step": 2}}
    second["start_time"] = "2025-08-01T16:20:45.500000"
    assert [len(b) for b in read_one(write(tmp_path / "log", jsonl([first, second]))).batches] == [2]


def test_real_runs_of_langchains_tracer_are_read(tmp_path: Path) -> None:
    from langchain_core.tools import ToolException, tool
    from langchain_core.tracers.base import BaseTracer
    from langchain_core.tracers.schemas import Run

    class Keeper(BaseTracer):
        def __init__(self) -> None:
            super().__init__()
            self.runs: list[Run] = []

        def _persist_run(self, run: Run) -> None:
            self.runs.append(run)

    @tool
    def get_order(order_id: str) -> str:
        """Read an order."""
        if order_id == "W2":
            raise ToolException(MISSING)
        if order_id == "W3":
            raise TimeoutError("no answer")
        return FOUND

    get_order.handle_tool_error = True
    keeper = Keeper()
    for number, order in enumerate(("W1", "W2", "W3")):
        call = {"type": "tool_call", "name": "get_order", "args": {"order_id": order}, "id": f"call_{number}"}
        try:
            get_order.invoke(call, config={"callbacks": [keeper]})
        except TimeoutError:
            assert order == "W3"
    fields = {"id", "name", "run_type", "trace_id", "inputs", "outputs", "error", "start_time", "end_time"}
    runs = [json.loads(run.model_dump_json(include=fields)) for run in keeper.runs]
    conversations, skipped = read(write(tmp_path / "log", jsonl(runs)))
    found, missing, late = (next(c.calls) for c in conversations)
    assert skipped == []
    assert [c.call.arguments for c in (found, missing, late)] == [{"order_id": f"W{n}"} for n in (1, 2, 3)]
    assert (found.result, found.is_error, found.call.call_id) == (FOUND, None, "call_0")
    assert (missing.result, missing.is_error) == (MISSING, True)
    assert (late.is_error, late.error_type) == (True, "TimeoutError")


@pytest.mark.parametrize("field", ["startTime", "duration", "tags"])
def test_a_broken_jaeger_span_is_reported_and_never_raised(field: str, tmp_path: Path) -> None:
    span = {"traceID": "1", "spanID": "2", "operationName": "f", "startTime": 1, "duration": 1, "tags": []}
    _, skipped = read(
        write(tmp_path / "log", {"data": [{"traceID": "1", "spans": [{**span, field: [None]}]}]})
    )
    assert [s.line for s in skipped] == [1]
