"""Products whose logs hold calls in a form of their own: each as the messages that it means.

==================  ===============================================  ==============================================
product             a call                                           its answer
==================  ===============================================  ==============================================
gptme               a system message ``Ran command: ...``            (the same)
LM Studio           ``toolCallRequest`` of the chosen version        ``toolCallResult``
NeMo Agent Toolkit  ``TOOL_START``, by its ``UUID``                  ``TOOL_END``
NeMo, as ATOF       the start of a scope of category ``tool``        its end
Open Interpreter    a message of type ``code``                       one of type ``console``
==================  ===============================================  ==============================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.values import parsed_json

_Fields = Mapping[str, Any]
_RAN = re.compile(
    r"Ran (?:allowlisted )?command: `([^`]{1,4000})`(.*?)(?:Return code: (\d{1,3}))?\s*$", re.DOTALL
)
"""What gptme says of a command that it ran."""


def call(own: object, name: object, arguments: Any) -> dict[str, Any]:
    """Return the message of an assistant that calls one tool."""
    made = {"id": str(own), "name": str(name), "arguments": parsed_json(arguments) or {}}
    return {"role": "assistant", "content": None, "tool_calls": [made]}


def answer(own: object, content: Any, failed: object = None) -> dict[str, Any]:
    """Return the message that answers a call; ``failed`` is its error, if it has one, or whether it failed."""
    said = failed if content in (None, "") and not isinstance(failed, bool) else content
    return {"role": "tool", "tool_call_id": str(own), "content": said, "is_error": bool(failed) or None}


def spoken(document: Any) -> Any:
    """Return a conversation of LM Studio's with the versions of its messages that were chosen; any other as it is."""
    listed = document.get("messages") if isinstance(document, dict) else None
    if isinstance(listed, list) and listed and all(isinstance(m, dict) and "versions" in m for m in listed):
        return {**document, "messages": [message for version in listed for message in _version(version)]}
    return document


def _version(message: _Fields) -> Iterator[dict[str, Any]]:
    versions, chosen = message["versions"], message.get("currentlySelected") or 0
    version = versions[chosen] if isinstance(versions, list) and chosen < len(versions) else {}
    for step in version.get("steps") or [version]:
        pieces = [
            {**piece, "content": parsed_json(piece.get("content"))} for piece in step.get("content") or ()
        ]
        yield {"role": version.get("role"), "content": pieces}


def is_own_message(record: Any) -> bool:
    """Whether a record is a message or event of gptme, the NeMo Agent Toolkit or Open Interpreter."""
    return Retold().read(record) is not record


_PASSED = {"type": "stream_event"}


class Retold:
    """Retells records one by one, in their order: what was run has no id, but its number."""

    def __init__(self) -> None:
        self._ran = 0

    def read(self, record: Any) -> Any:
        """Return the message that a record means, or the record as it is."""
        if not isinstance(record, dict):
            return record
        role, content, payload = (record.get(n) for n in ("role", "content", "payload"))
        if role and "format" in record and record.get("type") == "code":
            self._ran += 1
            return call(self._ran, "execute", {"language": record["format"], "code": content})
        if role and "format" in record and record.get("type") == "console":
            return answer(self._ran, content) if record["format"] == "output" else _PASSED
        if isinstance(payload, dict) and "UUID" in payload and "event_type" in payload:
            data = payload.get("data") or {}
            if payload["event_type"] == "TOOL_START":
                return call(payload["UUID"], payload.get("name"), data.get("input"))
            ended = payload["event_type"] == "TOOL_END"
            return answer(payload["UUID"], data.get("output")) if ended else _PASSED
        if "scope_category" in record and "atof_version" in record:
            if record.get("category") != "tool":
                return _PASSED
            began, own, data = record["scope_category"] == "start", record["uuid"], record.get("data")
            return call(own, record.get("name"), data) if began else answer(own, data)
        if role == "system" and (ran := _RAN.match(str(content))):
            self._ran += 1
            done = {"arguments": {"command": ran[1]}, "output": ran[2].strip(), "exit_code": int(ran[3] or 0)}
            return {"type": "tool_call", "id": f"ran-{self._ran}", "name": "shell", **done}
        return record
