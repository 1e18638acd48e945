"""How a sentence is worded: like what programs say when something fails, or like what they say of what they did.

The weights of words and pairs of words (``data/words.toml``) were counted in the messages of ``raise`` statements and
exception handlers on one side, of progress messages, results and documentation on the other, in some 400 libraries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache

from btm.classify import rules

LONGEST = 180
"""Characters of a sentence that are read."""

MOST = 24
"""Words of a sentence that are read."""

LIMIT = 4.0
"""The most that the wording of one sentence can say for either side, in logits."""

_NAMED = re.compile(
    r"(?<!\w)'[^']{1,120}'(?!\w)|(?<!\w)\"[^\"]{1,120}\"|`[^`]{1,120}`|https?://\S+|[\w-]+(?:[./_][\w-]+)+"
)
"""Quotations, addresses and identifiers: each is one ``_``, and a number is one ``0``."""

_FIRST = re.compile(r"(?<=[^\d\s.]{3})[.!?](?=\s+[A-Z\"'*])|\n")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]+(?:n't|'s)?|[_0:!?]")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text: up to a full stop before a capital, or the end of its first line."""
    return _FIRST.split(text, maxsplit=1)[0]


def words_in(sentence: str) -> list[str]:
    """Return the words of a sentence, lower-cased, with quotations, identifiers and numbers made one each."""
    return _WORD.findall(made_alike(sentence[:LONGEST]))[:MOST]


def made_alike(text: str) -> str:
    """Return a text lower-cased, with quotations, identifiers and numbers made one sign each."""
    return _DIGITS.sub("0", _NAMED.sub(" _ ", text.lower()))


def features_of(sentence: str) -> set[str]:
    """Return the words of a sentence, their pairs, and how it begins (``^``) and ends (``$``)."""
    words = words_in(sentence)
    if not words:
        return set()
    found = set(words)
    before = "^"
    for word in [*words, "$"]:
        found.add(f"{before} {word}")
        before = word
    return found


@cache
def _weights() -> Mapping[str, float]:
    known: dict[str, float] = {"": rules.table("words")["bias"]}
    for weight, features in rules.table("words")["weights"].items():
        known.update(dict.fromkeys(features.split(" | "), float(weight)))
    return known


def logit(sentence: str) -> float:
    """Return how much a sentence is worded like a failure (above 0) or like a result (below 0), in logits."""
    known = _weights()
    total = math.fsum([known[""], *(known[feature] for feature in features_of(sentence) if feature in known)])
    return float(max(-LIMIT, min(LIMIT, total)))
