"""Answers that refuse what was asked for: a service's own code and words and nothing else, lists of errors, writes not done.

The words need not be known. Services say ``{"code": 4002001, "message": ...}`` of what they did not do; of what they did
they give a code of success, words of success, or what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify import body_keys as keys
from btm.classify import texts
from btm.classify.finding import WORDS
from btm.classify.reading import is_blank
from btm.classify.rules import form
from btm.model import ErrorKind as K

_MOST = 12
"""Fields of an answer that can be no more than a refusal."""

_WIDEST, _FEW, _SENTENCE = 30, 6, 160
OWN = frozenset({"id", "name", "_id", "uuid", "jobs", "runs", "tests", "results", "items", "steps"})
"""Fields that what was made has, or what was asked for."""

_BAD_VERDICT = keys.words_of("bad_verdict")
_SUCCESS, _ABROAD, _UNDONE = (form("refusals", name) for name in ("success", "abroad", "undone"))
_IDLE = form("refusals", "idle")
_STOPPED = re.compile(
    r"fail|error|time[sd]? ?out|expired|could not|cannot|can't|unable|denied|refused|lost|invalid"
    r"|not (?:found|allowed|available)",
    re.IGNORECASE,
)
_OWN_CODE = re.compile(r"[A-Za-z]{1,12}[-_.]?\d{2,8}|\d{1,3}(?:\.\d{1,3}){1,2}")
_NUMBER = re.compile(r"-?[0-9]{1,12}")
_ZEROS = frozenset({"00", "0000", "00000", "000000"})
_FINE = frozenset({0, 1, 100, 1_000, 10_000, 20_000})
"""Numbers with which services say that all went well; 1 says either."""


def is_refusal(body: Mapping[str, Any], named: keys.Fields) -> bool:
    """Whether a body is a failing code and its words, and nothing else."""
    if not named.coded or len(body) > _MOST:
        return False
    codes = [body[name] for name in named.coded]
    if not any(map(_fails, codes)) or any(map(_says_well, codes)):
        return False
    said = words_of(body, named)
    if not any(" " in text.strip() or not text.isascii() for text in said) or any(map(_is_done, said)):
        return False
    return not any(
        not is_blank(body[name]) and name not in named.coded and name not in named.said for name in named.firm
    )


def has_zeros(body: Mapping[str, Any], named: keys.Fields) -> bool:
    """Whether a code is nothing but zeros (``00`` of payments), which one ``0`` alone may be that stands for no."""
    return any(body[name] in _ZEROS for name in named.coded if isinstance(body[name], str))


def says_well(body: Mapping[str, Any]) -> bool:
    """Whether a body says outright that all is well, by a flag or a code."""
    named = keys.fields_of(body)
    if any(body[flag] is True for flag in named.flags) or any(body[name] is False for name in named.errors):
        return True
    codes = [body[name] for name in (*named.statuses, *named.coded)]
    return any(type(code) is int and 200 <= code < 300 for code in codes) or has_zeros(body, named)


def is_confirmed(body: Mapping[str, Any]) -> bool:
    """Whether a body's words say that what was asked for is done, in English beside a code that says so, too."""
    named = keys.fields_of(body)
    well = any(_says_well(body[name]) for name in named.coded)
    return any(map(says_done if well else says_done_abroad, filter(_is_done, words_of(body, named))))


def is_refused_write(body: Mapping[str, Any], named: keys.Fields) -> bool:
    """Whether a write was not done, by a bad status, words of failure, errors of all its items or ``approved: false``."""
    made = bool(OWN.intersection(named.payload))
    if len(body) <= _WIDEST:
        verdicts = (body[name] for name in named.coded if isinstance(body[name], str))
        if (named.said or named.errors) and any(map(_says_bad, verdicts)):
            return not made
        if named.said and not made and _words_refuse(body, named):
            return True
    if len(body) == 1 and isinstance(only := next(iter(body.values())), list) and is_error_list(only):
        return True
    if len(named.firm) > _FEW or not any(body[flag] is False for flag in named.write_flags):
        return False
    return any(isinstance(body[k], str) and body[k] for k in (*named.messages, *named.errors, *named.codes))


def words_of(body: Mapping[str, Any], named: keys.Fields) -> list[str]:
    """Return what a body says beside its codes."""
    return [text for name in named.said if isinstance(text := body[name], str) and text.strip()]


