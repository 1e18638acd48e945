"""What came of a call, as a log has it: the answer taken out of its wrappings, the platform's flag, the error's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.logs import words
from btm.logs.conversation import NO_RESULT
from btm.logs.refusals import MARK, STATUSES
from btm.logs.values import content_of, error_name, is_control_flow, parsed_json
from btm.logs.words import Sense, fields, first, plain, sense

Answer = tuple[Any, bool | None, str | None]
"""A result (``NO_RESULT`` where there is none), whether it is flagged as an error, and the error's name."""

_SHOWN = 4_000


def answer_of(found: Mapping[str, Any], where: tuple[str, ...]) -> Answer:
    """Return what came of a call; ``found`` are the fields of the piece that says so, ``where`` its result may lie."""
    is_error, said, error_type = failed(found)
    value, inner, inner_type = opened(first(found, where))
    error_type = error_type or inner_type
    if is_error is None:
        is_error = inner
    if is_control_flow(error_type):
        return NO_RESULT, None, None
    if is_error and said is not None:
        value = _with(value, said)
    if value is None and is_error is None and not any(name in found for name in where):
        value = NO_RESULT
    return content_of(value), is_error, error_type


def _with(value: Any, said: Any) -> Any:
    """Return an answer together with the error that stands beside it."""
    if value in (None, "", [], {}):
        return said
    value = content_of(value)
    if type(value) is str and type(said) is str and said not in value[:_SHOWN]:
        return f"{said}\n{value}"
    return value


def failed(found: Mapping[str, Any]) -> tuple[bool | None, Any, str | None]:
    """Return what the log itself says of an answer: whether it failed (None: nothing), the error, and its name."""
    flag: bool | None = next((v for name in words.FLAGS if type(v := found.get(name)) is bool), None)
    error, name = first(found, words.ERROR), found.get("errortype")
    said: Any = None
    if isinstance(error, dict) and error:
        inner = fields(error)
        said = first(inner, ("message", "error", "text", "detail", "details", "value")) or error
        flag, name = True, first(inner, ("type", "name", "code", "errortype")) or name
    elif isinstance(error, str | list) and error:
        flag, said = True, error
    elif type(error) is bool and flag is None:
        flag = error
    for key in words.ERROR_TEXT:
        if type(text := found.get(key)) is str and text:
            flag, said = True, said or text
    if flag is None:
        marks = (found.get(key) for key in words.STATUS)
        lost = any(type(word) is str and plain(word) in words.FAILED for word in marks)
        flag = (
            True
            if lost or any(found.get(key) is False for key in words.SUCCESS) or ended_badly(found)
            else None
        )
    if any(type(word := found.get(key)) is str and plain(word) in STATUSES for key in words.STATUS):
        return True, said, MARK
    if type(name) is not str:
        name = error_name(said)
    return flag, said, name if flag else None


def ended_badly(found: Mapping[str, Any]) -> bool:
    """Whether a command's exit code says that it failed; -1 is of one that still runs, and -9 of one that was killed."""
    return exit_code(found) not in (0, -1)


def exit_code(found: Mapping[str, Any]) -> int:
    """Return a command's exit code where one is recorded, else 0."""
    extras = found.get("extras")
    around = extras.get("metadata") if isinstance(extras, dict) else None
    for inside in (found, found.get("metadata"), extras, around):
        if isinstance(inside, dict):
            for name, value in inside.items():
                if plain(str(name)) in words.EXIT_CODE and type(value) is int:
                    return value
    return 0


def opened(value: Any) -> Answer:
    """Take an answer out of what it is wrapped in: ``{"type": "error-text", "value": ...}``, ``{"content", "isError"}``."""
    if type(value) is str and '"exit_code"' in value:
        value = parsed_json(value)
    if type(value) is list and value and type(value[0]) is dict:
        if value[0].keys() == {"json"}:
            return value[0]["json"], None, None
        inside = next(
            ((k, v) for k, v in value[0].items() if type(v) is dict and sense(k) is Sense.ANSWER), None
        )
        if inside is not None:  # [{"functionResponse": {...}}]
            return answer_of(fields(inside[1]), words.RESULT)
        if all(type(part) is dict and type(part.get("value")) is str for part in value):
            return "\n".join(part["value"] for part in value), None, None
    if type(value) is not dict:
        return value, None, None
    found = fields(value)
    if len(found) == 1 and (name := next(iter(found))) in ("result", "output", "error"):
        flagged = name == "error" and bool(found[name])
        return (value, True, None) if flagged else (found[name], None, None)
    if type(code := found.get("errorcode")) is str and "type" in found:
        return value, True, code
    if plain(str(found.get("type"))) in STATUSES:
        return first(found, ("reason", *words.INNER)), True, MARK
    if not _wraps(found) and not (
        "status" in found and found.keys() <= {"status", "value", "error", "outputs", "reason"}
    ):
        return value, None, None
    is_error, said, error_type = failed(found)
    content = first(found, (*words.INNER, "reason"))
    return (_with(content, said) if is_error else content), is_error, error_type


def _wraps(found: Mapping[str, Any]) -> bool:
    """Whether these are fields that a framework puts around an answer, and not the answer's own."""
    if first(found, words.INNER) is None:
        return False
    flagged = any(name in found for name in words.FLAGS) or exit_code(found) != 0
    return (
        flagged
        or ("metadata" in found and "output" in found)
        or found.keys() <= _AROUND
        or "rawoutput" in found
    )


_AROUND = frozenset(
    ("type", "value", "text", "reason", "content", "detailedcontent", "contents", "isretryable", "success")
)
