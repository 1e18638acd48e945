"""A regular expression for the answers that are like one: they differ in ids, numbers, addresses and quotations only."""

from __future__ import annotations

import re

from btm.classify import body_keys
from btm.support import untrusted

_LONGEST, _LONGEST_BODY = 300, 4_000
_LEAST_LETTERS = 6
_MOST_FIELDS = 6
_VARIES = re.compile(
    r"'[^'\n]{1,120}'|\"[^\"\n]{1,120}\"|`[^`\n]{1,120}`|https?://\S{1,300}|\[\w+\]|(?<![^\W_])[\w.:/-]*\d[\w.:/-]*"
)
"""Quoted pieces, addresses, what was redacted, and all that holds a digit: ids, dates, amounts, numbers."""

_FURTHEST = 1_000
_QUOTES = re.compile(r"\s*[{\[]|\s*array\s*\(", re.IGNORECASE)
_SENTENCE = re.compile(r"\w\s+\w|[^\W\da-zA-Z]{4}")
_QUOTED = r"\"(?:[^\"\\]|\\.){0,600}+\"|'(?:[^'\\]|\\.){0,600}+'"
_FIELD = re.compile(
    rf"(?P<key>\"[\w .-]{{1,64}}\"|'[\w .-]{{1,64}}'|\b\d{{1,3}}(?=\s*=>))\s*(?::|=>)\s*"
    rf"(?:(?P<text>{_QUOTED})|(?P<bare>-?\d[\d.]{{0,20}}|true\b|false\b))",
    re.IGNORECASE,
)
"""A field of JSON, or of a mapping as Python and PHP print it, and what it holds."""


def pattern_of(text: str) -> str:
    """Return a regular expression for texts that differ from ``text`` only in ids, numbers, addresses and quotations.

    Of an answer in fields, those count that say how the request went. Secrets are left out. No text makes the search slow:
    each part is looked for once. Raises ValueError for a text in which too little is left to know it by.
    """
    body = untrusted.redact(text, _LONGEST_BODY)
    kept = untrusted.redact(text, _LONGEST).rstrip("…").strip()
    in_fields = _QUOTES.match(body) is not None and [*_FIELD.finditer(body)]
    parts = _of_fields(in_fields) if in_fields else _of_words(kept)
    if sum(c.isalpha() for part in parts for c in part.replace(r"\s", "")) < _LEAST_LETTERS:
        raise ValueError(f"too little to know a text by: {kept!r} (at least {_LEAST_LETTERS} letters)")
    return f"(?s){parts[0]}" + "".join(f"(?>.{{0,{_FURTHEST}}}?{part})" for part in parts[1:])


def _of_words(text: str) -> list[str]:
    parts = (r"\s+".join(map(re.escape, part.split())) for part in _VARIES.split(text))
    return [part for part in parts if part]


def _of_fields(fields: list[re.Match[str]]) -> list[str]:
    """Return the parts of the sentences of an answer, those of telling fields if they have any; else its codes and flags."""
    telling = [field for field in fields if body_keys.fields_of({field["key"][1:-1]: None}).telling]
    worded = [field for field in telling if _is_sentence(field)] or [*filter(_is_sentence, fields)]
    parts = []
    for field in (worded or telling)[:_MOST_FIELDS]:
        whole = re.escape(field["text"] or field["bare"]) + r"(?!\w)"
        first, *others = _of_words(field["text"][1:-1]) if worded else [whole]
        parts += [
            re.escape(field["key"]) + r"\s*(?::|=>)\s*" + (r"[\"'].{0,40}?" if worded else "") + first,
            *others,
        ]
    return [*dict.fromkeys(parts)]


def _is_sentence(field: re.Match[str]) -> bool:
    return (
        field["text"] is not None
        and _SENTENCE.search(" ".join(_VARIES.split(field["text"][1:-1]))) is not None
    )
