"""Exceptions, of libraries that are never imported: by type name, by the attributes libraries share, by text."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from btm.classify import retry_after, texts, types
from btm.classify.bodies import of_failed_value
from btm.classify.codes import is_failure, of_code, of_number, of_sqlstate, of_status
from btm.classify.finding import DEFAULT, EXACT, NONE, WEAK, Finding, names, surest
from btm.classify.languages import is_foreign
from btm.classify.parsing import parsed
from btm.classify.reading import TEXT_LIMIT, attribute, chain, ends, field, message, qualified
from btm.classify.types import of_python_error
from btm.model import ErrorKind as K
from btm.model import ToolCall
from btm.support.untrusted import text_of

_Facts = Mapping[str, Any]
"""The attributes that libraries share (`btm.classify.reading.FACTS`), as far as an exception has them."""

DEEPER = 0.04
"""What each level of wrapping takes from the confidence of what is found there."""

_TRANSPORT = frozenset({K.TIMEOUT, K.UNAVAILABLE})
_SAYS_NOTHING = frozenset({"KeyError", "StopIteration", "CalledProcessError", "SMTPRecipientsRefused"})
# What a text may make of a type that is sure of itself.
_REFINES_TYPE: dict[K, frozenset[K]] = {
    K.RATE_LIMIT: frozenset({K.QUOTA_EXHAUSTED}),
    K.AUTH_ERROR: frozenset({K.RATE_LIMIT, K.QUOTA_EXHAUSTED}),
    K.NOT_FOUND: frozenset({K.SCHEMA_DRIFT, K.UNKNOWN_TOOL}),
    K.UNAVAILABLE: frozenset({K.AUTH_ERROR, K.TIMEOUT, K.RATE_LIMIT}),
    K.MALFORMED: frozenset({K.INVALID_ARGUMENTS}),
    K.SERVER_ERROR: frozenset({K.UNAVAILABLE, K.RATE_LIMIT}),
    K.INVALID_ARGUMENTS: frozenset({K.SCHEMA_DRIFT}),
}
_CERTAIN_WORDS: dict[K, re.Pattern[str]] = {  # for the pairs in which a loose word is not enough
    K.TIMEOUT: re.compile(r"timed out|etimedout|errno 110", re.IGNORECASE),
    K.INVALID_ARGUMENTS: re.compile(r"argument|parameter|tool call", re.IGNORECASE),
}
_STATUS_NAMES = ("status_code", "http_status", "status", "http_code", "code")
_TOO_MANY_REQUESTS = 429
_VAGUE = (400, 500)
_CONTROL = frozenset({"CancelledError", "KeyboardInterrupt", "GeneratorExit", "SystemExit"})


def of_exception(error: BaseException, call: ToolCall, now: float | None) -> Finding:
    """Return what an exception and everything it wraps say; UNKNOWN with a low confidence when they say nothing."""
    best: Finding | None = None
    wait: float | None = None
    unreached, text = False, None
    for depth, current, known in chain(error):
        found = _of_one(current, known, call, now)
        if found is None:
            continue
        if depth == 0:
            text = found.detail
        wait = found.retry_after_s if wait is None else wait
        unreached = unreached or (found.kind in _TRANSPORT and not found.reached)
        found = found._replace(confidence=found.confidence - DEEPER * depth)
        if best is None or found.confidence > best.confidence:
            best = found
    text = message(error) if text is None else text
    if best is None:
        name = type(error).__name__[:80]
        found = Finding(K.UNKNOWN, f"type:{name}", f"{name} says nothing about its cause", NONE, detail=text)
        return found._replace(retry_after_s=retry_after.in_text(text))
    if best.kind in _TRANSPORT and unreached:
        best = best._replace(reached=False)
    return best._replace(detail=text or best.detail, retry_after_s=wait)


def _of_one(error: BaseException, known: _Facts, call: ToolCall, now: float | None) -> Finding | None:
    kind: type = type(error)  # as any class: mypy takes exceptions' classes for unhashable
    root, name = qualified(kind)
    if name in _CONTROL:
        return None
    text = message(error)
    status = _status_of(known, root)
    wait = _wait_of(known, now, status)
    special = of_python_error(error, name, text, call)
    words = None if name in _SAYS_NOTHING and " " not in text.strip("'\" ") else _words_of(known, name, text)
    typed = _by_type(kind)
    numbered = known or isinstance(error, OSError) or text[:1] == "("
    codes = surest(_codes_of(error, known, root, name, text)) if numbered else None
    if status is not None:
        sure = typed is not None and typed.confidence >= EXACT and status in _VAGUE
        hint = surest((codes, typed if sure else None, words))
        found: Finding | None = of_status(status, hint)
    else:
        typed = _refined(typed, words, text)
        said_nothing = words is not None and words.kind is K.UNKNOWN and codes is not None
        found = surest((codes, special, typed, None if said_nothing else words))
    if found is None:
        return None
    wait = wait if wait is not None else words.retry_after_s if words is not None else None
    return texts.rate_or_quota(found._replace(retry_after_s=wait, detail=text))


def _refined(typed: Finding | None, words: Finding | None, text: str) -> Finding | None:
    if typed is None or words is None or words.kind not in _REFINES_TYPE.get(typed.kind, ()):
        return typed
    needed = None if is_foreign(words) else _CERTAIN_WORDS.get(words.kind)
    if words.confidence <= WEAK or (needed is not None and not needed.search(text)):
        return typed
    return words._replace(confidence=typed.confidence)


@lru_cache(maxsize=1_024)
def _by_type(raised: type) -> Finding | None:
    loose: Finding | None = None
    for kind in raised.__mro__[:-1]:
        root, name = qualified(kind)
        if name in ("Exception", "BaseException"):
            break
        known = types.known_type(name, root)
        if known is None:
            said = of_code(name) or texts.phrase_in(types.name_as_words(name))
            if said is not None and said.confidence > WEAK and said.kind is not K.UNKNOWN:
                return said._replace(
                    confidence=0.75, rule=f"type:{name}", reason=f"the type is called {name}"
                )
            continue
        if known.kind is K.UNKNOWN:
            continue
        found = Finding(known.kind, f"type:{name}", f"{root}.{name}", known.sure, reached=known.reached)
        if known.sure > DEFAULT:
            return found
        loose = loose or found
    return loose


def _words_of(known: _Facts, name: str, text: str) -> Finding | None:
    if name == "CalledProcessError":
        output = known.get("stderr") or known.get("output")
        text = ends(output) if isinstance(output, str) else text_of(output or "", TEXT_LIMIT)
    if name in ("ValueError", "TypeError", "AttributeError") and not text.strip():
        return None
    found = texts.missing(texts.of_error_text(text)) if text else None
    if found is None and name == "ValueError" and text:
        reason = "a ValueError that says nothing more"
        return Finding(K.INVALID_ARGUMENTS, "type:ValueError", reason, DEFAULT, reached=False)
    return found


# -- what an exception carries for programs to read ------------------------------------------------------------------


def _status_of(known: _Facts, root: str) -> int | None:
    """Return the failing HTTP status that an exception carries, or None."""
    if not known:
        return None
    for name in _STATUS_NAMES:
        value = known.get(name)
        if type(value) is int and is_failure(value) and not (name == "code" and root in ("pymongo", "xml")):
            return value
    response = known.get("response", known.get("resp"))
    if response is None:
        return None
    value = field(response, "status_code", "status", "HTTPStatusCode")
    if value is None and isinstance(response, Mapping):
        value = field(field(response, "ResponseMetadata"), "HTTPStatusCode")

    return value if type(value) is int and is_failure(value) else None


def _wait_of(known: _Facts, now: float | None, status: int | None = None) -> float | None:
    """Return how long the service asks to be left alone, in seconds, or None. ``status`` is the answer's."""
    if not known:
        return None
    direct = retry_after.seconds_of(known.get("retry_after"), now)
    if direct is not None:
        return direct
    response = known.get("response")
    headers = (
        known.get("headers")
        or field(response, "headers")
        or field(field(response, "ResponseMetadata"), "HTTPHeaders")
    )
    if headers is not None and attribute(headers, "get") is not None:
        try:
            asked = retry_after.in_headers(headers, now, limited=status == _TOO_MANY_REQUESTS)
        except Exception:  # noqa: BLE001 - a foreign mapping may raise from anything
            asked = None
        if asked is not None:
            return asked
    body = known.get("body")
    return retry_after.in_body(body, now) if isinstance(body, dict) else None


