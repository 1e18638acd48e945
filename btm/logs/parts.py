"""Reading any product's messages, parts and events by the one table (see ``btm.logs.words``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs import dialects, steps, streams, wire
from btm.logs.answers import answer_of, failed
from btm.logs.conversation import NO_RESULT
from btm.logs.turns import Turns
from btm.logs.values import arguments_of, parsed_json, time_of
from btm.logs.words import (
    ANSWERS,
    ANSWERS_ID,
    ARGUMENTS,
    CALL_ID,
    CALLS,
    CONTAINERS,
    ENVELOPES,
    ERROR_TEXT,
    KIND,
    NAME,
    OWN_RESULT,
    PASSED_OVER,
    REASONING,
    RESULT,
    ROLE,
    SAID_ROLE,
    TEXTS,
    WHEN,
    Sense,
    fields,
    first,
    plain,
    sense,
    speaker,
)

_DEPTH = 6
_SEEN = frozenset(
    ("content", "output", "iserror", "extra")
)  # what a step saw that does not name its call (ATIF)
_FINAL = frozenset(("final_answer",))  # the framework's way to end, and no tool
_INSIDE = (
    "function",
    "custom",
    "state",
    "toolcall",
    "invocation",
    "action",
    "call",
    "rawitem",
)  # where a call keeps its fields


def kind_of(found: Mapping[str, Any]) -> str:
    """Return the name by which a piece says that it is a call or an answer; ``found`` are its fields."""
    for name in KIND:
        if type(value := found.get(name)) is str and sense(value) is not Sense.NOTHING:
            return value
    role = found.get("role")
    return role if type(role) is str and not speaker(role) and sense(role) is not Sense.NOTHING else ""


def role_of(found: Mapping[str, Any], names: tuple[str, ...] = ROLE) -> str:
    """Return who speaks in a message: "assistant", "user", "tool", "system" or ""."""
    for name in names:
        value = found.get(name)
        if isinstance(value, dict):
            value = first(fields(value), ("role", "label", "value", "type", "name"))
        if type(value) is str and (who := speaker(value)):
            return who
    return ""


def who_says(value: Any) -> str:
    """Return who speaks in a message as it stands in a log; "" for what is none."""
    return role_of(fields(unwrapped(value)[0])) if isinstance(value, dict) else ""


def is_message(value: Any) -> bool:
    """Whether a value is a message, part or event of a conversation, in any of the formats."""
    if not isinstance(value, dict):
        return False
    message, _ = unwrapped(value)
    found = fields(message)
    if (
        wire.is_wire(found)
        or steps.is_step(found)
        or streams.is_streamed(found)
        or _shape_of(found)[0] is not Sense.NOTHING
    ):
        return True
    if kind_of(found) and said(found):
        return True
    if any(type(calls := found.get(name)) is list and calls and type(calls[0]) is dict for name in CALLS):
        return True
    return _holds(found, (*CONTAINERS, "text", "value")) and bool(role_of(found))


def unwrapped(message: Any) -> tuple[Any, float | None]:
    """Return the message that a line of a transcript wraps, and the time that the line says (epoch seconds)."""
    at = None
    for _ in range(_DEPTH):
        found = fields(message)
        at = time_of(first(found, WHEN)) or at
        if "lc" in found and isinstance(path := found.get("id"), list) and path:
            kwargs = found.get("kwargs")
            return {"role": str(path[-1]), **(kwargs if isinstance(kwargs, dict) else {})}, at
        if steps.is_step(found) or streams.is_streamed(found):
            break
        inner = next((v for name in ENVELOPES if isinstance(v := _plain(found.get(name)), dict) and v), None)
        if type(said_in := found.get("content")) is dict and "parts" in said_in:  # Google's
            inner = said_in
        if "qualifiedname" in found and type(event := found.get("value")) is dict:  # LlamaIndex's events
            return {**event, "type": str(found["qualifiedname"]).rpartition(".")[2]}, at
        if inner is None or _shape_of(found)[0] is not Sense.NOTHING or (said(found) and role_of(found)):
            break
        carried = {"type": kind_of(found)} if kind_of(found) and not kind_of(fields(inner)) else {}
        if not role_of(fields(inner)) and (who := role_of(found)):
            carried["role"] = who
        message = {**inner, **carried}
    return message, at


def _plain(value: Any) -> Any:
    """Return what a text that holds a JSON object says, or the value as it is."""
    return parsed_json(value) if type(value) is str and value.startswith('{"') else value


def said(found: Mapping[str, Any]) -> bool:
    """Whether a message's own fields hold what it says."""
    return any(isinstance(found.get(name), list | str) for name in CONTAINERS)


