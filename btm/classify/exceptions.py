"""Exceptions, of libraries that are never imported: by type name, by the attributes libraries share, by text."""

from __future__ import annotations

import re
from functools import lru_cache

from btm.classify import retry_after, texts, types
from btm.classify.codes import of_code
from btm.classify.exception_facts import Facts, codes_of, status_of, wait_of
from btm.classify.finding import DEFAULT, EXACT, NONE, WEAK, Finding, surest
from btm.classify.python_errors import of_python_error
from btm.classify.reading import chain, ends, message, qualified
from btm.classify.status import kind_of, of_status
from btm.model import ErrorKind as K
from btm.model import ToolCall

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
    K.AUTH_ERROR: re.compile(r"certificate|x509|credential", re.IGNORECASE),
    K.TIMEOUT: re.compile(r"timed out|etimedout|errno 110", re.IGNORECASE),
    K.INVALID_ARGUMENTS: re.compile(r"argument|parameter|tool call", re.IGNORECASE),
}
_CONTROL = frozenset({"CancelledError", "KeyboardInterrupt", "GeneratorExit", "SystemExit"})


def of_exception(error: BaseException, call: ToolCall, now: float | None) -> Finding:
    """Return what an exception and everything it wraps say; UNKNOWN with a low confidence when they say nothing."""
    best: Finding | None = None
    wait: float | None = None
    unreached = False
    text: str | None = None
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
        name = qualified(type(error))[1]
        found = Finding(K.UNKNOWN, f"type:{name}", f"{name} says nothing about its cause", NONE, detail=text)
        return found._replace(retry_after_s=retry_after.in_text(text))
    if best.kind in _TRANSPORT and unreached:
        best = best._replace(reached=False)
    return best._replace(detail=text or best.detail, retry_after_s=wait)


def _of_one(error: BaseException, known: Facts, call: ToolCall, now: float | None) -> Finding | None:
    root, name = qualified(type(error))
    if name in _CONTROL:
        return None
    text = message(error)
    status = status_of(known, root)
    wait = wait_of(known, now, status)
    special = of_python_error(error, name, text, call)
    words = None if name in _SAYS_NOTHING and " " not in text.strip("'\" ") else _words_of(known, name, text)
    typed = _by_type(type(error))
    codes = surest(codes_of(error, known, root, text)) if known or text[:1] == "(" else None
    if status is not None:
        hint = codes if codes is not None and (codes.confidence > 0.8 or words is None) else words
        if hint is not None and words is not None and hint.confidence < words.confidence:
            hint = words
        if (
            typed is not None
            and typed.confidence >= EXACT
            and typed.kind is not kind_of(status)
            and status in (400, 500)
        ):
            hint = surest((codes, typed, words))
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
    needed = _CERTAIN_WORDS.get(words.kind)
    if words.confidence <= WEAK or (needed is not None and not needed.search(text)):
        return typed
    return words._replace(confidence=typed.confidence)


def _by_type(raised: type) -> Finding | None:
    return _known_by_type(raised)  # typed as any class: mypy takes exceptions' classes for unhashable


@lru_cache(maxsize=1_024)
def _known_by_type(raised: type) -> Finding | None:
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


def _words_of(known: Facts, name: str, text: str) -> Finding | None:
    if name == "CalledProcessError":
        output = known.get("stderr") or known.get("output")
        text = (
            ends(output)
            if isinstance(output, str)
            else output[:4_000].decode("utf-8", "replace")
            if isinstance(output, bytes)
            else ""
        )
    if name in ("ValueError", "TypeError", "AttributeError") and not text.strip():
        return None
    found = texts.missing(texts.of_error_text(text)) if text else None
    if found is None and name == "ValueError" and text:
        return Finding(
            K.INVALID_ARGUMENTS,
            "type:ValueError",
            "a ValueError that says nothing more",
            DEFAULT,
            reached=False,
        )
    return found
