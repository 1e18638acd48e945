"""The field names and words by which JSON answers say how a request went (``data/keys.toml``).

A name is read without case and punctuation, so that ``errorMessage``, ``error_message`` and ``Error Message`` are one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from btm.classify.keys import snake
from btm.classify.rules import form, table
from btm.support.process_state import kept


def words_of(name: str) -> frozenset[str]:
    """Return a list of words of ``data/keys.toml`` as it stands."""
    return frozenset(_listed(name))


def _listed(name: str) -> tuple[str, ...]:
    text: str = table("keys")[name]
    return tuple(text.split(" | ") if " | " in text else text.split())


def bare(name: str) -> str:
    """Return a field's name without case and punctuation, at most 64 characters of it."""
    return _bare(name[:64])


# What is kept is cut before: names are data, and may be as long as their author likes.
@lru_cache(maxsize=4_096)
def _bare(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


@cache
def _ranks(name: str) -> Mapping[str, int]:
    """Return the place of each name in its list: the first that is there is read."""
    return {key: rank for rank, key in reversed([*enumerate(map(bare, _listed(name)))])}


BAD_STATUS = words_of("bad_status")
FIRM_BAD = words_of("firm_bad")
GOOD_CODES = words_of("good_codes")
NO_ERROR = words_of("no_error") | {""}
GOOGLE_STATUS = words_of("google_status")

_CODED = re.compile(
    r"(?<!zip)(?<!post)(?<!postal)(?<!country)(?<!currency)(?<!area)(?<!product)(?<!item)(?<!language)(?<!promo)(?<!coupon)(?<!bar)"
    r"(?<!source)(?<!color)(?<!airport)(?<!auth)(?<!voucher)(?<!booking)(?<!qr)(?<!sku)(?:code|cd|errno|status|result|stat)$"
    r"|^(?:ret|err|res|cod)$"
)
_SAID = re.compile(r"(?:message|msg|desc|description|reason|text|detail)(?:s|\d)?$")
"""Names of a service's own codes, and of what it says beside them."""

_ROLES = ("errors", "messages", "statuses", "codes", "flags", "write_flags", "exits", "wordy", "parts")
_MEMBERS = ["errors", "statuses", "exits", "flags", "write_flags", "wordy", "messages", "coded", "said"]
_SAYS_ERROR = re.compile(
    r"^(?!last|prev|num|max|is|has|total|count).*(?:error(?:message|code|detail|text|summary|reason|type|description)?s?"
    r"|exception|fault|(?:refusal|decline|rejection|failure)(?:reason|message|code|reasoncode)?)$"
)
"""Names that speak of an error in a body that holds nothing else."""


@cache
def _error_name() -> re.Pattern[str]:
    """Names made of a word for an error, in any language, and of words for what is told of it: ``arrayErrores``."""
    words, around = (
        "|".join(sorted(_listed(name), key=len, reverse=True)) for name in ("errors", "around_errors")
    )
    return re.compile(rf"(?:{around})*(?:{words})(?:{around})*")


def is_error(name: str) -> bool:
    """Whether a field by its name holds an error, an error's code or its words."""
    return _is_error(name[:64])


@lru_cache(maxsize=4_096)
def _is_error(name: str) -> bool:
    return _error_name().fullmatch(bare(name)) is not None


def speaks_of_errors(name: str) -> bool:
    """Whether one of a field name's words is one for an error, and none says that it counts or keeps them."""
    return _speaks_of_errors(name[:64])


@lru_cache(maxsize=4_096)
def _speaks_of_errors(name: str) -> bool:
    said = set(snake(name).split("_"))
    return is_error(name) or not (said.isdisjoint(words_of("errors")) or said & words_of("about_errors"))


_COMPOUND = re.compile(
    r"(?:response|result|status|error|err|exception|fault|return|reply|declined?)"
    r"(?:message|msg|text|desc|description|detail|string|info)$"
)
"""Names made of a word for an answer and one for a message: ``RESPONSE_TEXT``, ``StatusDetail``."""

_ID_LIKE = (
    "id",
    "ids",
    "url",
    "uri",
    "link",
    "href",
    "code",
    "at",
    "time",
    "date",
    "timestamp",
    "hint",
    "help",
)


class Fields(NamedTuple):
    """The names in one mapping by what they are for, in the order in which they are read.

    ``coded`` hold a service's own code and ``said`` its words, where both are there. ``telling`` are all that could tell
    of a failure, ``payload`` those that are no trimmings of an error body, and
    ``firm`` those of the payload that are neither ids, links nor times.
    """

    errors: tuple[str, ...]
    messages: tuple[str, ...]
    statuses: tuple[str, ...]
    codes: tuple[str, ...]
    flags: tuple[str, ...]
    write_flags: tuple[str, ...]
    exits: tuple[str, ...]
    wordy: tuple[str, ...]
    parts: tuple[str, ...]
    coded: tuple[str, ...]
    said: tuple[str, ...]
    telling: tuple[str, ...]
    payload: tuple[str, ...]
    firm: tuple[str, ...]


# Emptied when full, so that keys that are data cannot grow it without end.
_MOST, _MOST_NAMES, _LONG_NAME = 4_096, 64, 100
_known: dict[tuple[object, ...], Fields] = kept(__name__, {}, most=_MOST)


def fields_of(body: Mapping[Any, Any]) -> Fields:
    """Return what the fields of ``body`` are for, by their names; of a long mapping only the first 200 are looked at."""
    names = tuple(body)
    found = _known.get(names)
    if found is None:
        found = _sorted_out([name for name in names[:200] if isinstance(name, str)])
        if len(names) <= _MOST_NAMES and all(type(name) is str and len(name) <= _LONG_NAME for name in names):
            if len(_known) >= _MOST:
                _known.clear()
            _known[names] = found
    return found


def _sorted_out(names: list[str]) -> Fields:
    by_role = {}
    for role in _ROLES:
        ranks = _ranks(role)
        by_role[role] = tuple(sorted((n for n in names if bare(n) in ranks), key=lambda n: ranks[bare(n)]))
    alone = all(is_trimming(n) or is_error(n) or _SAYS_ERROR.search(bare(n)) for n in names)
    by_role["errors"] += tuple(
        n
        for n in names
        if n not in by_role["errors"] and (is_error(n) or (alone and _SAYS_ERROR.search(bare(n))))
    )
    by_role["messages"] += tuple(
        n for n in names if n not in by_role["messages"] and _COMPOUND.search(bare(n))
    )
    coded = [n for n in names if bare(n) in _ranks("coded") or _CODED.search(bare(n))]
    said = [n for n in names if n in by_role["messages"] or _SAID.search(bare(n))]
    by_role["coded"], by_role["said"] = (tuple(coded), tuple(said)) if coded and said else ((), ())
    telling = {n for role in _MEMBERS for n in by_role[role]}
    payload = tuple(n for n in names if not is_trimming(n) and n not in by_role["errors"])
    return Fields(
        **by_role,
        telling=tuple(n for n in names if n in telling or n == "ResponseMetadata"),
        payload=payload,
        firm=tuple(n for n in payload if not bare(n).endswith(_ID_LIKE)),
    )


def is_trimming(name: str) -> bool:
    """Whether a field of an error body is no payload."""
    return bare(name) in _ranks("meta") or _COMPOUND.search(bare(name)) is not None


def is_shared_status(name: str) -> bool:
    """Whether records use a status field's name, too, for numbers of their own."""
    return bare(name) in _ranks("shared_statuses")


def counts(name: str) -> bool:
    """Whether a number in an error field is a count rather than a code."""
    return bare(name) not in _ranks("numbered_errors")


def is_answer(name: str) -> bool:
    """Whether a field is one of an HTTP answer."""
    return bare(name) in _ranks("answer")


def tells_nothing(name: str) -> bool:
    """Whether the text of an error body's field does not say what went wrong."""
    return bare(name) in _ranks("not_words")


RECORD_TOOL = form("body_keys", "record_tool")
"""Tools that read records of things that can fail themselves."""

ERROR_TOOL = form("body_keys", "error_tool")
"""Tools whose answer lists errors of something else."""

CODE_TOOL = re.compile(r"error|(?<!de)fault|status_code|http_code|exception|http_doc|code_doc", re.IGNORECASE)
"""Tools that explain errors."""
