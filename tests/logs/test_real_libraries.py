"""Logs as today's libraries write them: a new version that changes its form is noticed here."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from log_samples import read
from product_samples import CALLS, TASK

from btm.fallback import FallbackMap
from btm.logs.listening import Listener

LISTENER = Listener(FallbackMap.empty(), now=1_800_000_000.0)


def library(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's own
        try:
            return import_module(name)
        except ImportError as missing:
            pytest.skip(f"{name} is not installed: {missing}")


def told(path: Path, content: str | None = None) -> tuple[int, int, int]:
    """Conversations, calls and errors of a log, which holds ``content``, or is there already."""
    if content is not None:
        path.write_text(content)
    conversations, skipped = read(path)
    assert skipped == []
    heard = [LISTENER.listen(conversation) for conversation in conversations]
    outcomes = [outcome for one in heard for _, outcome in one.outcomes]
    unanswered = sum(one.unanswered for one in heard)
    return len(conversations), len(outcomes) + unanswered, sum(not outcome.ok for outcome in outcomes)


def test_autogen_results_and_dumped_events(tmp_path: Path) -> None:
    messages, base = library("autogen_agentchat.messages"), library("autogen_agentchat.base")
    core, models = library("autogen_core"), library("autogen_core.models")
    events = [messages.TextMessage(content=TASK, source="user")]
    for own, tool, given, said, failed in CALLS:
        call = core.FunctionCall(id=own, name=tool, arguments=json.dumps(given))
        result = models.FunctionExecutionResult(content=said, name=tool, call_id=own, is_error=failed)
        events += [
            messages.ToolCallRequestEvent(content=[call], source="shop"),
            messages.ToolCallExecutionEvent(content=[result], source="shop"),
            messages.ToolCallSummaryMessage(content=said, source="shop", tool_calls=[call], results=[result]),
        ]
    assert told(tmp_path / "result", base.TaskResult(messages=events).model_dump_json()) == (1, 3, 2)
    dumped = "".join(json.dumps(event.dump(), default=str) + "\n" for event in events)
    assert told(tmp_path / "events", dumped) == (1, 3, 2)


def test_llama_index_chat_stores_and_workflow_events(tmp_path: Path) -> None:
    types, stores = (
        library("llama_index.core.base.llms.types"),
        library("llama_index.core.storage.chat_store"),
    )
    agents, tools = library("llama_index.core.agent.workflow"), library("llama_index.core.tools")
    serializer = library("llama_index.core.workflow").JsonSerializer()
    messages, events = [types.ChatMessage(role="user", content=TASK)], []
    for own, tool, given, said, failed in CALLS:
        block = types.ToolCallBlock(tool_call_id=own, tool_name=tool, tool_kwargs=given)
        text = f"Error: {said}" if failed else said
        messages += [
            types.ChatMessage(role="assistant", blocks=[types.TextBlock(text="I look"), block]),
            types.ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": own}),
        ]
        about = {"tool_name": tool, "tool_kwargs": given, "tool_id": own}
        output = tools.ToolOutput(
            content=said, tool_name=tool, raw_input=given, raw_output=said, is_error=failed
        )
        events += [
            agents.ToolCall(**about),
            agents.ToolCallResult(**about, tool_output=output, return_direct=False),
        ]
    store = stores.SimpleChatStore()
    store.set_messages("u1", messages)
    assert told(tmp_path / "store", store.json()) == (1, 3, 2)
    assert told(tmp_path / "events", "".join(f"{serializer.serialize(e)}\n" for e in events)) == (1, 3, 2)


def test_semantic_kernel_histories(tmp_path: Path) -> None:
    contents = library("semantic_kernel.contents")
    history = contents.ChatHistory()
    history.add_user_message(TASK)
    for own, tool, given, said, failed in CALLS:
        call = contents.FunctionCallContent(id=own, name=f"shop-{tool}", arguments=json.dumps(given))
        made = contents.FunctionResultContent.from_function_call_content_and_result
        result = made(call, f"Error: {said}" if failed else said)
        history.add_message(contents.ChatMessageContent(role="assistant", items=[call]))
        history.add_message(contents.ChatMessageContent(role="tool", items=[result]))
    assert told(tmp_path / "history", history.serialize()) == (1, 3, 2)


def test_agno_runs_and_sessions(tmp_path: Path) -> None:
    message, run = library("agno.models.message").Message, library("agno.run.agent").RunOutput
    session = library("agno.session.agent").AgentSession
    messages = [message(role="user", content=TASK)]
    for own, tool, given, said, failed in CALLS:
        call = {"id": own, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        named = {"tool_call_id": own, "tool_name": tool, "tool_args": given, "tool_call_error": failed}
        messages += [
            message(role="assistant", tool_calls=[call]),
            message(role="tool", content=said, **named),
        ]
    made = run(run_id="r", session_id="s", messages=messages, content="shipped")
    assert told(tmp_path / "run", made.to_json()) == (1, 3, 2)
    held = session(session_id="s", runs=[made]).to_dict()
    assert told(tmp_path / "session", json.dumps(held, default=str)) == (1, 3, 2)


@pytest.mark.parametrize("by_alias", [True, False])
def test_adk_sessions_and_events(by_alias: bool, tmp_path: Path) -> None:
    sessions, events = library("google.adk.sessions"), library("google.adk.events")
    types = library("google.genai.types")
    made = [events.Event(author="user", content=types.Content(role="user", parts=[types.Part(text=TASK)]))]
    for own, tool, given, said, failed in CALLS:
        call = types.FunctionCall(id=own, name=tool, args=given)
        answer = types.FunctionResponse(id=own, name=tool, response={"error" if failed else "result": said})
        parts = [types.Part(text="look", thought=True), types.Part(function_call=call)]
        made += [
            events.Event(author="shop", content=types.Content(role="model", parts=parts)),
            events.Event(
                author="shop",
                content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
            ),
        ]
    session = sessions.Session(id="s", app_name="a", user_id="u", events=made)
    assert told(tmp_path / "session", session.model_dump_json(by_alias=by_alias)) == (1, 3, 2)
    dumped = "".join(event.model_dump_json(exclude_none=True, by_alias=by_alias) + "\n" for event in made)
    assert told(tmp_path / "events", dumped) == (1, 3, 2)


@pytest.mark.parametrize("form", ["json", "eval"])
def test_inspect_logs(form: str, tmp_path: Path) -> None:
    inspect, model = library("inspect_ai"), library("inspect_ai.model")
    solver, tool, dataset = (
        library("inspect_ai.solver"),
        library("inspect_ai.tool"),
        library("inspect_ai.dataset"),
    )

    @tool.tool
    def get_order() -> Any:
        async def execute(order_id: str) -> str:
            """Get an order.

            Args:
                order_id: Its id.
            """
            raise tool.ToolError("401 Unauthorized: token expired")

        return execute

    @tool.tool
    def list_orders() -> Any:
        async def execute(user_id: str) -> str:
            """List orders.

            Args:
                user_id: Whose.
            """
            return CALLS[2][3]

        return execute

    outputs = [
        model.ModelOutput.for_tool_call("mockllm/model", name, given) for _, name, given, _, _ in CALLS
    ]
    outputs.append(model.ModelOutput.from_content("mockllm/model", "shipped"))
    for output in outputs:
        output.usage = model.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = inspect.Task(
        dataset=[dataset.Sample(input=TASK)],
        solver=[solver.use_tools([get_order(), list_orders()]), solver.generate()],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inspect.eval(
            task, model=model.get_model("mockllm/model", custom_outputs=outputs), log_dir=str(tmp_path),
            log_format=form, display="none",
        )  # fmt: skip
    (log,) = tmp_path.glob(f"*.{form}")
    conversations, skipped = read(log)
    assert (len(conversations), skipped) == (1, [])
    assert [c.is_error for c in conversations[0].calls] == [True, True, None]


@pytest.mark.filterwarnings("ignore")  # the library's own, in the thread that writes
def test_mlflow_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = library("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path / 'runs'}")
    mlflow.set_experiment("shop")  # another test of the same process may have left one of its own store

    def make(tool: str, said: str, failed: bool) -> Any:
        def run(**given: Any) -> str:
            if failed:
                raise PermissionError(said)
            return said

        return mlflow.trace(run, name=tool, span_type="TOOL")

    with mlflow.start_span(name="agent", span_type="AGENT") as span:
        for _, tool, given, said, failed in CALLS:
            with suppress(PermissionError):
                make(tool, said, failed)(**given)
        trace_id = span.trace_id
    mlflow.flush_trace_async_logging()
    trace = mlflow.get_trace(trace_id)
    assert told(tmp_path / "trace", trace.to_json()) == (1, 3, 2)
    assert told(tmp_path / "found", json.dumps([trace.to_dict()])) == (1, 3, 2)
