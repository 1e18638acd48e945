"""Codes that machines read: HTTP statuses, names (Slack, Stripe, AWS, Google, gRPC), numbers (SQLSTATE, errno, SMTP).

A name is read without case and punctuation, so that ``TOO_MANY_REQUESTS``, ``tooManyRequests`` and
``TooManyRequestsException`` are one.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from functools import cache, lru_cache

from btm.classify import languages, rules
from btm.classify.finding import CODE, EXACT, STATUS, WEAK, Finding, names
from btm.classify.rules import form, table
from btm.model import ErrorKind as K


@cache
def _statuses() -> dict[int, K]:
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
    return _statuses().get(status) or (K.INVALID_ARGUMENTS if status < 500 else K.SERVER_ERROR)


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


@cache
def _named() -> dict[str, K]:
    found = {code: K(kind) for kind, listed in table("cloud_codes").items() for code in listed.split()}
    return found | {
        code: K(kind) for kind, listed in table("codes")["codes"].items() for code in listed.split()
    }


def bare(code: str) -> str:
    """Return a code without case and punctuation and the ending that says that it is one."""
    return _SUFFIX.sub("", _PUNCTUATION.sub("", code[:80].lower()))


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


@lru_cache(maxsize=64)
def grpc_kind(number: int) -> K | None:
    """Return the kind that a gRPC status number means, or None for OK and unknown numbers."""
    kinds = table("codes")["grpc"]["kinds"].split()
    return K(kinds[number]) if 0 < number < len(kinds) else None


@lru_cache(maxsize=2_048)
def of_code(code: str) -> Finding | None:
    """Return what a textual code (at most 80 characters of it are read) means, or None when it is not known."""
    key = _PUNCTUATION.sub("", code[:80].lower())
    stem = _SUFFIX.sub("", key)
    last = _PUNCTUATION.sub("", code[:80].lower().rsplit(".", 1)[-1])
    for name in (key, stem, last, _SUFFIX.sub("", last)):
        kind = _named().get(name)
        if kind is not None:
            sure = 0.3 if kind is K.UNKNOWN else 0.7 if name in _set("broad") else EXACT
            return Finding(
                kind,
                f"code:{code[:40]}",
                f"error code {code[:40]}",
                sure,
                reached=name not in _set("not_reached"),
            )
    for ending, kind in _affixes("endings"):
        if stem.endswith(ending):
            sure = 0.8 if ending.endswith("required") else CODE
            return Finding(kind, f"code:{code[:40]}", f"error code {code[:40]}", sure)
    if _ABOUT_ACCESS.search(stem):
        return Finding(K.AUTH_ERROR, f"code:{code[:40]}", f"error code {code[:40]}", CODE - 0.01)
    for start, kind in _affixes("starts"):
        if stem.startswith(start):
            return Finding(kind, f"code:{code[:40]}", f"error code {code[:40]}", CODE - 0.01)
    return None


def of_json_rpc(code: int) -> Finding | None:
    """Return what a JSON-RPC or MCP error number means; its message may still say something surer."""
    named = table("codes")["json_rpc"].get(str(code))
    kind = None if named is None else K(named)
    if kind is not None:
        # -32602 is also what servers answer for an unknown tool, so that words go first.
        sure = WEAK if code == -32602 else 0.8
        return Finding(kind, f"json-rpc:{code}", f"JSON-RPC error {code}", sure)
    if -32099 <= code <= -32000:
        return Finding(K.SERVER_ERROR, f"json-rpc:{code}", f"JSON-RPC server error {code}", 0.4)
    return None


@cache
def _kinds(table: str) -> Mapping[str, K]:
    """Return the kind of each number or name in a table of ``data/numbers.toml``."""
    listed = rules.table("numbers")[table].items()
    return {code: K(kind) for kind, codes in listed if kind in set(K) for code in codes.split()}


@cache
def _maybe_done(table: str) -> frozenset[str]:
    return names(rules.table("numbers")[table]["maybe_done"])


@cache
def _sqlstates() -> Mapping[str, tuple[K, bool]]:
    """Return the kind of each class and code, and whether the statement may have been carried out."""
    listed = rules.table("numbers")["sqlstate"].items()
    return {
        code: (K(kind.removesuffix("_maybe")), kind.endswith("_maybe"))
        for kind, codes in listed
        for code in codes.split()
    }


_TIMEOUT_WORDS = re.compile(
    r"time-?out|timed out|タイムアウト|超时|zeitüberschreitung|tiempo de espera|délai", re.IGNORECASE
)
_REFUSED = frozenset({K.PRECONDITION_FAILED, K.INVALID_ARGUMENTS, K.AUTH_ERROR, K.NOT_FOUND})


@cache
def _strerrors() -> Mapping[str, int]:
    """Return the number of each of the system's error messages, in lower case: how C programs end theirs."""
    return {os.strerror(number).lower(): number for number in errno.errorcode}


