"""Whether a mapping as a whole says that the call failed, rather than that it found a failure of something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from btm.classify import body_keys as keys
from btm.classify import deciding, partial, plain, refusals, texts
from btm.classify.body_keys import Fields, fields_of
from btm.classify.codes import is_failure, of_code
from btm.classify.finding import CODE
from btm.classify.keys import snake
from btm.classify.reading import field, is_blank
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

MESSAGE = 0.55
"""Chance from which a message that is all of an answer is an error: less than of a bare text, for it is a message."""

NAMED = 0.85
"""Chance from which a message is an error beside nothing but ids, links and times."""

CLEAR = 0.93
"""Chance from which a message is an error beside fields that could be what was asked for."""

_NO_STATUS = frozenset({"type", "name", "reason", "title"})
_NO_MESSAGE = keys.words_of("descriptions")
_MILD = frozenset({"warning", "note", "notice", "info", "hint", "remark", "information"})
"""Messages that never say of an answer with data of its own that it failed; nor does the reason for a status."""


def is_quiet(body: Mapping[Any, Any], depth: int = 0) -> bool:
    """Whether a mapping holds no field that could tell of a failure: the cheap test that most results pass."""
    named = fields_of(body)
    telling = named.telling
    if named.parts and any(type(body[name]) is dict for name in named.parts):
        return False
    if not telling:
        if not body or len(body) > refusals.MOST_FIELDS:
            return True
        first = next(iter(body.values()))
        if type(first) is dict:
            return len(body) > 1 or depth > _SMALL or is_quiet(first, depth + 1)
        return type(first) is not list
    return all(_is_quiet_field(name, body[name]) for name in telling)


def _is_quiet_field(name: str, value: Any) -> bool:
    if value is None or value is True:
        return value is None or not (name in {"isError", "failed"} or keys.is_error(name))
    if type(value) is str and value and len(value) <= 40 and name in _PLAINLY_WORDY:
        low = value.lower()
        return (
            value not in keys.GOOGLE_STATUS
            and low.replace("-", "_") not in keys.BAD_STATUS
            and not value[:1].isdigit()
            and "_" not in value
        )
    return isinstance(value, str | int | float | list) and not value and value is not False


_PLAINLY_WORDY = frozenset({"name", "result", "state", "status", "title", "type", "outcome", "object"})


def tells_failure(body: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether a mapping says that the call failed."""
    named = fields_of(body)
    refused = any(is_no(body[flag]) for flag in named.flags)
    if keys.CODE_TOOL.search(call.tool[:80]) and not refused:
        return False
    if _contradicts_itself(body, named, call):
        return True
    if _has_payload(body, call):
        return False
    if call.effect is Effect.WRITE and refusals.is_refused_write(body, named):
        return True
    if http_status(body) is not None:
        return True
    if refused or any(_says_error(name, body[name], body, named, call) for name in named.errors):
        return not _is_record(named, call)
    if "errors" in body and deciding.judges(call.tool):
        return False  # a finding about what was to be checked
    statuses = (body[name] for name in named.wordy if name not in _NO_STATUS)
    if any(isinstance(told, str) and _is_bad_status(told, body, named, call) for told in statuses):
        return True
    return _is_message(body, named, call) or (refusals.is_refusal(body, named) and not is_entry(body, call))


