"""Where the conversations lie in a record: lists of messages, whatever is around them.

A record is a conversation, a request with its response, or holds several (the samples of an evaluation, the runs of a
session). What the log's owner says of a conversation (its id, score, start) is looked for in the objects around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from btm.logs.layout import LISTS
from btm.logs.parts import is_message, who_says
from btm.logs.values import parsed_json, time_of
from btm.logs.words import plain

_DEPTH = 8
_LOOKED_AT = 50
_REQUESTS = (
    "request",
    "requestbody",
    "rawrequest",
    "proxyserverrequest",
    "input",
    "inputs",
    "messages",
    "prompt",
    "contents",
    "body",
)
_RESPONSES = (
    "response",
    "responsebody",
    "rawresponse",
    "output",
    "outputs",
    "choices",
    "candidates",
    "completion",
    "generations",
    "result",
)
_ONE_OF = frozenset(("choices", "candidates", "generations"))  # alternatives, of which the first was taken
_NO_MESSAGES = frozenset(("tools", "functions", "tooldefinitions", "availabletools"))


class Found(NamedTuple):
    """A list of messages, what is said of it around it, and whether it is a request with its response."""

    owner: Mapping[str, Any]
    messages: list[Any]
    exchange: bool = False


def conversations_in(value: Any, owner: Mapping[str, Any] | None = None, depth: int = 0) -> Iterator[Found]:
    """Give the conversations that a record holds."""
    owner = owner or {}
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        value = [_paired(item) for item in value] if value and _paired(value[0]) is not value[0] else value
        if _are_messages(value):
            yield Found(owner, _oldest_first(value))
            return
        for item in value:
            if isinstance(item, dict | list):
                yield from conversations_in(item, owner, depth + 1)
        return
    if not isinstance(value, dict):
        return
    around = {**owner, **value}
    if (exchange := _exchange(value)) is not None:
        yield Found(around, exchange, exchange=True)
        return
    for name in LISTS:
        if isinstance(found := value.get(name), list) and found:
            several = list(conversations_in(found, around, depth + 1))
            if several:
                yield from several
                return
    for name, inner in value.items():
        if inner and isinstance(inner, dict | list) and plain(str(name)) not in _NO_MESSAGES:
            yield from conversations_in(inner, around, depth + 1)


def _paired(item: Any) -> Any:
    """Return a pair of action and observation (LangChain's intermediate steps) as an object."""
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], dict) and not is_message(item[0]):
        return {"action": item[0], "observation": item[1]}
    return item


def _oldest_first(messages: list[Any]) -> list[Any]:
    """Return messages in the order in which they were made: some services list the newest first."""
    times = [time_of(m["created_at"]) for m in messages if isinstance(m, dict) and "created_at" in m]
    known = [at for at in times if at is not None]
    backwards = (
        len(known) == len(messages) > 1 and all(a >= b for a, b in pairwise(known)) and known[0] > known[-1]
    )
    return messages[::-1] if backwards else messages


def _are_messages(value: list[Any]) -> bool:
    return any(is_message(item) for item in value[:_LOOKED_AT])


def _exchange(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages of a request and its response, or None where there are not both."""
    named = {plain(str(name)): inner for name, inner in value.items()}
    asked = next((found for name in _REQUESTS if (found := _side(named.get(name), name))), None)
    if asked is None or who_says(asked[-1]) == "assistant":
        return None  # a request ends with somebody else's words
    answered = next((found for name in _RESPONSES if (found := _side(named.get(name), name))), None)
    return None if answered is None else asked + answered


def _side(given: Any, name: str, depth: int = 0) -> list[Any]:
    """Return the messages of one side of an exchange."""
    value: list[Any] | dict[str, Any] | Any = parsed_json(given)
    if not value or depth > _DEPTH:
        return []
    if isinstance(value, list):
        if name in _ONE_OF:
            value = value[:1]
        if _are_messages(value):
            return value
        return next((found for item in value[:1] if (found := _side(item, "", depth + 1))), [])
    if not isinstance(value, dict):
        return []
    if is_message(value):
        return [value]
    names = (
        *_REQUESTS,
        *_RESPONSES,
        "content",
        "message",
        "kwargs",
        "data",
        "inputbodyjson",
        "outputbodyjson",
    )
    named = {plain(str(key)): inner for key, inner in value.items()}
    return next((found for key in names if (found := _side(named.get(key), key, depth + 1))), [])
