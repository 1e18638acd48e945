"""Whether a mapping as a whole says that the call failed, rather than that it found a failure of something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import body_keys as keys
from btm.classify import languages, partial, plain, texts
from btm.classify.codes import of_code
from btm.classify.reading import field
from btm.classify.status import is_failure
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

_VALIDATOR_ITEM = frozenset({"loc", "msg"})
_COMPLAINTS = frozenset({K.INVALID_ARGUMENTS, K.PRECONDITION_FAILED, K.NOT_FOUND})
_MOST_FIELDS = 20
MESSAGE = 0.35
"""Chance from which a message that is all of an answer is an error: less than of a bare text, for it is a message."""

_ERROR_CODES = frozenset({"errorCode", "error_code", "statusCode"})
_LOCAL_MESSAGES = keys.MESSAGES[20:]
_NO_STATUS = frozenset({"type", "name", "reason", "title"})


def is_quiet(body: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds no field that could tell of a failure: the cheap test that most results pass."""
    if keys.TELLING.isdisjoint(body):
        return not body or type(next(iter(body.values()))) is not list or len(body) > _MOST_FIELDS
    return all(_is_quiet_field(key, body[key]) for key in keys.TELLING.intersection(body))


def _is_quiet_field(key: str, value: Any) -> bool:
    if key in keys.WORDY and value is not None:
        return (
            type(value) is str
            and len(value) <= 40
            and value not in keys.GOOGLE_STATUS
            and value.lower() not in keys.BAD_STATUS
            and not value[:1].isdigit()
        )
    if isinstance(value, bool) and (key in keys.FLAGS or key in keys.WRITE_FLAGS):
        return value
    return value is None or (isinstance(value, str | int | float | list) and not value)