def is_entry(body: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether a code and words about it are data: what was looked up (a tariff, a course), or a code that was made."""
    named, writes = fields_of(body), call.effect is Effect.WRITE
    codes = [body[name] for name in named.coded if "err" not in keys.bare(name)]
    if (
        not 0 < len(codes) == len(named.coded)
        or len(body) > _FEW
        or any(is_known_code(str(c)) for c in codes)
    ):
        return False
    said = refusals.words_of(body, named)
    described = _NO_MESSAGE.issuperset(map(keys.bare, named.said))
    if writes:
        may_be = _MAKES_CODES.search(snake(call.tool[:80])) is not None
    else:
        may_be = described or (
            _PLAIN_CODES.issuperset(map(keys.bare, named.coded)) and all(map(str.isascii, said))
        )
    told = [one for one in (plain.read(text, "") for text in said) if one.chance >= plain.SUSPECTED]
    strict = writes or not described
    refuses = any(strict or (one.found and one.found.kind is not K.UNKNOWN) for one in told)
    return may_be and bool(said) and not refuses


_FEW = 3
_PLAIN_CODES = frozenset({"code", "status", "result"})
_MAKES_CODES = re.compile(
    r"(?:create|issue|generate|make|new|book|register|reserve|request|add|invite)(?:_.*)?_"
    r"(?:code|coupon|voucher|invit\w*|otp|ticket|pass|booking|reservation|token|pin|promo\w*|gift\w*|device|discount|link)s?\b"
)
"""Tools that make something that has a code."""


def is_no(value: Any) -> bool:
    """Whether a flag says no, be it as a text."""
    return value is False or (type(value) is str and value.lower() == "false")


def _contradicts_itself(body: Mapping[str, Any], named: Fields, call: ToolCall) -> bool:
    """A body that calls itself a success and carries a failing status of its own: a wrapper's word, a server's number."""
    says_well, data = _says_well(body, named), body.get("data")
    told = isinstance(data, str) or _tells_what_went_wrong(data)
    if not says_well or (data and not told) or keys.CODE_TOOL.search(call.tool[:80]):
        return False
    firm = any(is_failure(_number(body[k])) for k in named.statuses if not keys.is_shared_status(k))
    return firm or (is_failure(body.get("code")) and "message" in body and not named.payload)


def _tells_what_went_wrong(data: Any) -> bool:
    """Whether what stands under ``data`` holds nothing that was asked for."""
    return isinstance(data, Mapping) and not fields_of(data).payload


def _says_well(body: Mapping[str, Any], named: Fields) -> bool:
    return any(body[flag] is True for flag in named.flags) or body.get("status") in (
        "success",
        "ok",
        "succeeded",
    )


def _number(value: Any) -> Any:
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        return int(value)
    return value


def user_errors(body: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any] | None:
    """Return the object whose list of errors says that a write was refused (``userErrors`` of GraphQL), or None."""
    if partial.some_succeeded(body) or any(partial.is_note(body[name]) for name in fields_of(body).messages):
        return None
    for key, value in islice(body.items(), _LOOKED_AT):
        if isinstance(value, list) and value and isinstance(key, str) and keys.speaks_of_errors(key):
            said = value[0].values() if isinstance(value[0], Mapping) else value[:1]
            if any(isinstance(text, str) and " " in text for text in said):
                return {"errors": value}
    if depth < 3:
        for value in islice(body.values(), 8):
            if isinstance(value, Mapping):
                found = user_errors(value, depth + 1)
                if found is not None:
                    return found
    return None


_LOOKED_AT = 20


def _is_bad_status(status: str, body: Mapping[str, Any], named: Fields, call: ToolCall) -> bool:
    if status in keys.GOOGLE_STATUS:
        return True
    if ("id" in body and len(body) > 3) or (named.payload and keys.RECORD_TOOL.search(call.tool[:80])):
        return False  # a record with a status of its own
    low = status[:40].lower().replace("-", "_")
    explained = len(body) == 1 or bool(named.messages or named.said) or not {"data", "code"}.isdisjoint(body)
    if low in keys.FIRM_BAD and explained and not _is_record(named, call):
        return True
    bad = low in keys.BAD_STATUS or is_known_code(status)
    return bad and not named.payload and (len(body) <= 2 or not keys.RECORD_TOOL.search(call.tool[:80]))


def is_known_code(code: str) -> bool:
    """Whether a word is an error's code: known, and written as one."""
    if code.isdigit() or code[:40].lower() in keys.GOOD_CODES or len(code) > 60 or " " in code.strip():
        return False
    known = of_code(code)
    return known is not None and known.kind is not K.UNKNOWN and known.confidence >= CODE


def _has_payload(body: Mapping[str, Any], call: ToolCall) -> bool:
    """Whether the call went well, at least in part: data beside errors, a good status, a batch with successes."""
    data, errors = body.get("data"), body.get("errors", body.get("Errors"))
    if isinstance(data, Mapping | list) and data and (errors or body.get("error")):
        members = [*islice(data.values(), 20)] if isinstance(data, Mapping) else data[:20]
        return any(not is_blank(member) or type(member) in (str, tuple) for member in members)
    if call.effect is Effect.WRITE and isinstance(errors, list) and partial.some_succeeded(body):
        return True
    return _says_well(body, fields_of(body))


def _is_record(named: Fields, call: ToolCall) -> bool:
    """A record (of a job, a payment, a check) that failed is what was asked for, when the tool reads such records."""
    if any(name in ("valid", "is_valid", "passed") for name in named.payload):
        return True
    if call.effect is not Effect.WRITE and len(named.firm) >= 2 * _SMALL:
        return True  # a thing with a dozen properties, one of which is how it fares
    if call.effect is Effect.WRITE and not refusals.OWN.intersection(named.payload):
        return False  # what was to be made has no identity
    has_id = any(k in ("id", "name") or k.endswith(("_id", "Id", "_name")) for k in named.payload)
    return len(named.payload) >= (1 if has_id else 2) and keys.RECORD_TOOL.search(call.tool[:80]) is not None


def http_status(body: Mapping[str, Any]) -> int | None:
    """Return the failing HTTP status that a body carries as a field, or None."""
    for name in fields_of(body).statuses:
        value = _number(body[name])
        if is_failure(value) and (not keys.is_shared_status(name) or _is_answer(body, name)):
            return int(value)
    meta = body.get("ResponseMetadata")
    value = field(meta, "HTTPStatusCode") if isinstance(meta, Mapping) else None
    return value if type(value) is int and is_failure(value) else None


def _is_answer(body: Mapping[str, Any], name: str) -> bool:
    """Whether a body with a number under a common name looks like an HTTP answer rather than a record."""
    others = [k for k in body if k != name]
    errors = fields_of(body).errors
    known = sum(
        1 for k in others if isinstance(k, str) and (keys.is_trimming(k) or k in errors or keys.is_answer(k))
    )
    said, data = body.get("message"), body.get("data")
    if isinstance(said, str) and len(body) <= _SMALL and texts.of_error_text(said) is not None:
        return True
    return (
        (known > 0 or not others) and known * 2 >= len(others) and (not data or _tells_what_went_wrong(data))
    )


def _says_error(name: str, value: Any, body: Mapping[str, Any], named: Fields, call: ToolCall) -> bool:
    if value is True:
        return len(named.firm) <= _SMALL  # one fact of a record among many
    if not value:
        return False
    if isinstance(value, str):
        return value.strip().lower() not in keys.NO_ERROR
    if isinstance(value, int | float):
        return not keys.counts(name)
    if isinstance(value, Mapping):
        if keys.bare(name) == "errors" and named.payload:
            return False  # among other things it describes errors rather than reporting them
        return any(
            not is_blank(inner) and inner is not False and inner != 0 for inner in islice(value.values(), 20)
        )
    if isinstance(value, list):
        about_errors = keys.ERROR_TOOL.search(call.tool[:80]) is not None
        return "errorMessages" in body or not about_errors
    return True


def _is_message(body: Mapping[str, Any], named: Fields, call: ToolCall) -> bool:
    """A body of nothing but a message (and its trimmings), where the message is an error by itself."""
    writes = call.effect is Effect.WRITE
    if not writes and any(type(body[name]) is bool for name in named.payload):
        return False  # a question was answered, and the message says why
    if len(body) == 1:
        only, value = next(iter(body.items()))
        if isinstance(value, str) and keys.bare(only) in _ANSWERS:
            return plain.read(value, call.tool, writes=writes).chance >= plain.FAILED
        if isinstance(value, Mapping) and only not in named.errors:
            return not is_quiet(value) and tells_failure(value, call)
    if writes and refusals.are_sentences(body):
        return True
    said = [*islice(_words(body, named), 3)]
    if not said:
        return not any(body[name] for name in named.payload) and _is_coded(body, named)
    codes = [body[name] for name in named.codes if name in ("code", "type", "name")]
    if any(str(code)[:40].lower() in keys.GOOD_CODES for code in codes) or refusals.has_zeros(body, named):
        return False
    payload = [name for name in named.payload if not is_blank(body[name])]
    firm = any(name in named.firm for name in payload)
    coded = _is_coded(body, named) and not all(map(refusals.says_done, said)) and not is_entry(body, call)
    if not firm and coded:
        return True
    needed = MESSAGE if not payload else CLEAR if firm else NAMED
    if needed == CLEAR and (len(body) > _SMALL or keys.RECORD_TOOL.search(call.tool[:80])):
        return False
    return max(plain.read(text, "", writes=writes).chance for text in said) >= needed


_SMALL = 6


_ANSWERS = frozenset({"response", "result", "output", "answer", "return"})


def _words(body: Mapping[str, Any], named: Fields) -> Iterator[str]:
    for name in named.messages:
        if keys.bare(name) not in _NO_MESSAGE or not _NO_MESSAGE.issuperset(map(keys.bare, named.messages)):
            value = body[name]
            mild = (named.firm and keys.bare(name) in _MILD) or (name == "reason" and "status" in body)
            if isinstance(value, str) and value and not mild:
                yield value


def _is_coded(body: Mapping[str, Any], named: Fields) -> bool:
    """Whether a code beside a message is an error's."""
    names = (*named.codes, *(n for n in ("id", "ECODE", "subject") if n in body))
    return any(isinstance(code := body[name], str) and code and is_known_code(code) for name in names)
