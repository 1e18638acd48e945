"""What a piece of a log is: a message, a call or an answer, known by the one table (see ``btm.logs.words``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs import steps, streams, wire, words
from btm.logs.values import parsed_json, time_of
from btm.logs.words import Sense, fields, first, sense, speaker

_DEPTH = 6
_ENDS = (*words.RESULT, *words.ERROR_TEXT, "error", *words.SUCCESS, "status")
# Where a call keeps its fields.
_TOOLS = ("tool", "toolname", "funcname", "functionname", "apiname")
_INSIDE = ("function", "custom", "state", "toolcall", "invocation", "action", "call", "rawitem")


def kind_of(found: Mapping[str, Any]) -> str:
    """Return the name by which a piece says that it is a call or an answer; ``found`` are its fields."""
    for name in words.KIND:
        if type(value := found.get(name)) is str and sense(value) is not Sense.NOTHING:
            return value
    role = found.get("role")
    return role if type(role) is str and not speaker(role) and sense(role) is not Sense.NOTHING else ""


def role_of(found: Mapping[str, Any], names: tuple[str, ...] = words.ROLE) -> str:
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
        or shape_of(found)[0] is not Sense.NOTHING
    ):
        return True
    if kind_of(found) and said(found):
        return True
    if any(
        type(calls := found.get(name)) is list and calls and type(calls[0]) is dict for name in words.CALLS
    ):
        return True
    return holds(found, (*words.CONTAINERS, "text", "value")) and bool(role_of(found))


def is_piece(value: Any) -> bool:
    """Whether a value is itself a call or an answer, and no message that holds some."""
    return isinstance(value, dict) and shape_of(fields(unwrapped(value)[0]))[0] is not Sense.NOTHING


def unwrapped(message: Any) -> tuple[Any, float | None]:
    """Return the message that a line of a transcript wraps, and the time that the line says (epoch seconds)."""
    at = None
    for _ in range(_DEPTH):
        found = fields(message)
        at = time_of(first(found, words.WHEN)) or at
        if "lc" in found and isinstance(path := found.get("id"), list) and path:
            kwargs = found.get("kwargs")
            return {"role": str(path[-1]), **(kwargs if isinstance(kwargs, dict) else {})}, at
        if steps.is_step(found) or streams.is_streamed(found):
            break
        if "qualifiedname" in found and type(event := found.get("value")) is dict:  # LlamaIndex's events
            return {**event, "type": str(found["qualifiedname"]).rpartition(".")[2]}, at
        inner = _enveloped(found)
        if inner is None or not _is_envelope(found, inner):
            break
        carried = {}
        if not (kind := kind_of(fields(inner))):
            carried = {"type": kind_of(found)} if kind_of(found) else {}
        if not kind and not role_of(fields(inner)) and (who := role_of(found)):
            carried["role"] = who
        message = {**inner, **carried}
    return message, at


def _enveloped(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the fields of a line may be put around; None where they are around nothing."""
    if type(said_in := found.get("content")) is dict and "parts" in said_in:  # Google's
        return said_in
    for name in words.ENVELOPES:
        if isinstance(inner := _plain(found.get(name)), dict) and inner:
            return inner
    for name in words.TYPED:
        if type(inner := found.get(name)) is dict and kind_of(fields(inner)):
            return inner
    return None


def _is_envelope(found: dict[str, Any], inner: Mapping[str, Any]) -> bool:
    """Whether a line says less of a call or message than what it is put around."""
    means, told, _ = shape_of(found)
    inside = fields(inner)
    if means is Sense.NOTHING:
        summed_up = (
            kind_of(found) and shape_of(inside)[0] is not Sense.NOTHING
        )  # by one who keeps the event beside it
        return bool(summed_up) or not (said(found) and role_of(found))
    if told is not found:  # what was called or answered stands beside the message that says it
        return said(inside) and bool(role_of(inside))
    bare = means is Sense.CALL and not holds(found, words.ARGUMENTS)
    return bare and holds(inside, ("toolname", *words.ARGUMENTS))


