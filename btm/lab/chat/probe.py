"""Before a measurement: does the server answer, and does the model get to see what the arms write?

A chat template may leave out what it does not know. A server that drops the content of ``tool`` messages makes every
advice in them useless and every model blind, and nothing says so; but the prompt's length does not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from btm.errors import EvaluationError
from btm.lab.chat.agents import tools_of
from btm.lab.chat.arms import ARMS, CONTROLS, placement_of
from btm.lab.shop.tools import TOOLS
from btm.support.untrusted import cut, text_of

_FILLER = "The quick brown fox jumps over the lazy dog near the old stone bridge. "
_LONG, _LEAST = _FILLER * 6, 30  # about 90 tokens more in one message; at least 30 have to arrive

_ANSWER = 16  # tokens; what it says does not matter

_CALL: Any = {"name": "track_shipment", "args": {"order_id": "S1"}, "id": "probe-1", "type": "tool_call"}


def _conversation(tool: str = "", reminder: str = "", system: str = "") -> list[AnyMessage]:
    messages: list[AnyMessage] = [
        SystemMessage(f"You are an assistant. {system}"),
        HumanMessage("Where is order S1?"),
        AIMessage("", tool_calls=[_CALL]),
        ToolMessage(f"It is on its way. {tool}", name="track_shipment", tool_call_id="probe-1"),
    ]
    return [*messages, HumanMessage(reminder)] if reminder else messages


_PLACES: dict[str, Callable[[], list[AnyMessage]]] = {
    "tool_result": lambda: _conversation(tool=_LONG),
    "user_reminder": lambda: _conversation(reminder=_LONG),
    "system": lambda: _conversation(system=_LONG),
}


def probe(model: BaseChatModel, arms: Sequence[str] = tuple(ARMS)) -> tuple[str, ...]:
    """Ask the model a few short things; return a warning for each place whose text does not reach it.

    A server that does not say how long its prompts were gives no warning. Raises EvaluationError when the model
    does not answer.
    """
    plain = _prompt_tokens(model, _conversation())
    if plain is None:
        return ()
    warnings: list[str] = []
    # Every arm rests on tool results being read; only the reminder and the controls stand in the user's role.
    wanted: set[str] = {"tool_result"}
    for arm in arms:
        where = placement_of(arm)
        if where is not None or arm in CONTROLS:
            wanted.add(where.value if where is not None else "user_reminder")
    for place, conversation in _PLACES.items():
        if place not in wanted:
            continue
        tokens = _prompt_tokens(model, conversation())
        if tokens is not None and tokens - plain < _LEAST:
            warnings.append(_WARNINGS[place])
    return tuple(warnings)


_WARNINGS = {
    "tool_result": "the server's chat template drops what tools answer: the prompt is as long without it, so the model "
    "sees neither results nor errors, and nothing that stands in them",
    "user_reminder": "the server's chat template drops a user's message after a tool's result",
    "system": "the server's chat template drops the end of the system message",
}


def _prompt_tokens(model: BaseChatModel, messages: list[AnyMessage]) -> int | None:
    tools = tools_of([TOOLS["track_shipment"]], lambda _, __: None)
    try:
        answer = model.bind_tools(tools).bind(max_tokens=_ANSWER).invoke(messages)
    except Exception as error:
        raise EvaluationError(
            f"the model does not answer: {cut(f'{type(error).__name__}: {text_of(error, 300)}', 300)}"
        ) from error
    usage = answer.usage_metadata
    return usage["input_tokens"] if usage else None