def of_strerror(text: str) -> Finding | None:
    """Return what one of the system's own error messages ("is a directory") means, or None for any other text."""
    number = _strerrors().get(text.rstrip(".\r\n ")) if len(text) < 60 else None
    return of_errno(number) if number is not None else None


def of_sqlstate(state: str, text: str) -> Finding | None:
    """Return what a SQLSTATE means; ``text`` tells a statement timeout from a cancelled query."""
    found = _sqlstates().get(state) or _sqlstates().get(state[:2])
    if found is None:
        return None
    kind, reached = found
    if state == "55P03" and _is_timeout(text):
        kind = K.TIMEOUT
    if state == "57014" and not _is_timeout(text):
        kind = K.UNKNOWN if text else K.TIMEOUT
    sure = 0.7 if state in ("P0001", "42000", "HY000") else EXACT
    return Finding(kind, f"sqlstate:{state}", f"SQLSTATE {state}", sure, reached=reached)


def _is_timeout(text: str) -> bool:
    if _TIMEOUT_WORDS.search(text):
        return True
    said = languages.find(text.lower())
    return said is not None and said.kind is K.TIMEOUT


_CLOSED = re.compile(r"(?:received|sent|code[ =:]{1,3}|closed? with(?: code)?:?) ?\(?([134]\d{3})\b")


def of_websocket(code: int) -> Finding | None:
    """Return what a WebSocket's close code means."""
    kind = _kinds("websocket").get(str(code))
    return None if kind is None else Finding(kind, f"websocket:{code}", f"close code {code}", 0.98)


def websocket_in(text: str) -> Finding | None:
    """Return what the close code in a text ("received 1011 (internal error)") means."""
    found = _CLOSED.search(text[:300])
    return of_websocket(int(found.group(1))) if found else None


def of_curl(code: int) -> Finding | None:
    """Return what an error number of libcurl means."""
    kind = _kinds("curl").get(str(code))
    return (
        None
        if kind is None
        else Finding(kind, f"curl:{code}", f"curl error {code}", CODE, reached=code not in (6, 7))
    )


def of_mysql(code: int) -> Finding | None:
    """Return what a MySQL or MariaDB error number means."""
    kind = _kinds("mysql").get(str(code))
    if kind is None:
        return None
    return Finding(
        kind, f"mysql:{code}", f"MySQL error {code}", EXACT, reached=str(code) in _maybe_done("mysql")
    )


@cache
def _sqlite() -> Mapping[str, Finding]:
    found = {}
    for kind, listed in rules.table("numbers")["sqlite"].items():
        for name, _, sure in (entry.partition(":") for entry in listed.split()):
            reason = f"SQLite error {name}"
            found[name] = Finding(K(kind), f"sqlite:{name}", reason, float(sure), reached=name == "IOERR")
    return found


def of_sqlite(name: str) -> Finding | None:
    """Return what a result code of SQLite (``BUSY``) means."""
    return _sqlite().get(name)


