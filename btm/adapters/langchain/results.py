"""What LangChain tools give, as btm's core reads it, and back: the objects themselves are never changed in place."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from btm.adapters.wording import done_text, longer, refusal_text
from btm.classify.frameworks import ToolResult, is_printed_failure
from btm.classify.reading import attribute
from btm.errors import RefusedCallError
from btm.planning.failure_text import error_text, result_text
from btm.runtime.drivers import Handled
from btm.support.imitations import disarmed
from btm.support.notes import note_on

NOTHING = object()
"""Stands for "no tool gave this"."""

_PLAIN = (ToolMessage, str)  # a tuple: a union is built anew at every call


def view(result: Any) -> Any:
    """Return what tells how a call went: of several messages, or of a ``Command``, the failing one or the last.

    Anything else is its own view; the classifier reads messages and MCP results by their shape.
    """
    if isinstance(result, _PLAIN):
        return _flagged(result)
    messages = [m for m in _messages(result) if _is_tool_message(m)]
    if not messages:
        return result
    return next((m for m in messages if _status(m) == "error"), messages[-1])


def _flagged(result: Any) -> Any:
    """An MCP result that LangChain has turned into its ``repr`` still says that it is an error, at its very end."""
    content = result.content if isinstance(result, ToolMessage) else result
    if isinstance(content, str) and is_printed_failure(content):
        return ToolResult(content, is_error=True)
    return result


def _messages(result: Any) -> Iterator[Any]:
    if isinstance(result, list):
        for item in result:
            if isinstance(item, BaseMessage):
                yield item
            elif is_command(item):
                yield from _messages(item)
    elif is_command(result):
        update = result.update
        pairs = update.items() if isinstance(update, Mapping) else update if isinstance(update, list) else ()
        for pair in pairs:
            if isinstance(pair, tuple) and len(pair) == 2:
                yield from pair[1] if isinstance(pair[1], list) else (pair[1],)


def is_refused_by_person(message: Any, tool: str) -> bool:
    """Whether a message is what ``HumanInTheLoopMiddleware`` answers for a call that a person rejected."""
    if not isinstance(message, ToolMessage) or message.status != "error":
        return False
    return message.text.startswith(f"User rejected the tool call for `{tool}`")


def is_command(value: Any) -> bool:
    """Whether this is a LangGraph ``Command``, told by its shape: langgraph need not be installed."""
    return type(value).__name__ == "Command" and hasattr(value, "update") and hasattr(value, "goto")


def _is_tool_message(message: Any) -> bool:
    if isinstance(message, Mapping):
        return message.get("role") == "tool" or message.get("type") == "tool"
    return isinstance(message, ToolMessage)


def _status(message: Any) -> Any:
    return message.get("status") if isinstance(message, Mapping) else attribute(message, "status")


class Exchange:
    """What the tools of one call gave, next to what the core was shown of it, so that the original goes back."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Any, Any]] = []

    def show(self, raw: Any, failure: Exception | None = None) -> Any:
        """Return the core's view of what a tool gave.

        ``failure`` is an exception that the framework has turned into ``raw``; it is raised, since it tells more.
        """
        shown = view(raw) if failure is None else failure
        self._pairs.append((shown, raw))
        if failure is not None:
            raise failure
        return shown

    def original(self, handled: Handled) -> Any:
        """Return the object that a tool gave as the core's answer; the marker ``NOTHING`` if none did."""
        wanted = handled.error if handled.error is not None else handled.result
        return next((raw for shown, raw in reversed(self._pairs) if shown is wanted), NOTHING)


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Whose result it is: the name the model called, and the id it gave the call (None: called by hand).

    ``direct``: it goes to the user as it is.
    """

    tool: str
    call_id: str | None
    direct: bool = False


def answer(
    handled: Handled, exchange: Exchange, to: Address, *, raises: bool = False, tell: Sequence[str] = ()
) -> Any:
    """Return what the agent gets for a handled call.

    Nothing btm did: the tool's own object, unchanged. A failure that raised becomes an error message for its own
    call only (with ``raises``, or for a call without an id, it is raised). What btm did itself is noted in
    ``response_metadata["btm"]``; the message keeps the name that the model called. ``tell`` are texts for the model,
    put at the end of a failed call's message, or on the exception as a note.
    """
    told = "\n\n".join(text for text in tell if text)
    if handled.refused:
        if to.call_id is None:
            raise RefusedCallError(told or refusal_text(handled))
        return _error(told or refusal_text(handled), to)
    raw = exchange.original(handled)
    if handled.error is not None and raw is NOTHING:
        if raises or to.call_id is None:
            if told:
                note_on(handled.error, told)
            raise handled.error
        raw = _error(error_text(handled.error, handled.call.arguments), to)
    elif raw is NOTHING:
        raw = _made(handled.result, to)
    if len(handled.trail) > 1:
        raw = each_message(raw, to, lambda m: _signed(m, handled, to))
    return appended(raw, told, to) if told else raw


def _error(text: str, to: Address) -> ToolMessage:
    return ToolMessage(content=text, name=to.tool, tool_call_id=to.call_id or "", status="error")


def _made(value: Any, to: Address) -> Any:
    """A value that btm picked out of a substitute's result, in the form the agent expects."""
    if to.call_id is None:
        return value
    return ToolMessage(content=result_text(value), name=to.tool, tool_call_id=to.call_id)


def _signed(message: ToolMessage, handled: Handled, to: Address) -> ToolMessage:
    moves = [f"{move.action} {move.call.tool}" for move in handled.trail if move.action is not None]
    served_by = handled.served_by if handled.outcome.ok else ""
    by_btm = {"served_by": served_by, "moves": moves, "said": done_text(handled)}
    metadata = {**message.response_metadata, "btm": by_btm}
    return message.model_copy(update={"name": to.tool, "response_metadata": metadata})


def appended(raw: Any, text: str, to: Address) -> Any:
    """Return what the agent gets with ``text`` at the end of the call's own message; values of other forms stay."""
    if isinstance(raw, str):
        return f"{disarmed(raw)}\n\n{text}"
    return each_message(raw, to, lambda m: with_text(m, text))


def with_text(message: ToolMessage, text: str) -> ToolMessage:
    """Return a copy of a message with ``text`` after its content."""
    return message.model_copy(update={"content": longer(disarmed(message.content), text)})


def each_message(raw: Any, to: Address, change: Callable[[ToolMessage], ToolMessage]) -> Any:
    """Return ``raw`` with ``change`` applied to the tool messages that answer this call, wherever they stand."""
    if isinstance(raw, ToolMessage):
        return change(raw) if raw.tool_call_id == (to.call_id or "") else raw
    if isinstance(raw, list):
        return [each_message(item, to, change) for item in raw]
    if is_command(raw) and isinstance(raw.update, Mapping):
        update = {
            key: each_message(value, to, change) if isinstance(value, list | ToolMessage) else value
            for key, value in raw.update.items()
        }
        return dataclasses.replace(raw, update=update)
    return raw
