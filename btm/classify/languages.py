"""Failures in other languages than English, by the phrases that message catalogues use for them.

``data/languages.toml`` is counted from catalogues by ``tests/classify/build_languages.py``; ``data/phrases.toml`` holds
what was added by hand. A phrase is one to three words, each cut to `CUT` letters, so that inflected forms are one.
Languages that are written without spaces are searched for pieces of text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain

from btm.classify import rules
from btm.classify.finding import WORDS, Finding
from btm.model import ErrorKind as K

CUT = 7
JOINED = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my"})
"""Languages written without spaces between words, or with endings that grow onto them: pieces of text are looked for."""

_LONGEST = 400
_SPACES = {
    ord(c): " "
    for c in string.punctuation
    + "\n\t\r\u2018\u2019\u201c\u201d\u00ab\u00bb\u3002\u3001\uff1a\u0964\u060c\u061f\u2026\u2013\u2014\u00a1\u00bf\u201e"
}
_JOINED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PLAIN = frozenset(
    {K.AUTH_ERROR, K.NOT_FOUND, K.INVALID_ARGUMENTS, K.PRECONDITION_FAILED, K.RATE_LIMIT, K.QUOTA_EXHAUSTED}
)


def words(low: str) -> list[str]:
    """Return the words of a lower-cased text, each cut to `CUT` letters."""
    return [word[:CUT] for word in low.translate(_SPACES).split()]


def is_foreign(found: Finding) -> bool:
    """Whether a finding is a phrase of another language than English."""
    return len(found.rule.rpartition(":")[2]) == 2


@cache
def marks() -> frozenset[str]:
    """Return, for each phrase in plain ASCII, its longest word: what a text in its language must hold."""
    longest = (max(phrase.split(), key=len) for phrase in _phrases() if phrase.isascii())
    return frozenset(word for word in longest if len(word) > 3)


@cache
def _of_short_words() -> tuple[str, ...]:
    return tuple(f" {p} " for p in _phrases() if p.isascii() and marks().isdisjoint(p.split()))


def _entries(table: str, *, joined: bool) -> Iterator[tuple[str, K, str]]:
    """Yield a data file's phrases, each with its kind and language: those of languages without spaces, or the others."""
    for language, kinds in rules.table(table).items():
        for kind, listed in kinds.items() if (language in JOINED) is joined else ():
            yield from ((phrase.lower(), K(kind), language) for phrase in listed.split(" | "))


@cache
def _phrases() -> Mapping[str, tuple[K, str]]:
    """Return kind and language by phrase; what was added by hand goes before what was counted."""
    entries = chain.from_iterable(_entries(name, joined=False) for name in ("languages", "phrases"))
    return {" ".join(words(phrase)): (kind, language) for phrase, kind, language in entries}


@cache
def _openings() -> frozenset[str]:
    """Return the words with which phrases begin."""
    return frozenset(phrase.split(" ", 1)[0] for phrase in _phrases())


@cache
def _pieces() -> tuple[tuple[re.Pattern[str], Mapping[str, tuple[K, str]]], ...]:
    """Return the pieces of languages without spaces, those added by hand first."""
    found = []
    for name in ("phrases", "languages"):
        pieces = {piece: (kind, language) for piece, kind, language in _entries(name, joined=True)}
        longest_first = sorted(pieces, key=len, reverse=True)
        found.append((re.compile("|".join(map(re.escape, longest_first))), pieces))
    return tuple(found)


def find(low: str) -> Finding | None:
    """Return what a lower-cased text says in another language than English, or None. At most 400 characters are read."""
    low = low[:_LONGEST]
    if not low.isascii() and _JOINED.search(low):
        for pattern, pieces in _pieces():
            match = pattern.search(low)
            if match is not None:
                return _finding(match.group(), *pieces[match.group()])
        return None
    known, said = _phrases(), words(low)
    size = len(said)
    if low.isascii() and marks().isdisjoint(said):
        # No phrase in plain ASCII is without its longest word, but for those of short words alone.
        joined = f" {' '.join(said)} "
        if not any(phrase in joined for phrase in _of_short_words()):
            return None
    openings = [start for start, word in enumerate(said) if word in _openings()]
    unnamed: Finding | None = None
    for length in (4, 3, 2, 1) if openings else ():
        for start in openings:
            phrase = " ".join(said[start : start + length])
            kind, language = known.get(phrase, (None, ""))
            if kind is None or start + length > size:
                continue
            if kind is not K.UNKNOWN:
                return _finding(phrase, kind, language)
            if unnamed is None and size <= length + 3 and not length < 2 < size:
                unnamed = _finding(
                    phrase, kind, language
                )  # the word for an error, not in a text about something else
    return unnamed


def _finding(phrase: str, kind: K, language: str) -> Finding:
    reason = f"the text says {phrase!r} ({language})"
    return Finding(kind, f"text:{kind}:{language}", reason, WORDS, reached=kind not in _PLAIN)