def _shape_of(found: dict[str, Any]) -> tuple[Sense, dict[str, Any], str]:
    """Return whether these are the fields of a call or an answer, the fields themselves, and what it is called."""
    word = kind_of(found)
    means = sense(word) if word else Sense.NOTHING
    if means is not Sense.NOTHING and _lists_pieces(found):
        return Sense.NOTHING, found, ""
    if means is Sense.CALL and not _asks(found):
        if told := _told_in_text(found):
            return means, told, word
        # A tool's definition is of type function, too, and its answer of type tool.
        means = (
            Sense.ANSWER
            if first(found, ANSWERS_ID[:-1]) is not None and _holds(found, RESULT)
            else Sense.NOTHING
        )
    elif means is Sense.ANSWER and not (_holds(found, (*RESULT, *ERROR_TEXT, "error")) and _names(found)):
        means = Sense.NOTHING
    if means is not Sense.NOTHING:
        return means, found, word
    for name, value in found.items():  # {"toolUse": {...}}, {"functionCall": {...}}
        if type(value) is dict and name != "function" and (means := sense(name)) is not Sense.NOTHING:
            inner = fields(value)
            if _names(inner) and (means is Sense.ANSWER or _asks(inner)):
                return means, inner, name
    if "toolname" in found and _holds(found, ARGUMENTS):
        return Sense.CALL, found, "tool"
    return Sense.NOTHING, found, ""


