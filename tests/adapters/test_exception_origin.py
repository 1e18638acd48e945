"""Only the tool's own exception is a tool failure; what other middleware raises passes on untouched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from adapters.kit import DONE, ScriptedModel, calls, logged, memory_of
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import InjectedStore

from btm.adapters.langchain import BTMMiddleware


class RunEndedError(Exception):
    pass


@tool
def look_up(q: str) -> str:
    """Look something up."""
    raise ConnectionError("connection refused")


@tool
def list_notes(q: str) -> str:
    """List notes."""
    return "none"


class Around(AgentMiddleware[Any, Any, Any]):
    """Middleware that does ``act`` around every tool call, returned or awaited."""

    def __init__(self, act: Callable[[Callable[[], Any]], Any], name: str = "around") -> None:
        super().__init__()
        self._act, self._name = act, name
        self.tools = []

    @property
    def name(self) -> str:
        return self._name

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._act(lambda: handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        answer: list[Any] = []
        try:
            answer.append(await handler(request))
        except Exception as error:  # noqa: BLE001 - it goes on below
            failure = error

            def again() -> Any:
                raise failure
        else:

            def again() -> Any:
                return answer[0]

        return self._act(again)


def refuse(_: Callable[[], Any]) -> Any:
    raise RunEndedError("the classifier is not to be reached")


def translate(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except ConnectionError as error:
        raise RunEndedError("the backend is down") from error


def run(model: ScriptedModel, tools: list[BaseTool], middleware: list[Any], *, awaited: bool) -> list[Any]:
    agent = create_agent(model, tools, middleware=middleware)
    given: Any = {"messages": [{"role": "user", "content": "go"}]}
    out = asyncio.run(agent.ainvoke(given)) if awaited else agent.invoke(given)
    messages: list[Any] = out["messages"]
    return messages


@pytest.mark.parametrize("mode", ["observe", "advise", "guard", "act"])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_guard_inside_that_raises_ends_the_run_and_teaches_nothing(mode: str, awaited: bool) -> None:
    memory = memory_of(mode)
    model = ScriptedModel(script=[calls(("list_notes", {"q": "a"}, "c1")), DONE])
    with pytest.raises(RunEndedError) as raised:
        run(model, [list_notes], [BTMMiddleware(memory), Around(refuse)], awaited=awaited)
    assert raised.value.__cause__ is None
    assert logged(memory) == []


@pytest.mark.parametrize("awaited", [False, True])
def test_the_tools_own_exception_is_told_however_much_middleware_stands_between(awaited: bool) -> None:
    memory = memory_of()
    model = ScriptedModel(script=[calls(("look_up", {"q": "a"}, "c1")), DONE])
    through = [Around(lambda make: make(), name) for name in ("one", "two")]
    messages = run(model, [look_up], [BTMMiddleware(memory), *through], awaited=awaited)
    assert "connection refused" in messages[2].text
    assert logged(memory) == [("look_up", "unavailable", "c1")]


@pytest.mark.parametrize("awaited", [False, True])
def test_what_middleware_raises_in_place_of_a_tools_failure_goes_on_and_the_failure_is_learned(
    awaited: bool,
) -> None:
    memory = memory_of()
    model = ScriptedModel(script=[calls(("look_up", {"q": "a"}, "c1")), DONE])
    with pytest.raises(RunEndedError) as raised:
        run(model, [look_up], [BTMMiddleware(memory), Around(translate)], awaited=awaited)
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert logged(memory) == [("look_up", "unavailable", "c1")]


def test_middleware_that_cannot_be_awaited_is_not_a_broken_tool() -> None:
    class OnlySync(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

    memory = memory_of()
    model = ScriptedModel(script=[calls(("list_notes", {"q": "a"}, "c1")), DONE])
    with pytest.raises(NotImplementedError):
        run(model, [list_notes], [BTMMiddleware(memory), OnlySync()], awaited=True)
    assert logged(memory) == []


@pytest.mark.parametrize("awaited", [False, True])
def test_a_tool_node_that_lacks_what_it_must_inject_is_not_a_broken_tool(awaited: bool) -> None:
    @tool
    def keep(q: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Keep a thing."""
        return "kept"

    memory = memory_of()
    model = ScriptedModel(script=[calls(("keep", {"q": "a"}, "c1")), DONE])
    with pytest.raises(ValueError, match="store"):
        run(model, [keep], [BTMMiddleware(memory)], awaited=awaited)
    assert logged(memory) == []


@pytest.mark.parametrize("awaited", [False, True])
def test_a_tool_that_only_middleware_inside_knows_fails_as_a_tool_does(awaited: bool) -> None:
    class Adds(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool=look_up))

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tool=look_up))

    memory = memory_of()
    model = ScriptedModel(script=[calls(("look_up", {"q": "a"}, "c1")), DONE])
    messages = run(model, [list_notes], [BTMMiddleware(memory), Adds()], awaited=awaited)
    assert "connection refused" in messages[2].text
    assert logged(memory) == [("look_up", "unavailable", "c1")]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_tool_that_fails_inside_a_guards_own_agent_is_the_guards_affair(awaited: bool) -> None:
    @tool
    def classify(q: str) -> str:
        """Say how risky it is."""
        raise ConnectionError("no classifier")

    def ask(_: Callable[[], Any]) -> Any:
        return classify.invoke({"name": "classify", "args": {"q": "a"}, "id": "other", "type": "tool_call"})

    memory = memory_of()
    model = ScriptedModel(script=[calls(("list_notes", {"q": "a"}, "c1")), DONE])
    with pytest.raises(ConnectionError, match="no classifier"):
        run(model, [list_notes], [BTMMiddleware(memory), Around(ask)], awaited=awaited)
    assert logged(memory) == []


@pytest.mark.parametrize("timeouts", [{}, {"look_up": 30.0, "list_notes": 30.0}])
@pytest.mark.parametrize("awaited", [False, True])
def test_time_limits_change_nothing_about_whose_exception_it_is(
    timeouts: dict[str, float], awaited: bool
) -> None:
    memory = memory_of()
    model = ScriptedModel(script=[calls(("look_up", {"q": "a"}, "c1")), DONE])
    messages = run(model, [look_up], [BTMMiddleware(memory, timeouts=timeouts)], awaited=awaited)
    assert "connection refused" in messages[2].text
    model = ScriptedModel(script=[calls(("list_notes", {"q": "a"}, "c1")), DONE])
    ours = BTMMiddleware(memory, timeouts=timeouts)
    with pytest.raises(RunEndedError):
        run(model, [list_notes], [ours, Around(refuse)], awaited=awaited)
