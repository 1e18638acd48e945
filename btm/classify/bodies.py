"""Results with a structure: HTTP-shaped dicts, JSON error bodies, framework messages, exit codes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm import safe
from btm.classify import numbers, plain, retry_after, texts
from btm.classify.codes import of_code, of_json_rpc
from btm.classify.finding import DEFAULT, NONE, WEAK, Finding, surest
from btm.classify.reading import field
from btm.classify.status import is_failure, of_status
from btm.model import ErrorKind as K
from btm.model import ToolCall

_ERROR_KEYS = (
    "error", "errors", "Error", "Errors", "err", "exception", "fault", "errorMessage", "error_message", "errorMessages", "error_msg",
    "errmsg", "errMsg", "error_description", "errorDescription", "errorCode", "error_code", "errcode", "errno", "error_type", "ErrorCode", "__type", "failure",
    "fehler", "Fehler", "erreur", "errore", "erro", "エラー", "错误", "錯誤", "fehlermeldung", "mensaje_error", "Message", "errorType", "error_reason",
)  # fmt: skip
_MESSAGE_KEYS = ("message", "msg", "detail", "Message", "error_description", "description", "reason", "title", "details", "error_message", "errorMessage",
                 "errmsg", "meldung", "mensaje", "メッセージ", "消息", "text", "hint", "info", "statusText", "status_message", "body")  # fmt: skip
_STATUS_KEYS = ("status", "status_code", "statusCode", "http_status", "httpStatus", "http_code", "httpCode", "response_code", "StatusCode", "code", "error_code", "errorCode")
_CODE_KEYS = ("code", "error_code", "errorCode", "Code", "error", "type", "reason", "status", "__type", "name", "err", "errcode", "error_type", "sub_code", "decline_code_", "errorType", "subcode")
_META_KEYS = frozenset(
    "message msg detail details description hint documentation_url request_id requestid trace_id traceid code type status timestamp"
    " retry_after global title instance path status_code statuscode help docs url success ok data result more_info retryable"
    " req_id correlation_id info link reason errors error warning x-request-id id_request error_code retry_after_ms support".split()
)
_BAD_STATUS = frozenset("error fail failed failure exception ko err rejected denied unsuccessful timeout timed_out".split())
_FIRM_BAD = frozenset({"error", "fail", "exception", "ko", "err", "failure"})
_IN_PART = frozenset({"completed_with_errors", "partial", "partial_success", "partially_completed", "partially_failed", "partial_failure"})
_GOOD_CODES = frozenset({"0", "00000", "200", "201", "202", "204", "ok", "success", "succeeded", "2xx", "0000", "000000", "20000"})
_NONE_TEXTS = frozenset({"", "none", "null", "no error", "no errors", "ok", "success", "false", "0", "n/a", "undefined"})
_JOB = re.compile(r"(?:^|_)(?:status|job|jobs|run|build|pipeline|deploy\w*|task|payment|transaction|workflow|order|history|check|test\w*|validate\w*|lint|log\w*|error\w*|incident\w*|alert\w*|event\w*|delivery|import|export|execution|webhook\w*|audit|monitor|health|report)(?:$|_)", re.IGNORECASE)
_ABOUT_ERRORS = re.compile(r"error|log|incident|alert|exception|failure|fault|crash|issue|lint|valid|check|test|parse|analy|debug|diagnos|review|audit|scan", re.IGNORECASE)
_GOOGLE_STATUS = frozenset({"OVER_QUERY_LIMIT", "OVER_DAILY_LIMIT", "REQUEST_DENIED", "INVALID_REQUEST", "UNKNOWN_ERROR", "MAX_ELEMENTS_EXCEEDED"})
_FLAGS = frozenset({"success", "ok", "Success", "succeeded", "isSuccess", "is_success"})
_EXITS = ("exit_code", "exitCode", "returncode", "exit_status", "return_code")
_WORDY = frozenset({"status", "state", "outcome", "result", "type", "name", "reason", "title"})
_TELLING = (
    frozenset(_ERROR_KEYS + _STATUS_KEYS + _EXITS) | _FLAGS | {"detail", "message", "msg", "ResponseMetadata", "state", "outcome", "result"}
)
_VALIDATOR_ITEM = frozenset({"loc", "msg"})


def of_mapping(body: Mapping[str, Any], call: ToolCall, now: float | None, *, failed: bool = False) -> Finding | None:
    """Return what failure a mapping tells of, or None when it is a success.

    ``failed`` says that a framework has marked the result as an error already.
    """
    if not failed and is_quiet(body):
        return None
    exit_code = field(body, *_EXITS)
    if type(exit_code) is int and not isinstance(exit_code, bool):
        return _of_command(body, exit_code, now, call)
    rpc = body.get("error")
    if isinstance(rpc, Mapping) and type(rpc.get("code")) is int and rpc["code"] < -31_000:
        said = texts.of_error_text(safe.text_of(rpc.get("message"), 1_000), now)
        return surest((said, of_json_rpc(rpc["code"]))) or _unknown("json-rpc")
    if not failed and not _tells_failure(body, call):
        return None
    found = _explain(body, now)
    wait = retry_after.in_body(body, now)
    if wait is None and isinstance(body.get("headers"), Mapping):
        wait = retry_after.in_headers(body["headers"], now)
    found = found._replace(retry_after_s=wait if wait is not None else found.retry_after_s, detail=_message(body))
    return texts.rate_or_quota(found)


def is_quiet(body: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds no field that could tell of a failure: the cheap test that most results pass."""
    if _TELLING.isdisjoint(body):
        return not body or type(next(iter(body.values()))) is not list or len(body) > 20
    for key in _TELLING.intersection(body):
        value = body[key]
        if key in _WORDY:
            if type(value) is not str or len(value) > 40 or value in _GOOGLE_STATUS or value.lower() in _BAD_STATUS or value[:1].isdigit():
                return False
        elif value is True and key in _FLAGS:
            continue
        elif value is not None and value != "" and value != 0 and value != []:
            return False
        elif value is False and key in _FLAGS:
            return False
    return True