def tells_failure(body: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether a mapping says that the call failed."""
    if keys.CODE_TOOL.search(call.tool[:80]) and not any(body.get(flag) is False for flag in keys.FLAGS):
        return False
    if _contradicts_itself(body, call):
        return True
    if _has_payload(body, call):
        return False
    if call.effect is Effect.WRITE and _was_refused(body):
        return True
    if any(body.get(flag) is False for flag in keys.FLAGS):
        return not _is_record(body, call)
    if http_status(body) is not None:
        return True
    if _error_value(body, call) is not None:
        return not _is_record(body, call)
    for key in keys.WORDY:
        status = body.get(key)
        if isinstance(status, str) and key not in _NO_STATUS and _is_bad_status(status, body, call):
            return True
    return _is_message(body, call)


def _contradicts_itself(body: Mapping[str, Any], call: ToolCall) -> bool:
    """A body that calls itself a success and carries a failing status of its own: a wrapper's word, a server's number."""
    says_well = (
        body.get("success") is True or body.get("ok") is True or body.get("status") in ("success", "ok")
    )
    data = body.get("data")
    told = isinstance(data, str) or (
        isinstance(data, Mapping) and not _payload_names(data)
    )  # what went wrong
    if not says_well or (data and not told) or keys.CODE_TOOL.search(call.tool[:80]):
        return False
    firm = any(is_failure(_number(body.get(k))) for k in keys.STATUSES if k not in keys.SHARED_STATUSES)
    return firm or (is_failure(body.get("code")) and "message" in body and not _payload_names(body))


def _number(value: Any) -> Any:
    return (
        int(value)
        if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit()
        else value
    )


def _was_refused(body: Mapping[str, Any]) -> bool:
    """``approved: false`` with a reason beside it: the write was not done."""
    if not any(body.get(flag) is False for flag in keys.WRITE_FLAGS):
        return False
    return any(
        isinstance(body.get(k), str) and body[k]
        for k in ("reason", "message", "error", "code", "decline_code")
    )


def user_errors(body: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any] | None:
    """Return the object (Shopify's form of GraphQL) whose ``userErrors`` say that a mutation was refused, or None."""
    for key in ("userErrors", "user_errors", "fieldErrors", "mutationErrors"):
        if isinstance(body.get(key), list) and body[key] and isinstance(body[key][0], Mapping):
            return {"errors": body[key]}
    if depth < 3:
        for value in list(body.values())[:8]:
            if isinstance(value, Mapping):
                found = user_errors(value, depth + 1)
                if found is not None:
                    return found
    return None


def _is_bad_status(status: str, body: Mapping[str, Any], call: ToolCall) -> bool:
    if status in keys.GOOGLE_STATUS:
        return True
    low = status[:40].lower()
    if "id" in body and len(body) > 3:
        return False  # a record with a status of its own
    explained = len(body) == 1 or any(
        k in body for k in (*keys.MESSAGES[:8], "data", "code", "reason", *_LOCAL_MESSAGES)
    )
    if low in keys.FIRM_BAD and explained and not _is_record(body, call):
        return True
    bare = low in keys.BAD_STATUS and not _payload_names(body)
    return bare and (len(body) <= 2 or not keys.RECORD_TOOL.search(call.tool[:80]))


def _payload_names(body: Mapping[str, Any]) -> bool:
    """Whether any field is more than the trimmings of an error body."""
    return any(not isinstance(k, str) or k.lower() not in keys.META for k in body)


def _has_payload(body: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether the call went well, at least in part: data beside errors, a good status, a batch with successes."""
    data, errors = body.get("data"), body.get("errors", body.get("Errors"))
    if isinstance(data, Mapping | list) and data and (errors or body.get("error")):
        members = list(data.values())[:20] if isinstance(data, Mapping) else data[:20]
        return any(member not in (None, [], {}) for member in members)
    if call.effect is Effect.WRITE and isinstance(errors, list) and partial.some_succeeded(body):
        return True
    status = body.get("status")
    if isinstance(status, str) and (
        status[:40].lower() in keys.IN_PART or status in ("success", "ok", "succeeded")
    ):
        return True
    return body.get("success") is True or body.get("ok") is True


def _is_record(body: Mapping[str, Any], call: ToolCall) -> bool:
    """A record (of a job, a payment, a check) that failed is what was asked for, when the tool reads such records."""
    if "valid" in body or "is_valid" in body or "passed" in body:
        return True
    others = [k for k in body if isinstance(k, str) and k.lower() not in keys.META and k not in keys.ERRORS]
    has_id = any(k in ("id", "name") or k.endswith(("_id", "Id", "_name")) for k in others)
    return (
        (has_id or len(others) >= 2)
        and len(others) >= 1
        and keys.RECORD_TOOL.search(call.tool[:80]) is not None
    )


def http_status(body: Mapping[str, Any]) -> int | None:
    """Return the failing HTTP status that a body carries as a field, or None."""
    for key in keys.STATUSES:
        value = body.get(key)
        if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
            value = int(value)
        if is_failure(value) and (key not in keys.SHARED_STATUSES or _is_answer(body, key)):
            return int(value) if value is not None else None
    meta = body.get("ResponseMetadata")
    value = field(meta, "HTTPStatusCode") if isinstance(meta, Mapping) else None
    return value if type(value) is int and is_failure(value) else None


def _is_answer(body: Mapping[str, Any], key: str) -> bool:
    """Whether a body with a number under a common key looks like an HTTP answer rather than a record."""
    others = [k for k in body if k != key]
    if not others:
        return key == "status"
    known = sum(
        1
        for k in others
        if isinstance(k, str) and (k.lower() in keys.META or k in keys.ERRORS or k in keys.ANSWER)
    )
    return known > 0 and known * 2 >= len(others) and not body.get("data")


def _error_value(body: Mapping[str, Any], call: ToolCall) -> Any:
    """The value under the first error field that says something, or None."""
    return next(
        (body[key] for key in keys.ERRORS if key in body and _says_error(key, body[key], body, call)), None
    )


def _says_error(key: str, value: Any, body: Mapping[str, Any], call: ToolCall) -> bool:
    if value is True:
        return True
    if not value:
        return False
    if isinstance(value, str):
        # "Message" is also what mails and chats call their text.
        return value.strip().lower() not in keys.NO_ERROR and (key != "Message" or not _payload_names(body))
    if isinstance(value, int | float):
        return key in keys.NUMBERED_ERRORS
    if isinstance(value, Mapping) and key in ("errors", "Errors"):
        # Among other things it describes errors rather than reporting them.
        return all(isinstance(k, str) and (k.lower() in keys.META or k in keys.ERRORS) for k in body)
    if isinstance(value, list):
        about_errors = keys.ERROR_TOOL.search(call.tool[:80]) is not None
        return "errorMessages" in body or (
            not about_errors and (len(body) <= 4 or _are_messages(value, body))
        )
    return True


def _are_messages(values: list[Any], body: Mapping[str, Any]) -> bool:
    first = values[0]
    if "errorMessages" in body or ("data" in body and not body["data"]):
        return True
    if isinstance(first, str):
        return len(body) <= 3
    if not isinstance(first, Mapping) or any(
        k in first for k in ("timestamp", "time", "count", "id", "level", "line")
    ):
        return False  # entries of a log
    return any(k in first for k in ("message", "msg", "detail", "code", "reason"))


def _is_message(body: Mapping[str, Any], call: ToolCall) -> bool:
    """A body of nothing but a message (and its trimmings), where the message is an error by itself."""
    detail = body.get("detail")
    if len(body) == 1:
        only, value = next(iter(body.items()))
        if (
            only in keys.MESSAGES
            and isinstance(value, str)
            and only not in ("text", "body", "title", "description")
        ):
            return plain.read(value, "", writes=call.effect is Effect.WRITE).chance >= MESSAGE
    if len(body) <= 2 and isinstance(detail, list):
        return is_validator_list(detail)
    if len(body) <= 2 and isinstance(detail, str) and detail:
        return plain.of_plain_text(detail, "") is not None or texts.of_error_text(detail) is not None
    if are_field_errors(body) or (call.effect is Effect.WRITE and are_sentences(body)):
        return True
    said = (body.get(k) for k in ("message", "msg", "Message", "detail"))
    text = next((s for s in said if isinstance(s, str) and s), None)
    if text is None:
        return False
    if "documentation_url" in body and len(body) <= 5:
        return True
    code = body.get("code", body.get("type", body.get("name")))
    if str(code)[:40].lower() in keys.GOOD_CODES or _payload_names(body):
        return False
    return (
        _is_error_code(code, body)
        or plain.read(text, "", writes=call.effect is Effect.WRITE).chance >= MESSAGE
    )


def _is_error_code(code: Any, body: Mapping[str, Any]) -> bool:
    if isinstance(code, str) and not code.isdigit():
        known = of_code(code)
        return known is not None and known.kind is not K.UNKNOWN
    return type(code) is int and code > 1 and not body.get("data")


def is_validator_list(items: list[Any]) -> bool:
    """Whether a list is FastAPI's: what is wrong (``msg``) and where (``loc``)."""
    return bool(items) and isinstance(items[0], Mapping) and items[0].keys() >= _VALIDATOR_ITEM


def is_error_list(items: list[Any]) -> bool:
    """Whether a whole list is errors: each with a message and a code of its own (Salesforce, Stripe's batches)."""
    return 0 < len(items) <= 20 and all(
        isinstance(item, Mapping)
        and "message" in item
        and not _ERROR_CODES.isdisjoint(item)
        and len(item) <= 5
        for item in items
    )


def are_field_errors(body: Mapping[str, Any]) -> bool:
    """Whether a body is Django REST's or Laravel's: every field with a list of complaints."""
    return 0 < len(body) <= _MOST_FIELDS and all(_are_complaints(complaints) for complaints in body.values())


def are_sentences(body: Mapping[str, Any]) -> bool:
    """Whether every field holds a list of one to three sentences: how a write's arguments are refused in any language."""
    return 0 < len(body) <= _MOST_FIELDS and all(
        isinstance(said, list)
        and 0 < len(said) <= 3
        and all(
            isinstance(c, str) and c.endswith(_STOPS) and " " in c and not c[:1].islower() and len(c) < 200
            for c in said
        )
        for said in body.values()
    )


_STOPS = (".", "\u3002", "\uff01", "\u0964")


def _are_complaints(complaints: Any) -> bool:
    if (
        not isinstance(complaints, list)
        or not complaints
        or not all(isinstance(c, str) for c in complaints[:5])
    ):
        return False
    said = texts.of_error_text(complaints[0][:300]) if complaints[0].endswith(_STOPS) else None
    return said is not None and (
        said.kind in _COMPLAINTS or languages.is_foreign(said) or said.kind is K.UNKNOWN
    )
