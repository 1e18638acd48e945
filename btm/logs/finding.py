"""Where the conversations lie in a record: lists of messages, whatever is around them.

A record is a conversation, a request with its response, or holds several (the samples of an evaluation, the runs of a
session). What the log's owner says of a conversation (its id, score, start) is looked for in the objects around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from btm.logs.layout import AROUND, LISTS
from btm.logs.shapes import is_message, is_piece, unwrapped, who_says
from btm.logs.values import parsed_json, time_of
from btm.logs.words import plain

_DEPTH = 8
_TEXTS = 3  # depth to which texts that hold JSON are opened
_LOOKED_AT = 50
_REQUESTS = (
    "request", "requestbody", "rawrequest", "proxyserverrequest", "input", "inputs", "messages", "prompt", "contents",
    "body"
)  # fmt: skip
_RESPONSES = (
    "response", "responsebody", "rawresponse", "output", "outputs", "choices", "candidates", "completion",
    "generations", "result"
)  # fmt: skip
# Further in: of a HAR file, of a logged body.
_INSIDE = (
    *_REQUESTS, *_RESPONSES, "content", "message", "kwargs", "data", "inputbodyjson", "outputbodyjson", "postdata", "text",
)  # fmt: skip
_ONE_OF = frozenset(("choices", "candidates", "generations"))  # alternatives, of which the first was taken
_NODES = 8
_DIGITS = 20
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
        yield from _in_list(value, owner, depth)
        return
    if not isinstance(value, dict):
        return
    around = {**owner, **value}
    if numbered := _by_number(value):
        yield from _in_list(numbered, owner, depth)
        return
    if (exchange := _exchange(value)) is not None:
        yield Found(around, exchange, exchange=True)
        return
    for name in LISTS:
        found = parsed_json(value.get(name))
        if isinstance(found, dict):
            found = _steps_in(found) if "tool_name_0" in found else _branch(found, value.get("current_node"))
        if isinstance(found, list) and found:
            several = list(conversations_in(found, around, depth + 1))
            if several:
                yield from several
                return
    for name, held in value.items():
        in_text = depth < _TEXTS and type(held) is str and held[:2] in ('{"', "[{")
        inner = parsed_json(held) if in_text else held
        if inner and isinstance(inner, dict | list) and plain(str(name)) not in _NO_MESSAGES:
            yield from conversations_in(inner, around, depth + 1)


def _in_list(value: list[Any], owner: Mapping[str, Any], depth: int) -> Iterator[Found]:
    if value and [*map(id, _unfolded(value[0]))] != [id(value[0])]:
        value = [message for item in value for message in _unfolded(item)]
    if _are_messages(value):
        yield Found(owner, _oldest_first(value))
        return
    for item in value:
        if isinstance(item, dict | list):
            yield from conversations_in(item, owner, depth + 1)


def _by_number(value: Mapping[str, Any]) -> list[Any]:
    """Return messages that stand by their numbers, in their order; none where the numbers are years or ids of others."""
    if not all(key.isdecimal() and len(key) < _DIGITS for key in value):
        return []
    members = [value[key] for key in sorted(value, key=int)]
    return members if all(isinstance(one, dict) for one in members) and _are_messages(members) else []


def _unfolded(item: Any) -> list[Any]:
    """Return the messages that a pair is: of an action and its observation, of what the user and the assistant said."""
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], dict):
        if not is_message(item[0]) or (is_piece(item[0]) and isinstance(item[1], str)):
            return [{"action": item[0], "observation": item[1]}]  # LangChain's intermediate steps
        if isinstance(item[1], list):
            return item[:1]  # AgentScope's, beside its marks
        if "action" in item[0] and isinstance(item[1], dict) and "observation" in item[1]:
            return item  # OpenHands'
    if isinstance(item, dict) and all(isinstance(item.get(who), dict) for who in ("assistant", "user")):
        said = item["user"].get("content")  # Amazon Q's
        sides = (("user", said if isinstance(said, dict) else item["user"]), ("assistant", item["assistant"]))
        inside = ((who, inner) for who, side in sides for inner in side.values())
        return [{"role": who, **inner} for who, inner in inside if isinstance(inner, dict)]
    return [item]


def updates_in(record: Mapping[str, Any]) -> list[Any]:
    """Return the messages that a step of a graph added, as LangGraph streams it: under the names of nodes."""
    added: list[Any] = []
    if not record or len(record) > _NODES or any(name in record for name in AROUND):
        return added
    for update in record.values():
        if not isinstance(update, dict) or not ("messages" in update or not update):
            return []
        messages = update.get("messages") or []
        added += messages if isinstance(messages, list) else [messages]
    return added if all(map(is_message, added)) else []


def are_updates(records: tuple[Any, ...]) -> bool:
    """Whether a log's first records are steps of a graph, of more than one node."""
    several = len({tuple(record) for record in records if isinstance(record, dict)}) > 1
    return several and all(isinstance(record, dict) and updates_in(record) for record in records)


