"""The agent that is measured: LangChain's ``create_agent``, a chat model behind the OpenAI protocol, btm's middleware.

The only module of the measurement that imports ``langchain`` and ``langchain_openai`` (the extra ``model``).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.caches import RETURN_VAL_TYPE, InMemoryCache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import SecretStr

from btm.adapters.langchain import transcript
from btm.errors import EvaluationError, MissingExtraError
from btm.lab.chat.arms import CONTROLS, placement_of
from btm.lab.chat.request import Server
from btm.lab.chat.tasks import ChatTask
from btm.lab.environment import ToolSpec
from btm.memory import ToolMemory
from btm.planning.failure_text import error_text
from btm.support.untrusted import cut, text_of

try:
    import openai
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import ModelRequest, ToolCallRequest
    from langchain_openai import ChatOpenAI

    from btm.adapters.langchain.middleware import BTMMiddleware
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("langchain", "langgraph", "langchain_openai", "openai"):
        raise
    raise MissingExtraError(
        (missing.name or "").partition(".")[0].replace("_", "-"), "model", "measuring a chat model"
    ) from missing

MAX_TURNS = 14
"""How often a model is asked in one episode. One that does what it is told takes 3 or 4 turns where a repeat or a switch
helps, and up to 12 where nothing does: btm gives up on a fault that may pass only after three tries of each tool."""

SYSTEM_PROMPT = (
    "You are the assistant of a small shop. You work in steps: each step is one tool call, and its result tells you what "
    "to call next. find_user_by_email shows only the user_id, which the next call needs. Answer the customer in one short "
    "sentence only when every part of the request is done. If no tool can do it, call transfer_to_human."
)

Invoke = Callable[[str, Mapping[str, Any]], Any]

# No later call will answer better: going on would turn a wrong address into a poor result.
_FATAL = (
    openai.AuthenticationError,
    openai.PermissionDeniedError,
    openai.NotFoundError,
    openai.APIConnectionError,
)


class _ReplyCache(InMemoryCache):
    """Answers by request, where a request is what the model reads: not which answers before it were kept ones."""

    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        return super().lookup(_read_by_the_model(prompt), llm_string)

    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        super().update(_read_by_the_model(prompt), llm_string, return_val)


def _read_by_the_model(prompt: str) -> str:
    """Return a serialised message list without what LangChain notes of where its messages came from."""
    messages = json.loads(prompt)
    for message in messages:
        for name in ("id", "response_metadata", "usage_metadata", "additional_kwargs"):
            message["kwargs"].pop(name, None)
    return json.dumps(messages)


def connect(server: Server) -> BaseChatModel:
    """Return the chat model of a server; nothing is asked yet.

    At temperature 0 equal requests are asked once: arms that have said the same so far get the same answer.
    """
    return ChatOpenAI(
        model=server.model,
        base_url=server.base_url,
        api_key=SecretStr(server.api_key),
        temperature=server.temperature,
        timeout=server.timeout_s,
        max_retries=1,
        max_completion_tokens=server.max_tokens,
        use_responses_api=False,
        cache=_ReplyCache() if server.temperature == 0 else False,
    )


def fatal(error: Exception) -> bool:
    """Whether an error of a model says that there is no use in asking on: no connection, no right, no such model."""
    return isinstance(error, _FATAL) and not isinstance(error, openai.APITimeoutError)


@dataclass(frozen=True, slots=True)
class Talk:
    """What came of a conversation: the closing message, how often the model was asked, and what ended it early."""

    message: str
    turns: int
    problem: str = ""


class OutOfTurnsError(Exception):
    """The model was asked ``MAX_TURNS`` times and is not done."""


class _TurnLimit(AgentMiddleware[Any, Any, Any]):
    """Counts what the model is asked, and bounds it.

    The first answer has to be a call: no task can be done without one, and small models otherwise answer from nothing,
    under every arm alike. After that, and so after every failure, the model is free.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        if self.count >= MAX_TURNS:
            raise OutOfTurnsError(f"not done after {MAX_TURNS} turns")
        self.count += 1
        return handler(request.override(tool_choice="any") if self.count == 1 else request)


