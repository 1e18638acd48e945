"""Agents of real frameworks, run with scripted models, and what they log: a new version that changes its form is noticed.

Each agent calls ``get_order`` twice, which fails, and then ``list_orders``, which answers; most make the first two at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from product_samples import ERROR, ORDERS, TASK
from test_real_libraries import library, told

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

FIRST, SECOND, THIRD = {"order_id": "o1"}, {"order_id": "o2"}, {"user_id": "u1"}
STORY = (1, 3, 2)


def get_order(order_id: str) -> str:
    """Get an order.

    Args:
        order_id: Its id.
    """
    raise RuntimeError(ERROR)


def list_orders(user_id: str) -> str:
    """List orders.

    Args:
        user_id: Whose.
    """
    return ORDERS


def lines(values: Iterable[Any]) -> str:
    return "".join(json.dumps(value, default=plain) + "\n" for value in values)


def plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else str(value)


@pytest.fixture
def spans() -> Iterator[Any]:
    """A provider of OpenTelemetry that keeps its spans, as ``provider.kept``."""
    sdk, kept = (
        library("opentelemetry.sdk.trace"),
        library("opentelemetry.sdk.trace.export.in_memory_span_exporter"),
    )
    provider, exporter = sdk.TracerProvider(), kept.InMemorySpanExporter()
    provider.add_span_processor(library("opentelemetry.sdk.trace.export").SimpleSpanProcessor(exporter))
    provider.kept = lambda: [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    yield provider
    provider.shutdown()


@pytest.mark.parametrize("version", [2, 3])
def test_pydantic_ai(version: int, spans: Any, tmp_path: Path) -> None:
    pydantic_ai, messages = library("pydantic_ai"), library("pydantic_ai.messages")
    call, turn = messages.ToolCallPart, []

    def model(_: Any, __: Any) -> Any:
        turn.append(1)
        if len(turn) == 1:
            return messages.ModelResponse(
                parts=[call("get_order", FIRST), call("get_order", json.dumps(SECOND))]
            )
        last = call("list_orders", THIRD) if len(turn) == 2 else messages.TextPart("shipped")
        return messages.ModelResponse(parts=[messages.ThinkingPart("hm"), last])

    def failing(order_id: str) -> str:
        raise pydantic_ai.ModelRetry(f"{order_id}: {ERROR}")

    agent = pydantic_ai.Agent(library("pydantic_ai.models.function").FunctionModel(model), retries=3)
    agent.tool_plain(name="get_order")(failing)
    agent.tool_plain(list_orders)
    settings = library("pydantic_ai.models.instrumented").InstrumentationSettings
    agent.instrument = settings(tracer_provider=spans, version=version)
    done = agent.run_sync(TASK)
    assert told(tmp_path / "messages", done.all_messages_json().decode()) == STORY
    kept = spans.kept()
    assert told(tmp_path / "spans", lines(kept)) == STORY
    assert told(tmp_path / "models", lines(span for span in kept if "tool" not in span["name"])) == STORY


def test_openai_agents(tmp_path: Path) -> None:
    agents, types = library("agents"), library("openai.types.responses")
    traced: list[Any] = []

    processor: Any = agents.tracing.TracingProcessor

    class Kept(processor):  # type: ignore[misc]
        def on_trace_start(self, trace: Any) -> None:
            traced.append(trace.export())

        def on_span_end(self, span: Any) -> None:
            traced.append(span.export())

        def nothing(self, *_: Any) -> None:
            pass

        on_trace_end = on_span_start = shutdown = force_flush = nothing

    base: Any = agents.Model

    class Scripted(base):  # type: ignore[misc]
        turn = 0

        async def get_response(self, *_: Any, **__: Any) -> Any:
            self.turn += 1
            made = {
                1: [("c1", "get_order", FIRST), ("c2", "get_order", SECOND)],
                2: [("c3", "list_orders", THIRD)],
            }
            output: list[Any] = [
                types.ResponseFunctionToolCall(
                    call_id=own, name=name, arguments=json.dumps(given), type="function_call", id=f"fc_{own}"
                )
                for own, name, given in made.get(self.turn, ())
            ]
            text = types.ResponseOutputText(text="shipped", type="output_text", annotations=[])
            output = output or [
                types.ResponseOutputMessage(
                    id="m", role="assistant", status="completed", type="message", content=[text]
                )
            ]
            return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=f"resp_{self.turn}")

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    agents.set_trace_processors([Kept()])
    tools = [agents.function_tool(get_order), agents.function_tool(list_orders)]
    done = agents.Runner.run_sync(agents.Agent(name="shop", model=Scripted(), tools=tools), TASK)
    assert told(tmp_path / "input", json.dumps(done.to_input_list(), default=plain)) == STORY
    assert told(tmp_path / "traces", lines(traced)) == STORY


def test_smolagents(tmp_path: Path) -> None:
    smolagents, models = library("smolagents"), library("smolagents.models")

    base: Any = smolagents.Model

    class Scripted(base):  # type: ignore[misc]
        turn = 0

        def generate(self, *_: Any, **__: Any) -> Any:
            self.turn += 1
            made = {1: ("get_order", FIRST), 2: ("get_order", SECOND), 3: ("list_orders", THIRD)}
            name, given = made.get(self.turn, ("final_answer", {"answer": "shipped"}))
            function = models.ChatMessageToolCallFunction(name=name, arguments=given)
            call = models.ChatMessageToolCall(id=f"c{self.turn}", type="function", function=function)
            return smolagents.ChatMessage(role="assistant", content="hm", tool_calls=[call])

    tools = [smolagents.tool(get_order), smolagents.tool(list_orders)]
    agent = smolagents.ToolCallingAgent(tools=tools, model=Scripted(), verbosity_level=0)
    agent.run(TASK)
    assert told(tmp_path / "full", json.dumps(agent.memory.get_full_steps(), default=str)) == STORY
    assert told(tmp_path / "succinct", json.dumps(agent.memory.get_succinct_steps(), default=str)) == STORY


def test_strands(spans: Any, tmp_path: Path) -> None:
    strands, models = library("strands"), library("strands.models")
    sessions = library("strands.session.file_session_manager")
    library("opentelemetry.trace").set_tracer_provider(spans)

    base: Any = models.Model

    class Scripted(base):  # type: ignore[misc]
        turn = 0

        def update_config(self, **_: Any) -> None: ...

        def get_config(self) -> dict[str, Any]:
            return {}

        def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def stream(self, *_: Any, **__: Any) -> Any:
            self.turn += 1
            made = {
                1: [("c1", "get_order", FIRST), ("c2", "get_order", SECOND)],
                2: [("c3", "list_orders", THIRD)],
            }
            calls = made.get(self.turn, [])
            yield {"messageStart": {"role": "assistant"}}
            for own, name, given in calls:
                yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": own, "name": name}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(given)}}}}
                yield {"contentBlockStop": {}}
            if not calls:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "shipped"}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}

    folder = tmp_path / "sessions"
    manager = sessions.FileSessionManager(session_id="s1", storage_dir=str(folder))
    tools = [strands.tool(get_order), strands.tool(list_orders)]
    agent = strands.Agent(model=Scripted(), tools=tools, callback_handler=None, session_manager=manager)
    agent(TASK)
    assert told(tmp_path / "messages", json.dumps(agent.messages)) == STORY
    assert told(next(folder.rglob("messages"))) == STORY
    if kept := spans.kept():  # the provider is the process's, and may have been set by another test
        assert told(tmp_path / "spans", lines(kept)) == STORY


def test_langgraph(tmp_path: Path) -> None:
    langchain, core = library("langchain.agents"), library("langchain_core.messages")
    fake, tools = library("langchain_core.language_models.fake_chat_models"), library("langchain_core.tools")
    middleware, saver = library("langchain.agents.middleware"), library("langgraph.checkpoint.memory")
    asked = {"messages": [("user", TASK)]}

    base: Any = fake.GenericFakeChatModel

    class Scripted(base):  # type: ignore[misc]
        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

    def handle(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except RuntimeError as error:
            return core.ToolMessage(f"Error: {error}", tool_call_id=request.tool_call["id"], status="error")

    async def handle_async(request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except RuntimeError as error:
            return core.ToolMessage(f"Error: {error}", tool_call_id=request.tool_call["id"], status="error")

    def agent(handling: Any = handle) -> Any:
        def ai(*calls: tuple[str, str, Any]) -> Any:
            return core.AIMessage(
                "", tool_calls=[{"name": name, "args": given, "id": own} for own, name, given in calls]
            )

        said = [
            ai(("c1", "get_order", FIRST), ("c2", "get_order", SECOND)),
            ai(("c3", "list_orders", THIRD)),
            core.AIMessage("shipped"),
        ]
        return langchain.create_agent(
            Scripted(messages=iter(said), disable_streaming=True),
            [tools.tool(get_order), tools.tool(list_orders)],
            middleware=[middleware.wrap_tool_call(handling)],
            checkpointer=saver.InMemorySaver(),
        )

    def config(number: int) -> dict[str, Any]:
        return {"configurable": {"thread_id": f"t{number}"}}

    async def events() -> list[Any]:
        return [event async for event in agent(handle_async).astream_events(asked, config(0), version="v2")]

    made = agent()
    state = made.invoke(asked, config(1))
    history = [
        {"values": s.values, "config": s.config, "created_at": s.created_at}
        for s in made.get_state_history(config(1))
    ]
    logs = {
        "dict": json.dumps(core.messages_to_dict(state["messages"])),
        "dumps": library("langchain_core.load").dumps(state),
        "history": json.dumps(history, default=plain),
        "updates": lines(agent().stream(asked, config(2), stream_mode="updates")),
        "values": lines(agent().stream(asked, config(3), stream_mode="values")),
        "events": lines(asyncio.run(events())),
    }
    assert {name: told(tmp_path / name, log) for name, log in logs.items()} == dict.fromkeys(logs, STORY)


def test_haystack_messages(tmp_path: Path) -> None:
    data = library("haystack.dataclasses")
    messages = [data.ChatMessage.from_user(TASK)]
    for tool, given, said, failed in (
        ("get_order", FIRST, ERROR, True),
        ("list_orders", THIRD, ORDERS, False),
    ):
        call = data.ToolCall(tool_name=tool, arguments=given, id=tool)
        messages += [
            data.ChatMessage.from_assistant(tool_calls=[call]),
            data.ChatMessage.from_tool(tool_result=said, origin=call, error=failed),
        ]
    assert told(tmp_path / "log", json.dumps([message.to_dict() for message in messages])) == (1, 2, 1)


def test_dspy(tmp_path: Path) -> None:
    dspy, utils = library("dspy"), library("dspy.utils")
    steps = [("get_order", FIRST), ("get_order", SECOND), ("list_orders", THIRD), ("finish", {})]
    said = [
        {"next_thought": "hm", "next_tool_name": name, "next_tool_args": json.dumps(given)}
        for name, given in steps
    ]
    with dspy.context(lm=utils.DummyLM([*said, {"reasoning": "x", "answer": "shipped"}])):
        done = dspy.ReAct("question->answer", tools=[get_order, list_orders])(question=TASK)
    assert told(tmp_path / "log", json.dumps(done.toDict())) == STORY


def test_adk_runner(tmp_path: Path) -> None:
    agents, models, runners = (
        library("google.adk.agents"),
        library("google.adk.models"),
        library("google.adk.runners"),
    )
    types = library("google.genai.types")

    base: Any = models.BaseLlm

    class Scripted(base):  # type: ignore[misc]
        turn: int = 0

        async def generate_content_async(self, *_: Any, **__: Any) -> Any:
            self.turn += 1

            def call(name: str, given: Any) -> Any:
                return types.Part(function_call=types.FunctionCall(name=name, args=given))

            made = {1: [call("get_order", FIRST), call("get_order", SECOND)], 2: [call("list_orders", THIRD)]}
            parts = made.get(self.turn, [types.Part(text="shipped")])
            yield models.LlmResponse(content=types.Content(role="model", parts=parts))

    def failing(order_id: str) -> dict[str, str]:
        return {"status": "error", "error_message": f"{order_id}: {ERROR}"}

    failing.__name__ = "get_order"
    agent = agents.Agent(name="shop", model=Scripted(model="x"), tools=[failing, list_orders])

    async def session() -> Any:
        runner = runners.InMemoryRunner(agent=agent, app_name="shop")
        begun = await runner.session_service.create_session(app_name="shop", user_id="u")
        asked = types.Content(role="user", parts=[types.Part(text=TASK)])
        async for _ in runner.run_async(user_id="u", session_id=begun.id, new_message=asked):
            pass
        return await runner.session_service.get_session(app_name="shop", user_id="u", session_id=begun.id)

    assert told(tmp_path / "log", asyncio.run(session()).model_dump_json()) == STORY


def test_openinference_spans_of_a_bare_client(spans: Any, tmp_path: Path) -> None:
    openai, httpx = library("openai"), library("httpx")
    instrumentor = library("openinference.instrumentation.openai").OpenAIInstrumentor()
    turns = [
        ("c1", "get_order", FIRST, ERROR),
        ("c2", "get_order", SECOND, ERROR),
        ("c3", "list_orders", THIRD, ORDERS),
    ]
    left = iter([*turns, None])

    def answer(_: Any) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": "shipped"}
        if (turn := next(left)) is not None:
            function = {"name": turn[1], "arguments": json.dumps(turn[2])}
            message["tool_calls"] = [{"id": turn[0], "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return httpx.Response(
            200, json={"id": "x", "object": "chat.completion", "created": 1, "choices": [choice]}
        )

    instrumentor.instrument(tracer_provider=spans)
    try:
        client = openai.OpenAI(api_key="x", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
        messages: list[Any] = [{"role": "user", "content": TASK}]
        for own, _, _, said in (*turns, ("", "", {}, "")):
            done = client.chat.completions.create(model="m", messages=messages)
            answered = {"role": "tool", "tool_call_id": own, "content": said}
            messages += [done.choices[0].message.model_dump(exclude_none=True), answered]
    finally:
        instrumentor.uninstrument()
    assert told(tmp_path / "log", lines(spans.kept())) == STORY


def test_crewai(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crew"))
    crewai, tools, events = library("crewai"), library("crewai.tools"), library("crewai.events")
    seen: list[Any] = []

    listener: Any = events.BaseEventListener

    class Heard(listener):  # type: ignore[misc]
        def setup_listeners(self, bus: Any) -> None:
            for kind in ("ToolUsageStartedEvent", "ToolUsageFinishedEvent", "ToolUsageErrorEvent"):
                bus.on(getattr(events, kind))(lambda _, event: seen.append(event.to_json()))

    base: Any = library("crewai.llms.base_llm").BaseLLM

    class Scripted(base):  # type: ignore[misc]
        turn: int = 0

        def call(self, *_: Any, **__: Any) -> str:
            self.turn += 1
            made = {1: ("get_order", FIRST), 2: ("get_order", SECOND), 3: ("list_orders", THIRD)}
            if self.turn not in made:
                return "Thought: I know\nFinal Answer: shipped"
            name, given = made[self.turn]
            return f"Thought: hm\nAction: {name}\nAction Input: {json.dumps(given)}"

        def supports_function_calling(self) -> bool:
            return False

    Heard()
    agent = crewai.Agent(
        role="shop", goal="g", backstory="b", llm=Scripted(model="x"), verbose=False,
        tools=[tools.tool(get_order), tools.tool(list_orders)],
    )  # fmt: skip
    task = crewai.Task(description=TASK, expected_output="x", agent=agent)
    done = crewai.Crew(agents=[agent], tasks=[task], verbose=False).kickoff()
    # CrewAI itself tries a call that raises three times.
    assert told(tmp_path / "events", lines(seen)) == (1, 7, 6)
    assert told(tmp_path / "messages", json.dumps(done.tasks_output[0].messages)) == STORY
