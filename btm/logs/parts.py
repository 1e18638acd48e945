"""Reading any product's messages, parts and events by the one table (see ``btm.logs.words``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs import dialects, steps, streams, wire, words
from btm.logs.answers import answer_of, failed
from btm.logs.conversation import NO_RESULT
from btm.logs.shapes import holds, is_named, kind_of, laid_open, role_of, shape_of, unwrapped
from btm.logs.turns import Turns
from btm.logs.values import arguments_of, parsed_json, time_of
from btm.logs.words import Sense, fields, first, plain, sense

_DEPTH = 6
_SEEN = frozenset(
    ("content", "output", "iserror", "extra")
)  # what a step saw that does not name its call (ATIF)
_FINAL = frozenset(("final_answer",))  # the framework's way to end, and no tool


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
    role = role_of(found, words.SAID_ROLE)
    if any(type(w := found.get(name)) is str and plain(w) in words.PASSED_OVER for name in words.KIND):
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
    asked = "toolname" in found and holds(found, words.ARGUMENTS)
    told = asked and first(found, words.OWN_RESULT) is not None
    return told and not turns.awaits(str(first(found, words.ANSWERS_ID)))


def _listen(turns: Turns, found: Mapping[str, Any]) -> list[str]:
    """Return what a message says in words; what was thought goes to ``turns``."""
    texts: list[str] = []
    for name in words.REASONING:
        if type(text := found.get(name)) is str and text:
            turns.thought(text)
    for name in words.TEXTS:
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
    thought = kind in words.REASONING or found.get("thought") is True
    text = first(found, (*words.REASONING[:3], "text", "content") if thought else ("text", "content"))
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
    for name in (*words.CONTAINERS, "tools"):  # LobeChat's; others list there what a model may call
        value = found.get(name)
        means = Sense.CALL if name in words.CALLS else Sense.ANSWER if name in words.ANSWERS else around
        if type(value) is dict:
            value = _listed(name, value)
        for part in value if type(value) is list else ():
            if type(part) is dict:
                any_part |= _read_piece(turns, part, who, at, means, depth)
    extra = found.get("additionalkwargs")
    if not any_part and type(extra) is dict:
        any_part = _read_containers(turns, fields(extra), who, at, depth + 1)
    return any_part


def _listed(name: str, value: dict[str, Any]) -> list[Any]:
    """Return the parts that lie in an object: those of a list in it, those by their ids, or itself."""
    if name in words.ANSWERS and type(value.get("results")) is list:
        return list(value["results"])
    by_id = name in (*words.CALLS, *words.ANSWERS) and all(
        type(v) is dict and plain(str(k)) not in (*words.RESULT, *words.ARGUMENTS) for k, v in value.items()
    )
    if not by_id:
        return [value]
    return [{"id": k, **(v["params"] if type(v.get("params")) is dict else v)} for k, v in value.items()]


def _read_piece(
    turns: Turns, part: dict[str, Any], who: str, at: float | None, means: Sense, depth: int
) -> bool:
    """Read one part of a message; an untyped one is what the message, or the list that it is in, ``means``."""
    if read_part(turns, part, at):
        return True
    found = fields(part)
    if means is Sense.CALL or (who == "assistant" and "arguments" in found and "name" in found):
        if first(found, words.NAME) is None and "error" in found:  # an invalid call without a name
            return False
        _call(turns, found, "tool", at)
        return True
    if means is Sense.ANSWER and is_named(found := laid_open(found)):
        _answer(turns, found)
        return True
    if means is Sense.ANSWER and who == "assistant" and found.keys() <= _SEEN and turns.expects():
        _answer(turns, found)
        return True
    inside = depth < _DEPTH and type(found.get("text")) is not str
    inside = inside and any(type(found.get(n)) in (list, dict) for n in words.CONTAINERS)
    return inside and _read_containers(turns, found, who, at, depth + 1)


def read_part(turns: Turns, part: dict[str, Any], at: float | None) -> bool:
    """Read a part if it is a call or an answer; False when it is neither."""
    means, found, word = shape_of(fields(part))
    if means is Sense.CALL:
        _call(turns, found, word, at)
    elif means is Sense.ANSWER:
        _answer(turns, found)
    return means is not Sense.NOTHING


def _call(turns: Turns, found: dict[str, Any], word: str, at: float | None) -> None:
    found = laid_open(found)
    name = first(found, words.NAME)
    if name is None and word.startswith("tool-"):
        name = word[len("tool-") :]
    arguments = first(found, words.ARGUMENTS)
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
    elif given.keys() == {"args", "kwargs"} and not given["args"] and isinstance(given["kwargs"], dict):
        given = given["kwargs"]  # LlamaIndex's
    at = time_of(first(found, words.WHEN)) if at is None else at
    slot = turns.call(name, given, first(found, words.CALL_ID), at)
    ended = _went_well(found) or first(found, words.TOOK) is not None
    if first(found, words.OWN_RESULT) is not None or failed(found)[0] or ended:
        value, is_error, error_type = answer_of(found, words.OWN_RESULT)
        if "toolinput" in found and isinstance(said := parsed_json(value), dict) and said.keys() == {name}:
            value = said[name]
        if value is not NO_RESULT or is_error is not None or ended:
            turns.result(
                slot[0].call_id, value, bool(is_error) if value is NO_RESULT else is_error, error_type
            )


def _went_well(found: Mapping[str, Any]) -> bool:
    said = any(found.get(name) is True for name in words.SUCCESS)
    return said or plain(str(found.get("status"))) in words.WENT_WELL


def _answer(turns: Turns, found: dict[str, Any]) -> None:
    tool = next((v for name in words.NAME if type(v := found.get(name)) is str), None)
    if tool is None and "partkind" in found:
        return  # a retry prompt about the whole answer
    value, is_error, error_type = answer_of(found, words.RESULT)
    if value is NO_RESULT and is_error is None and _went_well(found):
        is_error = False
    turns.result(first(found, words.ANSWERS_ID), value, is_error, error_type, tool=tool)