def of_failed_value(value: Any, call: ToolCall, now: float | None = None) -> Finding:
    """Return what a value says that is known to stand for a failure; UNKNOWN when it gives no reason."""
    if isinstance(value, str):
        text = value.strip()
        opened = plain.opening(text[: plain.HEAD])
        if opened is not None and opened.firm:
            return plain.marked(plain.opening(texts.trim(text)) or opened, now)
        return texts.of_error_text(text, now) or _unknown("flag")
    if isinstance(value, Mapping):
        return of_mapping(value, call, now, failed=True) or _unknown("flag")
    if isinstance(value, list | tuple):
        text = content_text(value)
        return of_failed_value(text, call, now) if text else _unknown("flag")
    return texts.of_error_text(safe.text_of(value, 2_000), now) or _unknown("flag")


def content_text(blocks: Any) -> str:
    """Return the text of MCP or LangChain content blocks (at most 50 of them, 4,000 characters), or ``""``."""
    parts: list[str] = []
    size = 0
    for block in blocks[:50]:
        text = block if isinstance(block, str) else field(block, "text")
        if not isinstance(text, str):
            continue
        parts.append(text[: 4_000 - size])
        size += len(parts[-1])
        if size >= 4_000:
            break
    return "\n".join(parts)


def is_content(value: Any) -> bool:
    """Whether a list holds content blocks (``{"type": "text", "text": ...}`` or objects like it)."""
    if not value:
        return False
    first = value[0]
    if isinstance(first, Mapping):
        return first.get("type") in ("text", "image", "audio", "resource", "resource_link", "json") and len(first) <= 5
    return type(first).__name__.endswith("Content") and field(first, "type") is not None


def _unknown(rule: str) -> Finding:
    return Finding(K.UNKNOWN, f"body:{rule}", "marked as failed, without a reason", NONE)


def _of_command(body: Mapping[str, Any], code: int, now: float | None, call: ToolCall) -> Finding | None:
    if code == 0:
        return None
    err = safe.text_of(field(body, "stderr", "error") or "", 2_000).strip()
    out = safe.text_of(field(body, "stdout", "output", "result") or "", 100_000).strip()
    fixed = numbers.of_exit_code(code)
    said = texts.of_error_text(err or out[-600:], now) if err or out else None
    found = surest((fixed if fixed is not None and fixed.confidence > 0.85 else None, said, fixed))
    if found is not None:
        return found._replace(detail=err or out[-300:])
    if code == 1 and not err and not out and re.search(r"grep|search|find", safe.text_of(call.arguments, 500) + call.tool):
        return Finding(K.EMPTY_RESULT, "exit:1", "exit code 1 without any output: nothing matched", WEAK)
    return Finding(K.UNKNOWN, f"exit:{code}", f"exit code {code} without a known reason", DEFAULT, detail=err or out[-300:])