def _plain(value: Any) -> Any:
    """Return what a text that holds a JSON object says, or the value as it is."""
    return parsed_json(value) if type(value) is str and value.startswith('{"') else value


def said(found: Mapping[str, Any]) -> bool:
    """Whether a message's own fields hold what it says."""
    return any(isinstance(found.get(name), list | str) for name in words.CONTAINERS)


def shape_of(found: dict[str, Any]) -> tuple[Sense, dict[str, Any], str]:
    """Return whether these are the fields of a call or an answer, the fields themselves, and what it is called."""
    word = kind_of(found)
    means = sense(word) if word else Sense.NOTHING
    if means is not Sense.NOTHING and _lists_pieces(found):
        return Sense.NOTHING, found, ""
    if means is Sense.CALL and not _asks(found):
        if told := _told_in_text(found):
            return means, told, word
        # A tool's definition is of type function, too, and its answer of type tool.
        answers = first(found, words.ANSWERS_ID[:-1]) is not None and holds(found, words.RESULT)
        means = Sense.ANSWER if answers else Sense.NOTHING
    elif means is Sense.ANSWER and not (holds(found, _ENDS) and is_named(found)):
        means = Sense.NOTHING
    if means is not Sense.NOTHING:
        return means, found, word
    for name, value in found.items():  # {"toolUse": {...}}, {"functionCall": {...}}
        if type(value) is dict and name != "function" and (means := sense(name)) is not Sense.NOTHING:
            inner = fields(value)
            if is_named(inner) and (means is Sense.ANSWER or _asks(inner)):
                return means, inner, name
    # {"tool", "args", "result"}, {"tool_name", "success"}, as many log it.
    if any(type(found.get(name)) is str for name in _TOOLS) and (
        holds(found, (*words.ARGUMENTS, "command"))
        or any(type(found.get(name)) is bool for name in words.SUCCESS)
    ):
        return Sense.CALL, found, "tool"
    return Sense.NOTHING, found, ""


def _told_in_text(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a call that stands as JSON in a piece's text (``{"type": "tool_call", "value": "{...}"}``)."""
    given = parsed_json(first(found, ("value", "content", "text")))
    told = fields(given) if type(given) is dict else {}
    return told if is_named(told) and holds(told, words.ARGUMENTS) else None


def _lists_pieces(found: Mapping[str, Any]) -> bool:
    """Whether an event's content is a list of calls or answers, and the event none itself (AutoGen)."""
    content = found.get("content")
    piece = fields(content[0]) if type(content) is list and content and type(content[0]) is dict else {}
    return first(piece, words.ANSWERS_ID[:-1]) is not None or ("arguments" in piece and "name" in piece)


def holds(found: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    """Whether any of these is among a piece's fields."""
    return any(name in found for name in names)


def is_named(found: Mapping[str, Any]) -> bool:
    """Whether a piece's fields name a tool or a call."""
    return first(found, (*words.NAME, *words.ANSWERS_ID)) is not None


def _asks(found: dict[str, Any]) -> bool:
    """Whether these fields are of a call: arguments, or a name without a description."""
    if holds(found, words.ARGUMENTS) or "command" in found:
        return True
    if "parameters" in found and holds(found, ("toolcallid", "callid", "tooluseid", "toolid")):
        return True  # a definition has no call's id
    opened = laid_open(found)
    if opened is not found and (holds(opened, words.ARGUMENTS) or "command" in opened):
        return True
    defines = holds(found, ("description", "content", "parameters")) or type(found.get("function")) is dict
    return is_named(found) and not defines


def laid_open(found: dict[str, Any]) -> dict[str, Any]:
    """Return a call's fields together with those that lie inside of it."""
    for inside in _INSIDE:
        if isinstance(inner := found.get(inside), dict):
            # Goose's {"status", "value": {"name"}}.
            if type(value := inner.get("value")) is dict and "name" in value:
                inner = value
            found = {**found, **{key: value for key, value in fields(inner).items() if value is not None}}
            del found[inside]
    return found
