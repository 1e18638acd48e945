"""Ids of calls that every turn uses anew ("0", "call_0"), as many servers and small models give them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kit import DONE, ScriptedModel, broken_call, calls, learned, logged, memory_of
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from btm.adapters.budget import Budget
from btm.adapters.chat_completions import ChatLoop
from btm.adapters.langchain import BTMCallbackHandler, BTMMiddleware, wrap_tools
from btm.adapters.wording import Placement
from btm.memory import ToolMemory

ASK = {"messages": [HumanMessage("go")]}
THREAD = {"configurable": {"thread_id": "t1"}}
WAYS = pytest.mark.parametrize("way", ["sync", "async"])
RETRY = ("get_flaky", "timeout", "retry", "", 1)


def flaky(*works: bool) -> Any:
    """A tool that works or times out, call by call; the last of these stays."""
    answers = list(works)

    @tool
    def get_flaky(q: int) -> str:
        """Look."""
        if answers.pop(0) if len(answers) > 1 else answers[0]:
            return "fine"
        raise TimeoutError("timed out")

    return get_flaky


def script(*ids: str, q: int = 1) -> list[AIMessage]:
    return [*(calls(("get_flaky", {"q": q}, i)) for i in ids), DONE]


def run(made: Any, way: str, given: Any = ASK, config: Any = THREAD) -> Any:
    return made.invoke(given, config) if way == "sync" else asyncio.run(made.ainvoke(given, config))


def told(model: ScriptedModel) -> list[bool]:
    """Whether each request of the model had a note."""
    return ["<recovery tool=" in "".join(m.text for m in request) for request in model.requests]


def agent(memory: ToolMemory, tools: list[Any], answers: list[Any], *more: Any, **options: Any) -> Any:
    model = ScriptedModel(script=list(answers))
    middleware = BTMMiddleware(memory, **options)
    made = create_agent(model, tools, middleware=[*more, middleware], checkpointer=InMemorySaver())
    return made, model


# -- the middleware ------------------------------------------------------------------------------------------------


@WAYS
@pytest.mark.parametrize("thread", [THREAD, None])
@pytest.mark.parametrize("placement", list(Placement))
def test_notes_and_lessons_are_those_of_ids_that_do_not_repeat(
    way: str, thread: Any, placement: Placement
) -> None:
    seen = []
    for ids in ("abcd", "0000"):
        memory = memory_of()
        tools = [flaky(False, True, False, True)]
        model = ScriptedModel(script=script(*ids))
        made = create_agent(model, tools, middleware=[BTMMiddleware(memory, placement=placement)])
        answer = run(made, way, config=thread)
        assert [m.tool_call_id for m in answer["messages"] if isinstance(m, ToolMessage)] == list(ids)
        seen.append((told(model), learned(memory), [row[:2] for row in logged(memory)]))
    assert seen[0] == seen[1]
    assert seen[1][0] == [False, True, False, True, False]
    assert seen[1][1] == [(*RETRY, 2, 2)]


def test_a_note_in_tool_results_stands_in_the_result_it_is_about() -> None:
    made, model = agent(memory_of(), [flaky(False)], script("0", "0", "0"), placement=Placement.TOOL_RESULT)
    made.invoke(ASK, THREAD)
    for request in model.requests[1:]:
        noted = ["<recovery tool=" in m.text for m in request if isinstance(m, ToolMessage)]
        assert noted == [False] * (len(noted) - 1) + [True]


def test_guard_refuses_a_fourth_repeat_under_the_same_id() -> None:
    made, _ = agent(memory_of("guard"), [flaky(False)], script(*"00000"))
    answer = made.invoke(ASK, THREAD)
    results = [m for m in answer["messages"] if isinstance(m, ToolMessage)]
    assert ["was not run" in m.text for m in results] == [False, False, False, True, True]
    assert {m.tool_call_id for m in results} == {"0"}


def test_calls_of_act_mode_are_told_apart_turn_by_turn() -> None:
    memory = memory_of("act")
    made, _ = agent(memory, [flaky(False, True, False, True)], script("0", "0"))
    answer = made.invoke(ASK, THREAD)
    results = [m.text for m in answer["messages"] if isinstance(m, ToolMessage)]
    assert results == ["fine\n\n[tool layer: after a timeout, 1 retry]"] * 2
    assert learned(memory) == [(*RETRY, 2, 2)]
    assert len(logged(memory)) == 4


@WAYS
@pytest.mark.parametrize("path", [False, True])
def test_a_resumed_call_under_a_repeated_id_counts_once(way: str, path: bool, tmp_path: Path) -> None:
    @tool
    def ask(q: int) -> str:
        """Ask a person."""
        return f"{interrupt('sure?')}"

    def memory() -> ToolMemory:
        return memory_of(path=tmp_path / "btm.db", half_life_s=float("inf")) if path else first

    first = memory_of()
    saver = InMemorySaver()
    ran: Counter[int] = Counter()

    @tool
    def look(q: int) -> str:
        """Look."""
        ran[q] += 1
        if ran[q] == 1:
            raise TimeoutError("timed out")
        return "fine"

    answers = [
        calls(("look", {"q": 1}, "0")),
        calls(("look", {"q": 1}, "0"), ("ask", {"q": 1}, "1")),
        DONE,
    ]
    model = ScriptedModel(script=answers)

    def made(memory: ToolMemory) -> Any:
        return create_agent(model, [look, ask], middleware=[BTMMiddleware(memory)], checkpointer=saver)

    before = memory()
    assert "__interrupt__" in run(made(before), way)
    assert before.flush()
    if path:
        before.close()
    after = memory()
    run(made(after), way, Command(resume="yes"))
    names = logged(after)
    assert [(row[0], row[1]) for row in names if row[0] == "look"] == [("look", "timeout"), ("look", "ok")]
    assert [row[0] for row in names].count("ask") == 1
    assert learned(after) == [("look", "timeout", "retry", "", 1, 1, 1)]
    after.close()


def test_a_step_that_is_run_again_in_another_process_counts_once(tmp_path: Path) -> None:
    """The process dies in the third turn, after its first call was made; all turns use the same ids."""
    path, saver = tmp_path / "btm.db", InMemorySaver()
    made_it: list[int] = []

    def tools(dies: bool) -> list[Any]:
        @tool
        def look(q: int) -> str:
            """Look."""
            made_it.append(q)
            return "fine"

        @tool
        def die(q: int) -> str:
            """Die."""
            if dies:
                raise KeyboardInterrupt
            return "fine"

        return [look, die]

    both = calls(("look", {"q": 1}, "0"), ("die", {"q": 1}, "1"))
    model = ScriptedModel(script=[*(calls(("look", {"q": 1}, "0")) for _ in range(2)), both, DONE])

    def process(dies: bool, given: Any) -> list[tuple[str, str, str]]:
        with memory_of(path=path, half_life_s=float("inf")) as memory:
            graph = create_agent(model, tools(dies), middleware=[BTMMiddleware(memory)], checkpointer=saver)
            if dies:
                with pytest.raises(KeyboardInterrupt):
                    graph.invoke(given, THREAD)
            else:
                graph.invoke(given, THREAD)
            return logged(memory)

    before = process(True, ASK)
    after = process(False, None)
    assert [row[0] for row in after].count("look") == 3, "three turns, whatever ran again"
    assert set(before) <= set(after)


def test_a_result_that_was_never_a_call_gets_no_note_of_an_earlier_turn() -> None:
    memory = memory_of()
    human = HumanInTheLoopMiddleware(interrupt_on={"danger": True})

    @tool
    def danger(q: int) -> str:
        """Change something."""
        return "done"

    answers = [calls(("get_flaky", {"q": 1}, "0")), calls(("danger", {"q": 1}, "0")), DONE]
    made, model = agent(memory, [flaky(False), danger], answers, human)
    made.invoke(ASK, THREAD)
    made.invoke(Command(resume={"decisions": [{"type": "reject"}]}), THREAD)
    assert told(model) == [False, True, False]


def test_calls_that_cannot_be_read_are_told_apart_too() -> None:
    memory = memory_of()
    answers = [
        calls(("get_flaky", {"q": 1}, "0")),
        broken_call("get_flaky", '{"q": ', "0"),
        broken_call("get_flaky", '{"q": ', "0"),
        calls(("get_flaky", {"q": 1}, "0")),
        DONE,
    ]
    made, model = agent(memory, [flaky(True)], answers)
    answer = made.invoke(ASK, THREAD)
    assert {m.tool_call_id for m in answer["messages"] if isinstance(m, ToolMessage)} == {"0"}
    assert [row[:2] for row in logged(memory)].count(("get_flaky", "invalid_arguments")) == 2
    assert told(model) == [False, False, True, True, False]


def test_a_budget_counts_calls_whose_ids_repeat() -> None:
    made, _ = agent(memory_of("guard"), [flaky(True)], script(*"0000"), budget=Budget(calls=2))
    answer = made.invoke(ASK, THREAD)
    results = [m.text for m in answer["messages"] if isinstance(m, ToolMessage)]
    assert ["budget" in text for text in results] == [False, False, True, True]


def test_a_late_answer_or_a_summary_does_not_make_a_repeat_a_replay() -> None:
    """Earlier messages are gone from the history: the message that asks is another one all the same."""
    memory = memory_of()
    middleware = BTMMiddleware(memory)
    for turn, works in enumerate([False, True]):
        made = create_agent(ScriptedModel(script=script("0")), [flaky(works)], middleware=[middleware])
        made.invoke({"messages": [HumanMessage(f"turn {turn}")]}, THREAD)
    assert learned(memory) == [(*RETRY, 1, 1)]


# -- wrapped tools and callbacks ------------------------------------------------------------------------------------


def graph(tools: list[Any], answers: list[Any], saver: Any = None) -> Any:
    model = ScriptedModel(script=list(answers))
    made = StateGraph(MessagesState)
    made.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    made.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    made.add_edge(START, "model")
    made.add_conditional_edges("model", tools_condition)
    made.add_edge("tools", "model")
    return made.compile(checkpointer=saver)


@WAYS
@pytest.mark.parametrize("entrance", ["wrapped", "watched"])
def test_every_entrance_tells_steps_of_a_graph_apart(way: str, entrance: str) -> None:
    memory = memory_of()
    tools = [flaky(False, True, False, True)]
    made = graph(
        wrap_tools(tools, memory) if entrance == "wrapped" else tools, script(*"0000"), InMemorySaver()
    )
    watching = {"callbacks": [BTMCallbackHandler(memory)]} if entrance == "watched" else {}
    answer = run(made, way, config={**THREAD, **watching})
    assert {m.tool_call_id for m in answer["messages"] if isinstance(m, ToolMessage)} == {"0"}
    assert learned(memory) == [(*RETRY, 2, 2)]


@pytest.mark.parametrize("entrance", ["wrapped", "watched"])
def test_a_step_of_a_graph_that_is_resumed_counts_once(entrance: str) -> None:
    @tool
    def ask(q: int) -> str:
        """Ask a person."""
        return f"{interrupt('sure?')}"

    memory = memory_of()
    tools: list[Any] = [flaky(True), ask]
    tools = wrap_tools(tools, memory) if entrance == "wrapped" else tools
    both = calls(("get_flaky", {"q": 1}, "0"), ("ask", {"q": 1}, "1"))
    made = graph(tools, [both, both, DONE], InMemorySaver())
    config = {**THREAD, "callbacks": [BTMCallbackHandler(memory)]} if entrance == "watched" else THREAD
    made.invoke(ASK, config)
    made.invoke(Command(resume="yes"), config)
    made.invoke(Command(resume="yes"), config)
    assert Counter(row[0] for row in logged(memory)) == {"get_flaky": 2, "ask": 2}


@pytest.mark.parametrize("entrance", ["wrapped", "watched"])
def test_an_agent_inside_a_tool_may_number_its_calls_as_the_outer_one_does(entrance: str) -> None:
    memory = memory_of()
    tools = [flaky(True)]
    inner_tools = wrap_tools(tools, memory) if entrance == "wrapped" else tools

    @tool
    def research(q: int) -> str:
        """Hand over to another agent."""
        answer = graph(inner_tools, script("0")).invoke(ASK)
        return str(answer["messages"][-1].text)

    made, _ = agent(memory, [research], [calls(("research", {"q": 1}, "0")), DONE])
    config = {**THREAD, "callbacks": [BTMCallbackHandler(memory)]} if entrance == "watched" else THREAD
    made.invoke(ASK, config)
    assert sorted(row[:2] for row in logged(memory)) == [("get_flaky", "ok"), ("research", "ok")]


def test_a_wrapped_tool_in_a_watched_agent_with_the_middleware_counts_once() -> None:
    memory = memory_of()
    made, _ = agent(memory, wrap_tools([flaky(False, True)], memory), script("0", "0"))
    made.invoke(ASK, {**THREAD, "callbacks": [BTMCallbackHandler(memory)]})
    assert len(logged(memory)) == 2
    assert learned(memory) == [(*RETRY, 1, 1)]


def test_a_wrapped_tool_outside_of_graphs_is_told_by_tool_and_arguments() -> None:
    memory = memory_of()
    [look] = wrap_tools([flaky(True)], memory)
    with memory.conversation("talk"):
        for q in (1, 2, 2, 3):
            answer = look.invoke({"type": "tool_call", "name": "get_flaky", "args": {"q": q}, "id": "0"})
            assert answer.tool_call_id == "0"
    assert len(logged(memory)) == 3


# -- the bare loop --------------------------------------------------------------------------------------------------


def ask_for(name: str, call_id: Any, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


class Talk:
    """A bare loop around scripted answers of a model."""

    def __init__(self, memory: ToolMemory, works: list[bool], *, keep: int = 1_000) -> None:
        self.works, self.keep = list(works), keep

        def get_it(q: int) -> str:
            if self.works.pop(0):
                return "fine"
            raise TimeoutError("timed out")

        self.loop = ChatLoop(memory, [get_it], conversation="talk")
        self.messages: list[Any] = [{"role": "user", "content": "go"}]
        self.notes: list[bool] = []

    def turn(self, call_id: Any, q: int = 1) -> Any:
        request = self.loop.prepare(self.messages[-self.keep :])
        self.notes.append("<recovery tool=" in str(request))
        message = ask_for("get_it", call_id, q=q)
        self.messages.append(message)
        self.messages += self.loop.run(message["tool_calls"])
        return self.messages[-1]


@pytest.mark.parametrize("keep", [1_000, 5])
def test_a_loop_learns_as_much_from_ids_that_repeat(keep: int) -> None:
    seen = []
    for ids in ("abcdef", "000000", [0] * 6):
        memory = memory_of()
        talk = Talk(memory, [False, True, True, False, False, True], keep=keep)
        assert [talk.turn(i)["tool_call_id"] for i in ids] == list(ids)
        seen.append((talk.notes, learned(memory), len(logged(memory))))
    assert seen[0] == seen[1] == seen[2]
    assert seen[1][0] == [False, True, False, False, True, True]
    assert seen[1][2] == 6


def test_a_loop_refuses_a_fourth_repeat_under_the_same_id() -> None:
    talk = Talk(memory_of("guard"), [False] * 8)
    refused = ["was not run" in talk.turn("0")["content"] for _ in range(6)]
    assert refused == [False, False, False, True, True, True]


def test_a_loop_that_is_taken_up_again_counts_a_call_once(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    with memory_of(path=path, half_life_s=float("inf")) as memory:
        first = Talk(memory, [False, False, True])
        for _ in range(3):
            first.turn("0")
        before = logged(memory)
    assert len(before) == 3
    with memory_of(path=path, half_life_s=float("inf")) as memory:
        again = Talk(memory, [True, True])
        again.messages = first.messages[:5]  # the last call's answer was lost
        again.turn("0")
        assert logged(memory) == before
        again.turn("0")
        assert len(logged(memory)) == 4


def test_a_message_that_is_run_again_counts_once() -> None:
    memory = memory_of()
    talk = Talk(memory, [True] * 9)
    talk.turn("0")
    talk.turn("0")
    talk.loop.run(talk.messages[-2]["tool_calls"])
    assert len(logged(memory)) == 2
    talk.loop.prepare(talk.messages[:-1])  # the history ends with the message that asks
    talk.loop.run(talk.messages[-2]["tool_calls"])
    assert len(logged(memory)) == 2


def test_a_loop_without_requests_tells_calls_by_tool_and_arguments() -> None:
    memory = memory_of()
    talk = Talk(memory, [True] * 9)
    for q in (1, 2, 2, 3):
        talk.loop.run(ask_for("get_it", "0", q=q)["tool_calls"])
    assert len(logged(memory)) == 3


@pytest.mark.parametrize("call_id", [0, 7, "0", ""])
@WAYS
def test_an_answer_carries_the_id_that_was_given(call_id: Any, way: str) -> None:
    memory = memory_of()
    loop = ChatLoop(memory, {"get_it": lambda q: q}, conversation="talk")
    message = ask_for("get_it", call_id, q=1)
    asked = message["tool_calls"]
    [answer] = loop.run(asked) if way == "sync" else asyncio.run(loop.arun(asked))
    if call_id == "":
        assert answer["tool_call_id"] != ""
    else:
        assert answer["tool_call_id"] == call_id
        assert type(answer["tool_call_id"]) is type(call_id)


def test_a_lost_answer_is_made_up_for_under_the_id_that_was_given() -> None:
    loop = ChatLoop(memory_of(), {}, repair_history=True)
    made = loop.prepare([ask_for("get_it", 0, q=1), {"role": "user", "content": "well?"}])
    [lost] = [m for m in made if m["role"] == "tool"]
    assert lost["tool_call_id"] == 0
