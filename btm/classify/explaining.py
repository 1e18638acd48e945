"""What a failing JSON body says: its status beside its codes and its words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from btm.classify import body_keys as keys
from btm.classify import texts
from btm.classify.codes import of_code, of_number, of_status
from btm.classify.finding import EXACT, NONE, Finding, surest
from btm.classify.refusals import are_sentences
from btm.classify.telling import http_status
from btm.model import ErrorKind as K

_NESTED_CODES = (
    "error", "errors", "Error", "fault", "body", "detail", "extensions", "data", "details",
    "sys", "meta", "messages",
)  # fmt: skip
_NESTED_STATUS = ("error", "fault", "Error", "body", "data")
_FIELDS = Finding(
    K.INVALID_ARGUMENTS, "body:fields", "each field comes with a complaint", 0.84, reached=False
)


def unexplained(rule: str) -> Finding:
    """Return the finding of a failure that gives no reason."""
    return Finding(K.UNKNOWN, f"body:{rule}", "marked as failed, without a reason", NONE)


def explain(body: Mapping[str, Any]) -> Finding:
    """Return what a body says that is known to stand for a failure, with its words as the detail."""
    said = message(body)
    return _explained(body, said)._replace(detail=said)


def _explained(body: Mapping[str, Any], said: str) -> Finding:
    codes = surest(_codes(body))
    # A code that says all, and is all that is said, needs no reading.
    bare = codes is not None and codes.confidence >= EXACT and " " not in said
    words = None if bare else texts.of_error_text(said)
    coded = (of_code(part) for part in said.split(" ; ")[:6] if part.isupper() and " " not in part)
    best = surest((codes, *coded, words))
    status = _status(body)
    if status is not None:
        wait = words.retry_after_s if words is not None else None
        return of_status(status, best)._replace(retry_after_s=wait)
    if _is_validator(body):
        best = surest((best, _FIELDS))
    return best if best is not None and best.kind is not K.UNKNOWN else unexplained("error")


def _status(body: Mapping[str, Any]) -> int | None:
    status = http_status(body)
    if status is not None:
        return status
    inner = next((body[k] for k in _NESTED_STATUS if isinstance(body.get(k), Mapping)), None)
    return http_status({**inner, "message": ""}) if inner is not None and len(inner) <= 50 else None


def _is_validator(body: Mapping[str, Any]) -> bool:
    errors = body.get("errors")

    if isinstance(errors, Mapping) and errors:
        return all(isinstance(v, str | list) for v in list(errors.values())[:10])
    if isinstance(errors, list) and errors and isinstance(errors[0], Mapping) and "field" in errors[0]:
        return True
    return are_sentences(body)


def _codes(body: Mapping[str, Any], depth: int = 0) -> list[Finding | None]:
    found: list[Finding | None] = []
    for key in (*keys.fields_of(body).codes, *(k for k in _ODD_CODES if k in body)):
        value = body[key]
        if isinstance(value, str) and value and len(value) < 80 and " " not in value.strip():
            code = value.rsplit("#", 1)[-1].strip()
            found.append(of_code(code))
        else:
            found.append(of_number("json-rpc", value))
    if depth < 2:
        for key in _NESTED_CODES:
            inner = body.get(key)
            if isinstance(inner, list) and inner:
                inner = inner[0]
            if isinstance(inner, Mapping):
                found.extend(_codes(inner, depth + 1))
    return found


_ODD_CODES = ("id", "ECODE")
"""Fields that hold a code in some services, and an identity in most: only a known code counts."""


def message(body: Mapping[str, Any]) -> str:
    """Return the words of a failing body, 1,500 characters at most: its messages first, the rest of its errors last."""
    parts: list[str] = []
    _collect(body, parts, 0)
    return " ; ".join(dict.fromkeys(parts))[:1_500]


def _collect(value: Any, parts: list[str], depth: int) -> None:
    if depth > 4 or len(parts) > 12:
        return
    if isinstance(value, str):
        if value.strip():
            parts.append(value[:600])
    elif isinstance(value, Mapping):
        named = keys.fields_of(value)
        worded = dict.fromkeys((*named.messages, *named.errors))
        for key in worded:
            _collect(value[key], parts, depth + 1)
        if depth:
            for key in islice(value, 10):
                if key not in worded and key not in named.codes and not keys.tells_nothing(str(key)):
                    _collect(value[key], parts, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value[:4]:
            _collect(item, parts, depth + 1)
