"""Results with a structure: HTTP-shaped dicts, JSON error bodies, content blocks, the outcome of a command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify import body_keys as keys
from btm.classify import retry_after, texts
from btm.classify.codes import of_number
from btm.classify.deciding import judges
from btm.classify.echoes import without_echoed_fields
from btm.classify.envelopes import failing_node, failing_part
from btm.classify.explaining import explain, unexplained
from btm.classify.finding import DEFAULT, WEAK, Finding, surest
from btm.classify.reading import field, plain_of
from btm.classify.telling import is_quiet, tells_failure, user_errors
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K
from btm.support import untrusted

_MOST_BLOCKS, _MOST_TEXT = 50, 4_000
_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link", "json"})
_LOOKS_FOR = re.compile(r"grep|search|find")


def of_mapping(
    body: Mapping[str, Any], call: ToolCall, now: float | None, *, failed: bool = False
) -> Finding | None:
    """Return what failure a mapping tells of, or None when it is a success.

    ``failed`` says that a framework has marked the result as an error already.
    """
    if not failed and is_quiet(body):
        return _of_refusal(body, call, now) if "data" in body else None
    body = body if failed else without_echoed_fields(body, call)
    exits = keys.fields_of(body).exits
    exit_code = body[exits[0]] if exits else None
    if type(exit_code) is int and (failed or not _is_of_a_job(body)):
        return _of_command(body, exit_code, call)

    if not failed and not tells_failure(body, call):
        part = failing_part(body, call)
        return _of_refusal(body, call, now) if part is None else of_mapping(part, call, now, failed=True)
    found = explain(body)
    wait = retry_after.in_body(body, now)
    headers = body.get("headers")
    if wait is None and isinstance(headers, Mapping):
        wait = retry_after.in_headers(headers, now, limited=found.kind is K.RATE_LIMIT)
    return texts.rate_or_quota(found if wait is None else found._replace(retry_after_s=wait))


def _of_refusal(body: Mapping[str, Any], call: ToolCall, now: float | None) -> Finding | None:
    """Return what a write's own list of errors says, wherever it stands beside what was sent."""
    if call.effect is not Effect.WRITE or judges(call.tool) or keys.ERROR_TOOL.search(call.tool[:80]):
        return None
    refused = user_errors(body)
    return None if refused is None else of_mapping(refused, call, now, failed=True)


def of_envelope(
    answer: Mapping[str, Any], call: ToolCall, now: float | None, *, whole: bool = False
) -> Finding | None:
    """Return what failure an answer tells of that is nothing but an envelope: XML, or lines of fields.

    ``whole``: it may be a document, of which only what it says of itself in words counts.
    """
    part = failing_node(answer, call, whole=whole)
    if part is None:
        return None
    found = of_mapping(part, call, now, failed=True)
    return found if not whole or found is None or _is_worded(part, found.detail) else None


def _is_worded(part: Mapping[str, Any], detail: str) -> bool:
    """Whether words tell of a failure, and not the names of elements and a number alone: a document has such, too."""
    verdicts = (value.lower() in keys.BAD_STATUS for value in part.values() if isinstance(value, str))
    return any(verdicts) or texts.of_words(_FIGURES.sub("", detail)) is not None


_FIGURES = re.compile(r"\b\d+\b")


def of_failed_value(value: Any, call: ToolCall, now: float | None = None) -> Finding:
    """Return what a value says that is known to stand for a failure; UNKNOWN when it gives no reason."""
    if isinstance(value, str):
        return texts.missing(texts.of_error_text(plain_of(value[:_MOST_TEXT]).strip())) or unexplained("flag")
    if isinstance(value, Mapping):
        return of_mapping(value, call, now, failed=True) or unexplained("flag")
    if isinstance(value, list | tuple):
        text = content_text(value)
        return of_failed_value(text, call, now) if text else unexplained("flag")
    return texts.of_error_text(untrusted.text_of(value, 2_000)) or unexplained("flag")


def content_text(blocks: Any) -> str:
    """Return the text of MCP or LangChain content blocks (at most 50 of them, 4,000 characters), or ``""``."""
    parts: list[str] = []
    size = 0
    for block in blocks[:_MOST_BLOCKS]:
        text = block if isinstance(block, str) else field(block, "text")
        if not isinstance(text, str):
            continue
        parts.append(text[: _MOST_TEXT - size])
        size += len(parts[-1])
        if size >= _MOST_TEXT:
            break
    return "\n".join(parts)


def is_content(value: Any) -> bool:
    """Whether a list holds content blocks (``{"type": "text", "text": ...}`` or objects like it)."""
    if not value:
        return False
    first = value[0]
    if isinstance(first, Mapping):
        return str(first.get("type"))[:80] in _BLOCK_TYPES and len(first) <= 5
    return type(first).__name__.endswith("Content") and field(first, "type") is not None


def _is_of_a_job(body: Mapping[str, Any]) -> bool:
    """Whether an exit code is one of a job's facts: the record of a run, and not the run of a command."""
    return any(name in body for name in _IDS) and not any(name in body for name in _OUTPUTS)


_IDS = ("id", "name", "job_id", "run_id", "build_id", "task_id", "pid")
_OUTPUTS = ("stdout", "stderr", "output", "command")


def _of_command(body: Mapping[str, Any], code: int, call: ToolCall) -> Finding | None:
    """The outcome of a command: its exit code beside what it wrote."""
    if code == 0:
        return None  # warnings on stderr are no failure
    err = untrusted.text_of(field(body, "stderr", "error") or "", 2_000).strip()
    out = field(body, "stdout", "output", "result") or ""
    out = (out[-600:] if isinstance(out, str) else untrusted.text_of(out, 600)).strip()
    said = texts.of_error_text(err or out) if err or out else None
    found = surest((of_number("exit", code), said))
    if found is not None:
        return found._replace(detail=err or out)
    if (
        code == 1
        and not err
        and not out
        and _LOOKS_FOR.search(call.tool[:80] + untrusted.text_of(call.arguments, 500))
    ):
        return Finding(K.EMPTY_RESULT, "exit:1", "exit code 1 without any output: nothing matched", WEAK)
    reason = f"exit code {code} without a known reason"
    return Finding(K.UNKNOWN, f"exit:{code}", reason, DEFAULT, detail=err or out)
