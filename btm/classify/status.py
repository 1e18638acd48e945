"""HTTP status codes by what they mean for recovery, not only by their number."""

from __future__ import annotations

import re
from functools import cache

from btm.classify import rules
from btm.classify.finding import CODE, STATUS, WEAK, Finding
from btm.classify.rules import form
from btm.model import ErrorKind as K


@cache
def _kinds() -> dict[int, K]:
    listed = rules.table("numbers")["http"].items()
    return {int(code): K(kind) for kind, codes in listed for code in codes.split()}


# Which kinds a code or a sentence in the same answer may make of a status.
_ANY = frozenset(K) - {K.UNKNOWN}
_REFINED: dict[int, frozenset[K]] = {
    400: _ANY - {K.MALFORMED, K.EMPTY_RESULT},
    401: frozenset({K.AUTH_ERROR}),
    402: frozenset({K.PRECONDITION_FAILED, K.RATE_LIMIT}),
    403: frozenset({K.RATE_LIMIT, K.QUOTA_EXHAUSTED}),
    404: frozenset({K.SCHEMA_DRIFT, K.UNKNOWN_TOOL}),
    405: frozenset({K.PRECONDITION_FAILED, K.AUTH_ERROR}),
    409: frozenset({K.PRECONDITION_FAILED}),
    422: frozenset({K.PRECONDITION_FAILED, K.NOT_FOUND, K.SCHEMA_DRIFT, K.QUOTA_EXHAUSTED}),
    424: frozenset({K.UNAVAILABLE, K.TIMEOUT}),
    429: frozenset({K.QUOTA_EXHAUSTED}),
    503: frozenset({K.RATE_LIMIT, K.QUOTA_EXHAUSTED}),
}

_DIGITS = re.compile(r"(?<![\d_])[45]\d\d(?!\w)")  # the cheap test that most texts fail: ids hold digits, too
_SIGN = form("status", "sign")
_FIRST = form("status", "first")


def is_failure(status: object) -> bool:
    """Whether ``status`` is an HTTP status that says that a request failed."""
    return type(status) is int and 400 <= status <= 599


def kind_of(status: int) -> K:
    """Return the kind that a failing status (400 to 599) means when nothing else is known."""
    return _kinds().get(status) or (K.INVALID_ARGUMENTS if status < 500 else K.SERVER_ERROR)


def of_status(status: int, hint: Finding | None) -> Finding:
    """Return what ``status`` means beside ``hint``, what the code or words of the same answer say.

    A code may turn 400 into anything; words may only do what servers really mean by them: 429 with an
    insufficient quota, 403 for a rate limit, 404 for a vanished route.
    """
    kind = kind_of(status)
    if hint is not None and hint.kind is not kind and _may_refine(status, hint):
        return hint._replace(status_code=status, confidence=max(hint.confidence, STATUS - 0.02))
    reached = hint.reached if hint is not None and hint.kind is kind else True
    return Finding(
        kind, f"status:{status}", f"HTTP status {status}", STATUS, status_code=status, reached=reached
    )


def _may_refine(status: int, hint: Finding) -> bool:
    allowed = _REFINED.get(status, frozenset())
    if hint.kind not in allowed:
        return False
    if status == 400 and hint.kind is K.SERVER_ERROR:
        return hint.rule.startswith("code:")
    if status == 402 and hint.kind is K.PRECONDITION_FAILED:
        # A declined card; "insufficient balance" is the account's own.
        return hint.rule.startswith(("code:", "text:precondition_failed:card"))
    # Loose words are not enough to overrule 400's plain meaning; a code or a firm phrase is.
    return hint.confidence >= CODE or hint.confidence > WEAK or status in (403, 429)


def status_in(text: str) -> int | None:
    """Return the failing HTTP status that an error text names ("status code 503", "404 Client Error"), if any."""
    if not _DIGITS.search(text):
        return None
    found = _FIRST.match(text) or _SIGN.search(text)
    return int(found.group(1)) if found else None