def _tells_failure(body: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether a mapping as a whole says that the call failed, rather than reporting a failure of something else."""
    if _has_payload(body):
        return False
    if any(body.get(flag) is False for flag in _FLAGS):
        return _failure_is_the_calls(body, call)
    if _http_status(body) is not None:
        return True
    error = _error_value(body, call)
    if error is not None:
        return _failure_is_the_calls(body, call)
    status = body.get("status") or body.get("result") or body.get("outcome") or body.get("state")
    if isinstance(status, str):
        if status in _GOOGLE_STATUS:
            return True
        low = status.lower()
        if low in _FIRM_BAD and (len(body) == 1 or any(k in body for k in ("message", "msg", "data", "code", "reason", "detail"))):
            return not _is_record(body, call)
        if low in _BAD_STATUS and set(map(_low, body)) <= _META_KEYS:
            return not _JOB.search(call.tool[:80]) or len(body) <= 2
    return _is_message(body)


def _low(key: object) -> str:
    return key.lower() if isinstance(key, str) else ""


def _has_payload(body: Mapping[str, Any]) -> bool:
    data = body.get("data")
    if isinstance(data, Mapping | list) and data and (body.get("errors") or body.get("error")):
        return any(v not in (None, [], {}) for v in (data.values() if isinstance(data, Mapping) else data[:20]))
    if isinstance(body.get("status"), str) and body["status"].lower() in _IN_PART:
        return True
    flagged = body.get("success") is True or body.get("ok") is True or body.get("status") in ("success", "ok", "succeeded")
    return bool(flagged)


def _failure_is_the_calls(body: Mapping[str, Any], call: ToolCall) -> bool:
    return not _is_record(body, call)


def _is_record(body: Mapping[str, Any], call: ToolCall) -> bool:
    """A record (of a job, a payment, a check) that failed is what was asked for, when the tool reads such records."""
    others = [k for k in body if _low(k) not in _META_KEYS and k not in _ERROR_KEYS]
    has_id = any(k in ("id", "name") or k.endswith(("_id", "Id", "_name")) for k in others if isinstance(k, str))
    if "valid" in body or "is_valid" in body or "passed" in body:
        return True
    return has_id and len(others) >= 2 and _JOB.search(call.tool[:80]) is not None


def _http_status(body: Mapping[str, Any]) -> int | None:
    for key in _STATUS_KEYS:
        value = body.get(key)
        if isinstance(value, str) and len(value) == 3 and value.isdigit():
            value = int(value)
        if not is_failure(value):
            continue
        if key in ("code", "error_code", "errorCode", "status") and not _is_answer(body, key):
            continue
        return int(value)
    meta = body.get("ResponseMetadata")
    value = field(meta, "HTTPStatusCode") if isinstance(meta, Mapping) else None
    return int(value) if is_failure(value) else None


def _is_answer(body: Mapping[str, Any], key: str) -> bool:
    """Whether a body with a number under a common key looks like an HTTP answer rather than a record."""
    others = [k for k in body if k != key]
    if not others:
        return key == "status"
    known = [k for k in others if _low(k) in _META_KEYS or k in _ERROR_KEYS or k in ("headers", "body", "content", "text", "response", "statusText", "reason")]
    return bool(known) and len(known) * 2 >= len(others) and not ("data" in body and body["data"])


def _error_value(body: Mapping[str, Any], call: ToolCall) -> Any:
    """The value under the first error key that says something, or None."""
    for key in _ERROR_KEYS:
        if key not in body:
            continue
        value = body[key]
        if value is None or value is False or value in ([], {}, 0):
            continue
        if isinstance(value, str) and value.strip().lower() in _NONE_TEXTS:
            continue
        if isinstance(value, int | float) and value is not True and key not in ("errcode", "error_code", "errorCode", "ErrorCode", "errno"):
            continue  # a count
        if isinstance(value, Mapping) and key in ("errors", "Errors") and any(_low(k) not in _META_KEYS and k not in _ERROR_KEYS for k in body):
            continue  # a description of errors among other things
        if isinstance(value, list) and _ABOUT_ERRORS.search(call.tool[:80]) and not _is_messages(value, body):
            continue
        if isinstance(value, list) and len(body) > 4 and not _is_messages(value, body):
            continue
        if key == "Message" and set(map(_low, body)) - _META_KEYS:
            continue
        return value
    return None


def _is_messages(values: list[Any], body: Mapping[str, Any]) -> bool:
    first = values[0]
    if "errorMessages" in body or ("data" in body and not body["data"]):
        return True
    if isinstance(first, str):
        return len(body) <= 3
    return isinstance(first, Mapping) and any(k in first for k in ("message", "msg", "detail", "code", "reason")) and not any(
        k in first for k in ("timestamp", "time", "count", "id", "level", "line")
    )  # fmt: skip


def _is_message(body: Mapping[str, Any]) -> bool:
    """A body of nothing but a message (and its trimmings), where the message is an error by itself."""
    if "detail" in body and len(body) <= 2:
        detail = body["detail"]
        if isinstance(detail, list):
            return bool(detail) and isinstance(detail[0], Mapping) and detail[0].keys() >= _VALIDATOR_ITEM
        if isinstance(detail, str) and detail:
            return plain.of_plain_text(detail, "", None) is not None or texts.of_error_text(detail) is not None
    if _is_field_errors(body):
        return True
    text = next((body[k] for k in ("message", "msg", "Message", "detail") if isinstance(body.get(k), str) and body[k]), None)
    if text is None:
        return False
    code = body.get("code", body.get("type"))
    if code is not None and not isinstance(code, bool):
        if str(code).lower() in _GOOD_CODES:
            return False
        known = of_code(code) if isinstance(code, str) and not code.isdigit() else None
        if known is not None and known.kind is not K.UNKNOWN and not set(map(_low, body)) - _META_KEYS:
            return True
        if isinstance(code, int) and code > 1 and not body.get("data") and not set(map(_low, body)) - _META_KEYS:
            return True
    if "documentation_url" in body and len(body) <= 5:
        return True
    if set(map(_low, body)) - _META_KEYS:
        return False
    return plain.of_plain_text(text, "", None) is not None


def _is_field_errors(body: Mapping[str, Any]) -> bool:
    """Django REST and Laravel: every field with a list of complaints."""
    if not 0 < len(body) <= 20:
        return False
    for complaints in body.values():
        if not (isinstance(complaints, list) and complaints and all(isinstance(c, str) for c in complaints[:5])):
            return False
        said = texts.of_error_text(complaints[0])
        if said is None or said.kind not in (K.INVALID_ARGUMENTS, K.PRECONDITION_FAILED, K.NOT_FOUND) or not complaints[0].endswith("."):
            return False
    return True


def _explain(body: Mapping[str, Any], now: float | None) -> Finding:
    """Return what a failing body says: its status beside its codes and words."""
    words = texts.of_error_text(_message(body), now)
    codes = surest(_codes(body))
    status = _http_status(body)
    if status is None:
        inner = next((body[k] for k in ("error", "fault", "Error", "body") if isinstance(body.get(k), Mapping)), None)
        status = _http_status({**inner, "message": ""}) if inner is not None else None
    best = surest((codes, words))
    if codes is not None and words is not None and codes.kind is K.UNKNOWN:
        best = words
    if status is not None:
        wait = words.retry_after_s if words is not None else None
        return of_status(status, best)._replace(retry_after_s=wait)
    if best is None or best.confidence < DEFAULT:
        long_code = next((str(v) for k in ("code", "errcode", "error_code") if type(v := body.get(k)) is int and 40_000 <= v < 60_000), "")
        if long_code:
            return of_status(int(long_code[:3]), best)._replace(confidence=WEAK, status_code=None)
    if _is_validator(body):
        return surest((best, Finding(K.INVALID_ARGUMENTS, "body:fields", "each field comes with a complaint", 0.84, reached=False))) or _unknown("error")
    return best if best is not None and best.kind is not K.UNKNOWN else _unknown("error")


def _is_validator(body: Mapping[str, Any]) -> bool:
    detail = body.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], Mapping) and detail[0].keys() >= _VALIDATOR_ITEM:
        return True
    errors = body.get("errors")
    if isinstance(errors, Mapping) and errors and all(isinstance(v, str | list) for v in list(errors.values())[:10]):
        return True
    if isinstance(errors, list) and errors and isinstance(errors[0], Mapping) and "field" in errors[0]:
        return True
    return _is_field_errors(body)


def _codes(body: Mapping[str, Any], depth: int = 0) -> list[Finding | None]:
    found: list[Finding | None] = []
    for key in _CODE_KEYS:
        value = body.get(key)
        if isinstance(value, str) and value and len(value) < 80 and " " not in value.strip():
            found.append(of_code(value.rsplit("#", 1)[-1].strip()))
        elif type(value) is int and value < -31_000:
            found.append(of_json_rpc(value))
    if depth < 2:
        for key in ("error", "errors", "Error", "fault", "body", "detail", "extensions", "data", "details"):
            inner = body.get(key)
            if isinstance(inner, list) and inner:
                inner = inner[0]
            if isinstance(inner, Mapping):
                found.extend(_codes(inner, depth + 1))
    return found


def _message(body: Mapping[str, Any]) -> str:
    """The words of a failing body: its messages first, what is left of its errors last."""
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
        for key in _MESSAGE_KEYS + _ERROR_KEYS:
            if key in value:
                _collect(value[key], parts, depth + 1)
        if depth:
            for key in list(value)[:10]:
                if key not in _MESSAGE_KEYS and key not in _ERROR_KEYS and key not in _CODE_KEYS and key not in ("trace_id", "domain", "request_id", "loc", "input", "path", "url", "ctx", "documentation_url"):
                    _collect(value[key], parts, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value[:4]:
            _collect(item, parts, depth + 1)
