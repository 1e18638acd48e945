"""Answers that tracers record as a whole tool message, and not as its content."""

from __future__ import annotations

from typing import Any

from btm.logs.answers import answer_of
from btm.logs.conversation import NO_RESULT
from btm.logs.parts import unwrapped
from btm.logs.values import parsed_json
from btm.logs.words import ANSWERS_ID, RESULT, fields, first


def answer_in(value: Any) -> tuple[Any, bool | None, str]:
    """Return the content, the error mark (True or None) and the call id of a recorded answer.

    A tool message says with ``status: "error"`` that an error was caught and handed to the model; around it the run
    or span looks like a success. Anything else is its own content.
    """
    if type(value) is str and '"content"' not in value:
        return value, None, ""
    given = parsed_json(value)
    message, _ = unwrapped(given) if isinstance(given, dict) else (None, None)
    found = fields(message) if isinstance(message, dict) else {}
    call_id = first(found, ANSWERS_ID[:-1])
    if "content" not in found or not (call_id or found.get("type") == "tool"):
        return value, None, ""
    content, is_error, _ = answer_of(found, RESULT)
    return (None if content is NO_RESULT else content), True if is_error else None, str(call_id or "")