def of_mongo(code: int) -> Finding | None:
    """Return what a MongoDB server error number means."""
    kind = _kinds("mongodb").get(str(code))
    if kind is None:
        return None
    return Finding(kind, f"mongodb:{code}", f"MongoDB error {code}", CODE, reached=kind not in _REFUSED)


def of_errno(number: int) -> Finding | None:
    """Return what an ``errno`` means; the negative ones are those of ``getaddrinfo``."""
    if -20 < number < 0:
        # EAI_NONAME, EAI_AGAIN and their like: the name did not resolve, nothing was sent.
        return Finding(
            K.UNAVAILABLE, f"errno:{number}", "the host's name could not be resolved", EXACT, reached=False
        )
    name = errno.errorcode.get(number, str(number))
    kind = _kinds("errno").get({"EWOULDBLOCK": "EAGAIN", "ENOTSUP": "EOPNOTSUPP"}.get(name, name))
    if kind is None:
        return None
    return Finding(kind, f"errno:{name}", f"errno {name}", EXACT, reached=name in _maybe_done("errno"))


def of_exit_code(code: int) -> Finding | None:
    """Return what an exit code of a command means by itself: 124, 126, 127 and signals; None for the others.

    Exit codes above 128 (or negative, as Python's subprocess reports them) are signals.
    """
    signal = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    if code == 124:
        return Finding(K.TIMEOUT, "exit:124", "exit code 124 of timeout(1)", CODE)
    if code == 126:
        return Finding(
            K.AUTH_ERROR, "exit:126", "exit code 126: found, but may not be executed", 0.8, reached=False
        )
    if code == 127:
        return Finding(K.NOT_FOUND, "exit:127", "exit code 127: command not found", CODE, reached=False)
    if signal == 14:
        return Finding(K.TIMEOUT, f"exit:{code}", "ended by SIGALRM", 0.8)
    if signal in (4, 6, 7, 8, 9, 11):
        return Finding(K.SERVER_ERROR, f"exit:{code}", f"ended by signal {signal}", CODE)
    return None


_MAIL = frozenset({421, 450, 451, 452, 454, 455, 530, 534, 535, 538, 550, 551, 552, 553, 554, 555, 556})


def of_reply(code: int, text: str) -> Finding | None:
    """Return what a three-digit reply of an unnamed protocol means: SMTP's where only it has the number, else as HTTP's."""
    return of_smtp(code, text) if code in _MAIL else of_status(code, None)


def of_smtp(code: int, text: str) -> Finding | None:
    """Return what an SMTP (or FTP) reply means, with the enhanced status code in ``text`` where there is one."""
    if not 400 <= code <= 599:
        return None
    enhanced = re.search(r"\b[45]\.(\d)\.(\d{1,3})\b", text[:300])
    rule, reason = f"smtp:{code}", f"SMTP reply {code}"
    if enhanced and enhanced.group(1) == "7" and code >= 500:
        return Finding(K.AUTH_ERROR, rule, reason, CODE, reached=False)
    if code in (530, 534, 535, 538):
        return Finding(K.AUTH_ERROR, rule, reason, EXACT, reached=False)
    if code in (550, 551) and not (enhanced and enhanced.group(1) in "23"):
        return Finding(K.NOT_FOUND, rule, reason, STATUS, reached=False)
    if code in (552, 452) and (code == 552 or (enhanced and enhanced.group(2) in ("2", "3"))):
        too_big = "size" in text.lower() or "5.3.4" in text
        return Finding(
            K.INVALID_ARGUMENTS if too_big else K.QUOTA_EXHAUSTED, rule, reason, WEAK, reached=False
        )
    if code < 500:
        # 421 closes the connection, and may come after the message was taken.
        return Finding(K.UNAVAILABLE, rule, reason, STATUS, reached=code == 421)
    if code in (500, 501, 502, 503, 504, 553, 555):
        return Finding(K.INVALID_ARGUMENTS, rule, reason, STATUS, reached=False)
    return Finding(K.PRECONDITION_FAILED, rule, reason, WEAK, reached=False)