def _branch(mapping: Mapping[str, Any], node: Any) -> list[Any]:
    """Return the messages of ChatGPT's export, in which each names the one before it: those that lead to the last."""
    found: list[Any] = []
    while isinstance(node, str) and isinstance(held := mapping.get(node), dict) and len(found) < len(mapping):
        node, message = held.get("parent"), held.get("message")
        if not isinstance(message, dict):
            continue
        author, content = message.get("author") or {}, message.get("content") or {}
        parts = [part for part in content.get("parts") or () if isinstance(part, str)]
        text, to = content.get("text") or "\n".join(parts), message.get("recipient")
        run = (message.get("metadata") or {}).get("aggregate_result") or {}
        said = {"role": author.get("role"), "name": author.get("name"), "content": text}
        said["is_error"] = str(run.get("status")).startswith("failed") or None
        if said["role"] == "assistant" and to not in (None, "all"):
            said = {"role": "assistant", "tool_calls": [{"name": to, "arguments": {"input": text}}]}
        found.append(said)
    return found[::-1]


def _steps_in(trajectory: Mapping[str, Any]) -> list[Any]:
    """Return the steps of a trajectory whose keys are numbered, as DSPy's are."""
    made = sum(key.startswith("tool_name_") for key in trajectory)
    numbers = [n for n in range(made) if trajectory.get(f"tool_name_{n}") != "finish"]
    names = {"log": "thought", "tool": "tool_name", "tool_input": "tool_args"}
    return [
        {"action": {key: trajectory.get(f"{name}_{n}") for key, name in names.items()},
         "observation": trajectory.get(f"observation_{n}")}
        for n in numbers
    ]  # fmt: skip


def _oldest_first(messages: list[Any]) -> list[Any]:
    """Return messages in the order in which they were made: some services list the newest first."""
    calls = [m.get("type") for m in messages if isinstance(m, dict) and "call_id" in m]
    if calls and calls[0] == "function_call_output" and calls[-1] == "function_call":
        return messages[::-1]
    times = [time_of(m["created_at"]) for m in messages if isinstance(m, dict) and "created_at" in m]
    known = [at for at in times if at is not None]
    dated = len(known) == len(messages) > 1
    backwards = dated and all(a >= b for a, b in pairwise(known)) and known[0] > known[-1]
    return messages[::-1] if backwards else messages


def _are_messages(value: list[Any]) -> bool:
    return any(is_message(item) for item in value[:_LOOKED_AT])


def _exchange(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages of a request and its response, or None where there are not both."""
    named = {plain(str(name)): inner for name, inner in value.items()}
    asked = next((found for name in _REQUESTS if (found := _side(named.get(name), name))), [])
    if not asked or who_says(asked[-1]) == "assistant":
        return None  # a request ends with somebody else's words
    answered = next((found for name in _RESPONSES if (found := _side(named.get(name), name))), [])
    # What a whole conversation ends with may stand beside it once more (inspect_ai's output).
    told = {name for message in asked for name in _names_of(message)} if answered else set()
    fresh = [message for message in answered if told.isdisjoint(_names_of(message))]
    return _together(asked, fresh) if fresh else None


def _names_of(message: Any) -> Iterator[str]:
    """Give a message's own id, and those of its calls."""
    if isinstance(message, dict):
        message = unwrapped(message)[0]
        calls = message.get("tool_calls")
        for named in (message, *(calls if isinstance(calls, list) else ())):
            if isinstance(named, dict) and isinstance(own := named.get("id"), str) and own:
                yield own


def both_sides(asked: Any, answered: Any) -> list[Any]:
    """Return the messages of what a model was asked and what it answered; none where these are no messages."""
    return _together(_side(asked, "request"), _side(answered, "response"))


def _together(asked: list[Any], answered: list[Any]) -> list[Any]:
    whole = bool(answered) and who_says(answered[0]) in ("user", "system")  # what was asked is told again
    return answered if whole else asked + answered


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
    named = {plain(str(key)): inner for key, inner in value.items()}
    return next((found for key in _INSIDE if (found := _side(named.get(key), key, depth + 1))), [])
