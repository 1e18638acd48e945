"""Codes that machines read: HTTP statuses, names (Slack, Stripe, AWS, Google, gRPC), numbers (SQLSTATE, errno, SMTP).

A name is read without case and punctuation, so that ``TOO_MANY_REQUESTS``, ``tooManyRequests`` and
``TooManyRequestsException`` are one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from btm.classify.finding import CODE, EXACT, STATUS, WEAK, Finding, names
from btm.classify.rules import form, table
from btm.model import ErrorKind as K

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
    known = of_number("http", status)
    if known is not None:
        return known.kind
    return K.INVALID_ARGUMENTS if status < 500 else K.SERVER_ERROR


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
    if hint.kind not in _REFINED.get(status, ()):
        return False
    if status == 402 and hint.kind is K.PRECONDITION_FAILED:
        # A declined card; "insufficient balance" is the account's own.
        return hint.rule.startswith(("code:", "text:precondition_failed:card"))
    # Loose words are not enough to overrule 400's plain meaning; a code or a firm phrase is.
    return hint.confidence > WEAK


def status_in(text: str) -> int | None:
    """Return the failing HTTP status that an error text names ("status code 503", "404 Client Error"), if any."""
    if not _DIGITS.search(text):
        return None
    found = _FIRST.match(text) or _SIGN.search(text)
    return int(found.group(1)) if found else None


@cache
def _named() -> dict[str, K]:
    tables = (table("cloud_codes"), table("codes")["codes"])
    return {code: K(kind) for known in tables for kind, listed in known.items() for code in listed.split()}


@cache
def _affixes(which: str) -> tuple[tuple[str, K], ...]:
    return tuple((affix, K(kind)) for affix, kind in table("codes")[which].items())


@cache
def _set(which: str) -> frozenset[str]:
    return names(table("codes")["sets"][which])


_PUNCTUATION = re.compile(r"[\W_]+")
_ABOUT_ACCESS = re.compile(
    r"(?:invalid|missing|expired|bad|no|revoked|malformed)\w{0,12}(?:auth|token|credential|apikey"
    r"|(?:user|license|licence|account|client|app|access)_?key|signature|session|password)"
)
_SUFFIX = re.compile(r"(?:exception|error|err|fault|code)$")


@lru_cache(maxsize=2_048)
def of_code(code: str) -> Finding | None:
    """Return what a textual code (at most 80 characters of it are read) means, or None when it is not known."""
    key = _PUNCTUATION.sub("", code[:80].lower())
    stem = _SUFFIX.sub("", key)
    last = _PUNCTUATION.sub("", code[:80].lower().rsplit(".", 1)[-1])
    rule, reason = f"code:{code[:40]}", f"error code {code[:40]}"
    for name in (key, stem, last, _SUFFIX.sub("", last)):
        kind = _named().get(name)
        if kind is not None:
            sure = 0.3 if kind is K.UNKNOWN else 0.7 if name in _set("broad") else EXACT
            return Finding(kind, rule, reason, sure, reached=name not in _set("not_reached"))
    for ending, kind in _affixes("endings"):
        if stem.endswith(ending):
            return Finding(kind, rule, reason, 0.8 if ending.endswith("required") else CODE)
    if _ABOUT_ACCESS.search(stem):
        return Finding(K.AUTH_ERROR, rule, reason, CODE - 0.01)
    for start, kind in _affixes("starts"):
        if stem.startswith(start):
            return Finding(kind, rule, reason, CODE - 0.01)
    return None


@cache
def _listed(sort: str) -> Mapping[str, Finding]:
    known, found = table("numbers")[sort], {}
    maybe = known["maybe_done"].split()
    for kind in known.keys() & set(K):
        for number, _, own in (entry.partition(":") for entry in known[kind].split()):
            sure, reason = float(own or known["sure"]), f"{known['called']} {number}"
            reached = number in maybe or maybe == ["all"]
            found[number] = Finding(K(kind), f"{sort}:{number}", reason, sure, reached=reached)
    return found


def of_number(sort: str, number: object) -> Finding | None:
    """Return what a number means in a table of ``data/numbers.toml`` (``mysql``, ``exit``, ``smtp``, ...), or None."""
    if type(number) is int and abs(number) < _MOST_DIGITS:
        number = str(number)
    return _listed(sort).get(number) if type(number) is str else None


_MOST_DIGITS = 100_000


def of_sqlstate(state: str) -> Finding | None:
    """Return what a SQLSTATE means, by itself or by its class."""
    found = of_number("sqlstate", state) or of_number("sqlstate", state[:2])
    return found and found._replace(rule=f"sqlstate:{state}", reason=f"SQLSTATE {state}")


def of_reply(code: int) -> Finding | None:
    """Return what a three-digit reply of an unnamed protocol means: SMTP's where only it has the number, else as HTTP's."""
    return of_number("smtp", code) or of_status(code, None)
