"""The cheap test that most texts fail: does one hold any word that a failing, cut or empty-handed answer would hold?

The words are derived from the rules, so that a new rule needs no second entry here.
"""

from __future__ import annotations

from functools import cache

from btm.classify import carriers, deciding, languages, opinion, partial, rules

HEAD, TAIL = 400, 400
"""Characters at each end of a text that are read."""

_PIECES = ("rror", "xception", "imeout", "ECONN", "ENOT")
"""Ends of class names and codes, in which the words are not apart."""


@cache
def _stems() -> tuple[frozenset[str], frozenset[str]]:
    """Beginnings of words, the short ones apart."""
    stems = rules.wording().stems | carriers.stems() | deciding.stems() | partial.stems()
    return stems, frozenset(stem for stem in stems if len(stem) == rules.OPEN)


def any_in(text: str) -> bool:
    """Whether the ends of a text hold a word of failure; any text beyond ASCII is taken to."""
    head = text if len(text) <= HEAD + TAIL else text[:HEAD] + " " + text[-TAIL:]
    if not head.isascii() or any(piece in head for piece in _PIECES):
        return True
    words = rules.words_of(head.lower())
    stems, short = _stems()
    if not stems.isdisjoint([word[: rules.STEM] for word in words]):
        return True
    if not short.isdisjoint([word[: rules.OPEN] for word in words]):
        return True
    if not languages.marks().isdisjoint([word[: languages.CUT] for word in words]):
        return True
    return opinion.leans_to_failure(words)