def _told_in_text(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a call that stands as JSON in a piece's text (``{"type": "tool_call", "value": "{...}"}``)."""
    given = parsed_json(first(found, ("value", "content", "text")))
    told = fields(given) if type(given) is dict else {}
    return told if _names(told) and _holds(told, ARGUMENTS) else None


def _lists_pieces(found: Mapping[str, Any]) -> bool:
    """Whether an event's content is a list of calls or answers, and the event none itself (AutoGen)."""
    content = found.get("content")
    piece = fields(content[0]) if type(content) is list and content and type(content[0]) is dict else {}
    return first(piece, ANSWERS_ID[:-1]) is not None or ("arguments" in piece and "name" in piece)


def _holds(found: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    return any(name in found for name in names)


def _names(found: Mapping[str, Any]) -> bool:
    return first(found, (*NAME, *ANSWERS_ID)) is not None


def _asks(found: dict[str, Any]) -> bool:
    """Whether these fields are of a call: arguments, or a name without a description."""
    if _holds(found, ARGUMENTS) or "command" in found:
        return True
    opened = _opened(found)
    if opened is not found and (_holds(opened, ARGUMENTS) or "command" in opened):
        return True
    return _names(found) and not _holds(found, ("description", "content", "parameters", "function"))


def _opened(found: dict[str, Any]) -> dict[str, Any]:
    """Return a call's fields together with those that lie inside of it."""
    for inside in _INSIDE:
        if isinstance(inner := found.get(inside), dict):
            if (
                type(value := inner.get("value")) is dict and "name" in value
            ):  # Goose's {"status", "value": {"name"}}
                inner = value
            found = {**found, **{key: value for key, value in fields(inner).items() if value is not None}}
            del found[inside]
    return found


def read_message(turns: Turns, given: Any) -> None:
    """Read one message or event. Raises one of ``chat.MALFORMED`` for a call that is none."""
    message, at = unwrapped(given)
    found = fields(message)
    if wire.is_wire(found):
        wire.read(turns, found, at)
        return
    if steps.is_step(found):
        steps.read(turns, found, at)
        return
    if streams.is_streamed(found):
        streams.read(turns, found, at)
        return
    role = role_of(found, SAID_ROLE)
    if any(type(w := found.get(name)) is str and plain(w) in PASSED_OVER for name in KIND):
        return
    if not role and read_part(turns, message, at):
        return
    who = role or role_of(found)
    if who == "assistant":
        turns.turn(found.get("id") if message is not given else None)
    texts = _listen(turns, found)
    if texts and who == "assistant":
        dialects.heard(turns, who, "\n".join(texts))
    answered = _read_containers(turns, found, who, at)
    if turns.waiting and texts and who != "assistant" and dialects.answers(turns, "\n".join(texts)):
        return
    if who == "tool" and not answered and _tells_both(turns, found):
        turns.turn()
        _call(turns, found, "tool", at)
    elif who == "tool" and not answered:
        extra = found.get("additionalkwargs")
        _answer(turns, {**fields(extra), **found} if isinstance(extra, dict) else found)
    elif sense(str(found.get("from") or "")) is Sense.CALL:
        _text_call(turns, first(found, ("value", "content")))
    elif texts and who != "assistant":
        dialects.heard(turns, who, "\n".join(texts))


def _tells_both(turns: Turns, found: Mapping[str, Any]) -> bool:
    """Whether a tool's message holds the call, too, which nothing before it told of."""
    whole = "toolname" in found and _holds(found, ARGUMENTS) and first(found, OWN_RESULT) is not None
    return whole and not turns.awaits(str(first(found, ANSWERS_ID)))


def _listen(turns: Turns, found: Mapping[str, Any]) -> list[str]:
    """Return what a message says in words; what was thought goes to ``turns``."""
    texts: list[str] = []
    for name in REASONING:
        if type(text := found.get(name)) is str and text:
            turns.thought(text)
    for name in TEXTS:
        value = found.get(name)
        if type(value) is dict:
            value = value.get("parts") or [value]
        for part in value if type(value) is list else (value,):
            text, thought = _words_of(part)
            if text and thought:
                turns.thought(text)
            elif text:
                texts.append(text)
    return texts


def _words_of(part: Any) -> tuple[str, bool]:
    """Return the text of a part, and whether it was thought, not said."""
    if type(part) is str:
        return part, False
    if type(part) is not dict:
        return "", False
    found = fields(part)
    kind = plain(str(first(found, ("type", "partkind", "contenttype", "blocktype")) or ""))
    thought = kind in REASONING or found.get("thought") is True
    text = first(found, (*REASONING[:3], "text", "content") if thought else ("text", "content"))
    return (text, thought) if type(text) is str and sense(kind) is Sense.NOTHING else ("", False)


def _text_call(turns: Turns, text: Any) -> None:
    """Read a message that is a call as JSON text."""
    given = parsed_json(text)
    turns.turn()
    for call in given if isinstance(given, list) else [given]:
        if isinstance(call, dict):
            _call(turns, fields(call), "function", None)


def _read_containers(turns: Turns, found: dict[str, Any], who: str, at: float | None, depth: int = 0) -> bool:
    """Read the calls and answers among a message's parts; True when there was one."""
    any_part = False
    around = sense(kind_of(found)) if kind_of(found) else Sense.NOTHING
    for name in CONTAINERS:
        value = found.get(name)
        if type(value) is dict:
            value = value["results"] if name in ANSWERS and type(value.get("results")) is list else [value]
        for part in value if type(value) is list else ():
            if type(part) is dict:
                means = Sense.CALL if name in CALLS else Sense.ANSWER if name in ANSWERS else around
                any_part |= _read_piece(turns, part, who, at, means, depth)
    extra = found.get("additionalkwargs")
    if not any_part and type(extra) is dict:
        any_part = _read_containers(turns, fields(extra), who, at, depth + 1)
    return any_part


def _read_piece(
    turns: Turns, part: dict[str, Any], who: str, at: float | None, means: Sense, depth: int
) -> bool:
    """Read one part of a message; an untyped one is what the message, or the list that it is in, ``means``."""
    if read_part(turns, part, at):
        return True
    found = fields(part)
    if means is Sense.CALL or (who == "assistant" and "arguments" in found and "name" in found):
        if first(found, NAME) is None and "error" in found:  # an invalid call without a name
            return False
        _call(turns, found, "tool", at)
        return True
    if means is Sense.ANSWER and _names(found := _opened(found)):
        _answer(turns, found)
        return True
    if means is Sense.ANSWER and who == "assistant" and found.keys() <= _SEEN and turns.expects():
        _answer(turns, found)
        return True
    inside = depth < _DEPTH and type(found.get("text")) is not str
    return (
        inside
        and any(type(found.get(n)) in (list, dict) for n in CONTAINERS)
        and _read_containers(turns, found, who, at, depth + 1)
    )


def read_part(turns: Turns, part: dict[str, Any], at: float | None) -> bool:
    """Read a part if it is a call or an answer; False when it is neither."""
    means, found, word = _shape_of(fields(part))
    if means is Sense.CALL:
        _call(turns, found, word, at)
    elif means is Sense.ANSWER:
        _answer(turns, found)
    return means is not Sense.NOTHING


def _call(turns: Turns, found: dict[str, Any], word: str, at: float | None) -> None:
    found = _opened(found)
    name = first(found, NAME)
    if name is None and word.startswith("tool-"):
        name = word[len("tool-") :]
    arguments = first(found, ARGUMENTS)
    if arguments is None and "command" in found:
        name, arguments = name or "shell", {"command": found["command"]}
    if arguments is None and "description" not in found:
        arguments = found.get("parameters")
    if name is None and plain(word) not in ("tool", "function"):
        if "callid" not in found:
            return  # what the provider did on its own side, and keeps to itself
        name = found.get("type") or word
    if name in _FINAL:
        return
    if name is None:
        raise KeyError("name")
    given = arguments_of(arguments)
    if given.keys() == {name} and isinstance(given[name], dict):  # Dify's
        given = given[name]
    elif (
        given.keys() == {"args", "kwargs"} and not given["args"] and isinstance(given["kwargs"], dict)
    ):  # LlamaIndex's
        given = given["kwargs"]
    slot = turns.call(name, given, first(found, CALL_ID), time_of(first(found, WHEN)) if at is None else at)
    if first(found, OWN_RESULT) is not None or failed(found)[0]:
        value, is_error, error_type = answer_of(found, OWN_RESULT)
        if "toolinput" in found and isinstance(said := parsed_json(value), dict) and said.keys() == {name}:
            value = said[name]
        if value is not NO_RESULT or is_error is not None:
            turns.result(slot[0].call_id, value, is_error, error_type)


def _answer(turns: Turns, found: dict[str, Any]) -> None:
    tool = next((v for name in NAME if type(v := found.get(name)) is str), None)
    if tool is None and "partkind" in found:
        return  # a retry prompt about the whole answer
    value, is_error, error_type = answer_of(found, RESULT)
    turns.result(first(found, ANSWERS_ID), value, is_error, error_type, tool=tool)
