"""Answers that tracers record as a whole LangChain tool message, and not as its content."""

from __future__ import annotations

from typing import Any

from btm.logs import lc
from btm.logs.values import content_of, parsed_json


def answer_in(value: Any) -> tuple[Any, bool | None, str]:
    """Return the content, the error mark (True or None) and the call id of a recorded answer.

    A tool message says with ``status: "error"`` that an error was caught and handed to the model; around it the run
    or span looks like a success. Anything else is its own content.
    """
    if type(value) is str and '"content"' not in value:
        return value, None, ""
    message = parsed_json(value)
    if not isinstance(message, dict):
        return value, None, ""
    _, fields = lc.plain(message)
    if "content" not in fields or not ("tool_call_id" in fields or fields.get("type") == "tool"):
        return value, None, ""
    return content_of(fields["content"]), lc.failed(fields), str(fields.get("tool_call_id") or "")