def _words_refuse(body: Mapping[str, Any], named: keys.Fields) -> bool:
    """Whether what a service says beside a code that is none of success is a failure by its words (``Txn not found``)."""
    said = [text.strip() for text in words_of(body, named)]
    if any(map(_is_done, said)) or any(_says_well(body[name]) for name in named.coded):
        return False
    found = [texts.of_words(text) for text in said if len(text) <= _SENTENCE]
    return any(one is not None and one.kind is not K.UNKNOWN and one.confidence >= WORDS for one in found)


def _says_bad(status: str) -> bool:
    low = status[:40].lower().replace("-", "_")
    return low in keys.BAD_STATUS or low in _BAD_VERDICT


def says_done(text: str) -> bool:
    """Whether a message holds a word of success, in English or another language, and none that takes it back."""
    low = text[:200].lower()
    return (_SUCCESS.search(low) is not None and _UNDONE.search(low) is None) or says_done_abroad(text)


def _is_done(text: str) -> bool:
    """Whether a message says that something was done, and nothing that failed beside it: ``E-mail registrado inválido``."""
    return says_done(text) and texts.of_words(text) is None


def says_done_abroad(text: str) -> bool:
    """Whether a message says in another language than English that something was done."""
    low = text[:200].lower()
    return _ABROAD.search(low) is not None and _UNDONE.search(low) is None


def says_idle(text: str) -> bool:
    """Whether a text says that nothing was left to do (``Already up to date``), and nothing of a failure beside it."""
    rest = _IDLE.sub(" ", text)
    return rest != text and _STOPPED.search(rest) is None and texts.of_words(rest) is None


def _fails(code: Any) -> bool:
    if isinstance(code, str):
        code = code.strip()
        if _NUMBER.fullmatch(code) is None:
            return code[:40].lower() in keys.BAD_STATUS or _OWN_CODE.fullmatch(code) is not None
        code = int(code)
        return code not in _FINE  # a text of digits is a code of the service's own, and no HTTP status
    return type(code) is int and code not in _FINE and not 200 <= code < 300


def _says_well(code: Any) -> bool:
    return (
        code is True
        or (type(code) is int and (code == 0 or 200 <= code < 300))
        or (isinstance(code, str) and (code[:40].lower() in keys.GOOD_CODES or says_done(code[:40])))
    )


MOST_FIELDS = 20
_WHERE = frozenset(
    {"loc", "path", "field", "param", "parameter", "property", "pointer", "attribute", "instancepath"}
)
_WHAT = frozenset({"message", "msg", "detail", "reason", "description", "error", "errormessage"})

_STOPS = (".", "\u3002", "\uff01", "\u0964")


def is_validator_list(items: list[Any]) -> bool:
    """Whether a list is a validator's: what is wrong (``msg``) and where (``loc``), as FastAPI, zod and ajv say it."""
    if not items or not isinstance(items[0], Mapping) or len(items[0]) > 7:
        return False
    names = {keys.bare(name) for name in items[0] if isinstance(name, str)}
    return not names.isdisjoint(_WHERE) and not names.isdisjoint(_WHAT)


def is_error_list(items: list[Any]) -> bool:
    """Whether a whole list is errors: each with a message and a code of its own (Salesforce, Stripe's batches, zod)."""
    return 0 < len(items) <= 20 and all(
        isinstance(item, Mapping) and len(item) <= 7 and _is_error_item(item) for item in items
    )


def _is_error_item(item: Mapping[str, Any]) -> bool:
    told = {name: value for name, value in item.items() if isinstance(name, str) and value is not None}
    names = {keys.bare(name) for name in told}
    if told and all(keys.is_error(name) or keys.is_trimming(name) for name in told):
        return any(keys.is_error(name) and isinstance(value, str) and value for name, value in told.items())
    if names.isdisjoint(_WHAT) or any(told.get(name) in (0, "0") for name in told if keys.is_error(name)):
        return False
    return not names.isdisjoint(_ITEM_CODES) or ("code" in names and not names.isdisjoint(_WHERE))


_ITEM_CODES = frozenset({"errorcode", "statuscode"})


def are_sentences(body: Mapping[str, Any]) -> bool:
    """Whether every field holds a list of one to three sentences: how a write's arguments are refused in any language."""
    return 0 < len(body) <= MOST_FIELDS and all(
        isinstance(said, list)
        and 0 < len(said) <= 3
        and all(
            isinstance(c, str) and c.endswith(_STOPS) and " " in c and not c[:1].islower() and len(c) < 200
            for c in said
        )
        for said in body.values()
    )
