"""Logs as platforms' own libraries write them when an agent runs: a new version that changes its form is noticed here.

A server on this machine stands for the model: it asks for ``get_order`` twice, which fails, and for ``list_orders``.
"""

from __future__ import annotations

import csv
import io
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from log_samples import read, write
from product_samples import CALLS, TASK
from test_real_libraries import library, told

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

STORY = (1, 3, 2)
OWN = {own: f"call_0aB4xYz91{own}cD5wVu" for own, *_ in CALLS}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("get_order", "list_orders")
]


def asked(number: int) -> dict[str, Any]:
    """The model's answer after so many calls were answered."""
    if number == len(CALLS):
        return {"role": "assistant", "content": "shipped"}
    own, name, given, *_ = CALLS[number]
    call = {"id": OWN[own], "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def agent(
    complete: Callable[[list[dict[str, Any]]], dict[str, Any]],
    run: Callable[[str, dict[str, Any], str, bool], object] | None = None,
) -> None:
    """Have a model complete a conversation, and what it asks for run."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    for own, name, given, said, failed in CALLS:
        messages.append(complete([*messages]))
        if run is not None:
            run(name, given, said, failed)
        messages.append({"role": "tool", "tool_call_id": OWN[own], "content": said})
    complete([*messages])


def tool(said: str, failed: bool) -> Callable[..., str]:
    def run(**_: Any) -> str:
        if failed:
            raise PermissionError(said)
        return said

    return run


def tried(run: Callable[..., object], **given: Any) -> None:
    with suppress(PermissionError):
        run(**given)


@pytest.fixture
def model() -> Iterator[str]:
    class Model(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            number = sum(message["role"] == "tool" for message in body["messages"])
            choice = {"index": 0, "finish_reason": "stop", "message": asked(number)}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            about = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
            answer = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def client_of(openai: Any, model: str) -> Any:
    return openai.OpenAI(base_url=model, api_key="x")


def completing(client: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    def complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
        made = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
        answer: dict[str, Any] = made.choices[0].message.model_dump(exclude_none=True)
        return answer

    return complete


def lines(values: Iterable[Any]) -> str:
    return "".join(json.dumps(value, default=str) + "\n" for value in values)


def table(rows: list[dict[str, Any]], of: Callable[[Any], str]) -> str:
    """Rows as CSV, with ``of`` of what is no text."""
    names = list({name: None for row in rows for name in row})
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(names)
    for row in rows:
        held = [row.get(name) for name in names]
        writer.writerow([v if isinstance(v, str) else "" if v is None else of(v) for v in held])
    return file.getvalue()


def test_litellm_callbacks(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm, loggers = library("litellm"), library("litellm.integrations.custom_logger")
    payloads, arguments = [], []

    class Logger(loggers.CustomLogger):  # type: ignore[misc, name-defined] # of a library that may be absent
        def log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: object, end_time: object
        ) -> None:
            arguments.append({**kwargs, "response_obj": response_obj.model_dump()})
            payloads.append(kwargs["standard_logging_object"])

    monkeypatch.setattr(litellm, "callbacks", [Logger()])

    def complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
        made = litellm.completion(
            "openai/gpt-4o", messages, tools=TOOLS, api_base=model, api_key="x", litellm_session_id="s-1"
        )
        answer: dict[str, Any] = made.choices[0].message.model_dump()
        return answer

    agent(complete)
    for _ in range(300):  # it logs from a thread of its own
        if len(payloads) > len(CALLS):
            break
        time.sleep(0.1)
    assert told(tmp_path / "payloads", lines(payloads)) == STORY
    assert told(tmp_path / "arguments", lines(arguments)) == STORY


@pytest.mark.parametrize("tools", [True, False])
def test_mlflow_traces_of_an_openai_client(
    tools: bool, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow, openai = library("mlflow"), library("openai")
    library("mlflow.openai")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path / 'runs'}")
    experiment = mlflow.set_experiment("agent").experiment_id
    mlflow.openai.autolog()

    def run(name: str, given: dict[str, Any], said: str, failed: bool) -> None:
        tried(mlflow.trace(tool(said, failed), name=name, span_type="TOOL"), **given)

    complete = completing(client_of(openai, model))
    if tools:
        with mlflow.start_span(name="agent", span_type="AGENT"):
            agent(complete, run)
    else:
        agent(complete)
    mlflow.flush_trace_async_logging()
    traces = mlflow.search_traces(locations=[experiment], return_type="list")
    assert told(tmp_path / "traces", "".join(trace.to_json() + "\n" for trace in traces)) == STORY
    frame = mlflow.search_traces(locations=[experiment])
    assert told(tmp_path / "columns", frame.to_json()) == STORY
    assert told(tmp_path / "records", frame.to_json(orient="records", lines=True)) == STORY
    assert told(tmp_path / "frame.csv", frame.to_csv()) == STORY


def test_langsmith_runs(model: str, tmp_path: Path) -> None:
    langsmith, openai = library("langsmith"), library("openai")
    schemas, wrappers = library("langsmith.schemas"), library("langsmith.wrappers")
    kept: dict[str, dict[str, Any]] = {}

    class Client(langsmith.Client):  # type: ignore[misc, name-defined] # of a library that may be absent
        def create_run(self, name: str, inputs: Any, run_type: str, **more: Any) -> None:
            kept[str(more["id"])] = {"name": name, "inputs": inputs, "run_type": run_type, **more}

        def update_run(self, run_id: Any, **more: Any) -> None:
            kept[str(run_id)].update({name: value for name, value in more.items() if value is not None})

    tracer = Client(api_url="http://127.0.0.1:9", api_key="x", auto_batch_tracing=False, info={})
    complete = completing(wrappers.wrap_openai(client_of(openai, model)))

    def run(name: str, given: dict[str, Any], said: str, failed: bool) -> None:
        tried(langsmith.traceable(run_type="tool", name=name)(tool(said, failed)), **given)

    with langsmith.tracing_context(enabled=True, client=tracer):
        langsmith.traceable(run_type="chain", name="agent")(lambda: agent(complete, run))()
    left_out = {"client", "session_name", "project_name", "parent_run", "child_runs", "revision_id"}
    runs = [
        schemas.Run(
            **{"session_id": uuid.uuid4(), **{n: v for n, v in one.items() if n not in left_out}}
        ).model_dump()
        for one in kept.values()
    ]
    assert told(tmp_path / "runs", lines(runs)) == STORY
    assert told(tmp_path / "models", lines(r for r in runs if r["run_type"] == "llm")) == STORY
    assert told(tmp_path / "json.csv", table(runs, lambda v: json.dumps(v, default=str))) == STORY
    assert told(tmp_path / "printed.csv", table(runs, str)) == STORY


def test_assistants_run_steps_and_messages(tmp_path: Path) -> None:
    pages, runs = library("openai.pagination"), library("openai.types.beta.threads.runs")
    threads = library("openai.types.beta.threads")

    def step(number: int, status: str = "completed", error: Any = None, thread: str = "1") -> Any:
        own, name, given, said, _ = CALLS[number]
        function = {
            "name": name,
            "arguments": json.dumps(given),
            "output": said if status == "completed" else None,
        }
        details = [{"id": f"{OWN[own]}{thread}", "type": "function", "function": function}]
        about = {
            "assistant_id": "asst_1",
            "thread_id": f"thread_Ab1c2D3e4F5g{thread}",
            "run_id": f"run_Ab1c2D3e4F{thread}",
        }
        return runs.RunStep.model_validate(
            {"id": f"step_{number}", "object": "thread.run.step", "created_at": 1767000000 + number, **about,
             "type": "tool_calls", "status": status, "last_error": error,
             "step_details": {"type": "tool_calls", "tool_calls": details}}
        )  # fmt: skip

    newest_first = [step(number) for number in (2, 1, 0)]
    page = pages.SyncCursorPage[runs.RunStep](data=newest_first, has_more=False)
    assert told(tmp_path / "page", page.model_dump_json()) == STORY
    listed = "".join(one.model_dump_json() + "\n" for one in newest_first)
    assert told(tmp_path / "steps", listed) == STORY
    assert [c.call.tool for c in read(tmp_path / "steps")[0][0].calls] == [tool for _, tool, *_ in CALLS]
    other = "".join(step(number, thread="2").model_dump_json() + "\n" for number in (2, 1, 0))
    assert told(tmp_path / "threads", listed + other) == (2, 6, 4)
    lost = step(0, "failed", {"code": "server_error", "message": "Sorry"})
    assert told(tmp_path / "lost", lost.model_dump_json()) == (1, 1, 1)
    said = threads.Message.model_validate(
        {"id": "msg_1", "object": "thread.message", "created_at": 1, "thread_id": "thread_1", "role": "user",
         "content": [{"type": "text", "text": {"value": TASK, "annotations": []}}], "status": "completed"}
    )  # fmt: skip
    thread = {"messages": [said.model_dump()], "run_steps": [one.model_dump() for one in newest_first]}
    assert told(tmp_path / "thread", json.dumps(thread)) == STORY
    messages = pages.SyncCursorPage[threads.Message](data=[said], has_more=False)
    assert told(tmp_path / "messages", messages.model_dump_json()) == (1, 0, 0)


@pytest.mark.parametrize(
    ("kind", "models"), [("tool", False), ("tool", True), ("function", True), (None, True)]
)
def test_braintrust_spans(kind: str | None, models: bool, tmp_path: Path) -> None:
    rows = braintrust_rows(kind, models)
    assert told(tmp_path / "rows", lines(rows)) == STORY
    assert told(tmp_path / "page", json.dumps({"events": rows[::-1], "cursor": "a"}, default=str)) == STORY
    assert told(tmp_path / "query", json.dumps({"data": rows, "schema": {}}, default=str)) == STORY
    assert told(tmp_path / "rows.csv", table(rows, lambda v: json.dumps(v, default=str))) == STORY
    spans: dict[str, Any] = {row["span_id"]: {**row, "children": []} for row in rows}
    for span in spans.values():
        for parent in span["span_parents"] or ():
            spans[parent]["children"].append(span)
    (root,) = (span for span in spans.values() if not span["span_parents"])
    assert told(tmp_path / "tree", json.dumps(root, default=str)) == STORY


@pytest.mark.parametrize("kind", ["function", None])
def test_functions_that_braintrust_traced_are_no_tools_and_not_lost_in_silence(
    kind: str | None, tmp_path: Path
) -> None:
    conversations, (skipped,) = read(write(tmp_path / "log", lines(braintrust_rows(kind, models=False))))
    assert conversations == []
    assert skipped.lost
    assert "3 are of functions (get_order, list_orders)" in skipped.reason


def braintrust_rows(kind: str | None, models: bool) -> list[dict[str, Any]]:
    logger = library("braintrust.logger")
    with logger._internal_with_memory_background_logger() as memory:
        log = logger.init_logger(project="shop", project_id="p1", api_key=logger.TEST_API_KEY)
        with log.start_span(name="agent", type="task", input=TASK) as root:

            def complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
                said = asked(sum(message["role"] == "tool" for message in messages))
                if models:
                    with root.start_span(name="Chat Completion", type="llm") as span:
                        span.log(input=[*messages], output=[{"index": 0, "message": said}])
                return said

            def run(name: str, given: dict[str, Any], said: str, failed: bool) -> None:
                def traced() -> None:
                    with root.start_span(name=name, input=given, **({"type": kind} if kind else {})) as span:
                        span.log(output=tool(said, failed)())

                tried(traced)

            agent(complete, run)
        log.flush()
        rows: list[dict[str, Any]] = memory.pop()
        return rows


@pytest.mark.parametrize("models", [True, False])
def test_weave_calls(models: bool, tmp_path: Path) -> None:
    assert told(tmp_path / "calls", lines(weave_calls("tool", models))) == STORY
    if models:
        assert told(tmp_path / "models", lines(weave_calls(None, models))) == STORY


def test_functions_that_weave_traced_are_no_tools_and_not_lost_in_silence(tmp_path: Path) -> None:
    conversations, (skipped,) = read(write(tmp_path / "log", lines(weave_calls(None, models=False))))
    assert conversations == []
    assert "3 are of functions (get_order, list_orders)" in skipped.reason


def weave_calls(kind: str | None, models: bool) -> list[dict[str, Any]]:
    weave, clients = library("weave"), library("weave.trace.weave_client")
    context = library("weave.trace.context.weave_client_context")
    server = MagicMock()
    server.obj_create.return_value.digest = server.file_create.return_value.digest = "abc123"
    client = clients.WeaveClient("shop", "shop", server, False)
    context.set_weave_client_global(client)
    given_kind = {"kind": kind} if kind else {}

    def complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
        said = asked(sum(message["role"] == "tool" for message in messages))
        if models:
            called = weave.op(
                lambda messages: {"choices": [{"message": said}]}, name="openai.chat.completions.create"
            )
            called(messages=[*messages])
        return said

    def run(name: str, given: dict[str, Any], said: str, failed: bool) -> None:
        tried(weave.op(tool(said, failed), name=name, **given_kind), **given)

    weave.op(lambda: agent(complete, run), name="agent")()
    client.flush()
    context.set_weave_client_global(None)
    calls: dict[str, dict[str, Any]] = {}
    for name, (request, *_), _ in (call for call in server.mock_calls if call[1]):
        if name in ("call_end", "call_processor.enqueue_start"):
            request = getattr(request, "req", request)  # noqa: PLW2901 - a batch's item around it
            told_of = request if isinstance(request, dict) else request.model_dump()
            one = told_of.get("end") or told_of.get("start")
            calls.setdefault(one["id"], {}).update({n: v for n, v in one.items() if v is not None})
    return [*calls.values()]