def _codes_of(
    error: BaseException, known: _Facts, root: str, name: str, text: str
) -> Iterator[Finding | None]:
    """Everything machine-readable that the exception carries, the surest sort first."""
    state = known.get("sqlstate", known.get("pgcode"))
    if isinstance(state, str) and len(state) == 5:
        yield of_sqlstate(state)
    reply = _REPLY.search(text) if name in _REPLIES else None
    numbers = {"exit": known.get("returncode"), "smtp": reply[1] if reply else known.get("smtp_code")}
    if "losed" in name:
        numbers["websocket"] = known.get("code")
    if isinstance(error, OSError) and root == "builtins" and type(error.errno) is int:
        yield of_number("errno", errno.errorcode.get(error.errno))
    yield from (of_number(sort, number) for sort, number in numbers.items())
    yield _by_code(known.get("code"), root)
    yield _in_answer(known.get("response"))


_REPLIES = names("SMTPRecipientsRefused SMTPDataError SMTPSenderRefused error_perm error_temp")
_REPLY = re.compile(r"(?:\(|^)([45]\d\d)\b")


def _by_code(code: Any, root: str) -> Finding | None:
    """Return what an exception's ``code`` says: a text, a number, an enumeration's member, or a method that tells one."""
    if callable(code):
        code = _called(code)
    code = field(code, "name") if not isinstance(code, str | int | None) else code
    if isinstance(code, str) and code and " " not in code.strip():
        return of_code(code.removeprefix("StatusCode."))
    return of_number("grpc" if root == "grpc" else "json-rpc", code)


def _in_answer(response: Any) -> Finding | None:
    """What the body of an answer says, as far as the library has read it already: nothing is fetched here."""
    content = attribute(response, "_content")
    if isinstance(content, bytes):
        content = content[:TEXT_LIMIT].decode("utf-8", "replace")
    if not isinstance(content, str) or content[:1] not in ("{", "["):
        return None
    value = parsed(content[:TEXT_LIMIT])
    return of_failed_value(value, ToolCall("")) if isinstance(value, dict) else None


def _called(code: Any) -> Any:
    try:
        return code()
    except Exception:  # noqa: BLE001 - grpc's code() belongs to the library; without it the text remains
        return None