class _Unaided(AgentMiddleware[Any, Any, Any]):
    """What an agent without btm needs to go on: an error becomes the call's result, in the same words as btm's.

    ``text`` is what a last user message says after an error, with ``{request}`` in it; none without.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        try:
            return handler(request)
        except Exception as error:  # noqa: BLE001 - tools raise what they like; the model reads the text
            asked = request.tool_call
            return ToolMessage(
                content=error_text(error), name=asked["name"], tool_call_id=asked["id"] or "", status="error"
            )

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        messages = request.messages
        if self._text and _ends_in_error(messages):
            said = self._text.format(request=transcript.request(messages))
            request = request.override(messages=[*messages, HumanMessage(said)])
        return handler(request)


def _ends_in_error(messages: Sequence[AnyMessage]) -> bool:
    """Whether a call failed among those whose results end the list."""
    results = itertools.takewhile(lambda m: isinstance(m, ToolMessage), reversed(messages))
    return any(isinstance(m, ToolMessage) and m.status == "error" for m in results)


def talk(
    arm: str,
    model: BaseChatModel,
    task: ChatTask,
    tools: Sequence[BaseTool],
    memory: ToolMemory,
    shown: Sequence[AnyMessage] = (),
) -> Talk:
    """Let a model work on a task under an arm, after the demonstrations ``shown``.

    Whatever the model answers ends in a ``Talk``; raises EvaluationError only where it cannot be asked at all.
    """
    placement = placement_of(arm)
    turns = _TurnLimit()
    aid: AgentMiddleware[Any, Any, Any] = (
        BTMMiddleware(memory, placement=placement)
        if placement is not None
        else _Unaided(CONTROLS.get(arm, ""))
    )
    agent = create_agent(model, list(tools), system_prompt=SYSTEM_PROMPT, middleware=[aid, turns])
    config: Any = {"configurable": {"thread_id": task.task_id}, "recursion_limit": 8 * MAX_TURNS}
    try:
        state = agent.invoke({"messages": [*shown, HumanMessage(task.request)]}, config)
    except OutOfTurnsError as error:
        return Talk("", turns.count, str(error))
    except Exception as error:
        if fatal(error):
            raise EvaluationError(f"the model cannot be asked: {_said(error)}") from error
        return Talk("", turns.count, _said(error))
    last = state["messages"][-1]
    return Talk(last.text if isinstance(last, AIMessage) else "", turns.count)


def _said(error: Exception) -> str:
    return cut(f"{type(error).__name__}: {text_of(error, 300)}", 300)


def agent_over(model: BaseChatModel, tools: Sequence[Callable[..., Any]], system_prompt: str) -> Any:
    """Return LangChain's agent over plain functions, with nothing of btm in it; it is asked ``MAX_TURNS`` times at most."""
    return create_agent(model, list(tools), system_prompt=system_prompt, middleware=[_TurnLimit()])


def tools_of(specs: Sequence[ToolSpec], invoke: Invoke) -> list[BaseTool]:
    """Return LangChain tools that call ``invoke``."""

    def made(spec: ToolSpec) -> BaseTool:
        def run(**arguments: Any) -> Any:
            return invoke(spec.name, arguments)

        return StructuredTool(
            name=spec.name, description=spec.description, args_schema=dict(spec.parameters), func=run
        )

    return [made(spec) for spec in specs]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A request that is done, and nothing failed: its calls (tool, arguments, result) and the closing message."""

    request: str
    calls: tuple[tuple[str, Mapping[str, Any], Any], ...]
    closing: str


def shown_as(done: Sequence[Demonstration]) -> list[AnyMessage]:
    """Return demonstrations as messages: what a model learns the form of calls from."""
    messages: list[AnyMessage] = []
    for number, task in enumerate(done):
        messages.append(HumanMessage(task.request))
        for step, (tool, arguments, result) in enumerate(task.calls):
            call_id = f"shown-{number}-{step}"
            asked: Any = {"name": tool, "args": dict(arguments), "id": call_id, "type": "tool_call"}
            messages.append(AIMessage("", tool_calls=[asked]))
            # As LangChain's tool node writes a result.
            text = json.dumps(result, ensure_ascii=False)
            messages.append(ToolMessage(text, name=tool, tool_call_id=call_id))
        messages.append(AIMessage(task.closing))
    return messages
