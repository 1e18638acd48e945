"""A plain text as the answer of a tool: its layers, what its words say, and whether it is an error text at all.

Most texts fail the cheap test (`any_in`): does one hold any word that a failing, cut or empty-handed answer would hold? Its
words are derived from the rules, so that a new rule needs no second entry here.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from btm.classify import carriers, deciding, languages, partial, rules, texts
from btm.classify.carriers import KEPT, Carried
from btm.classify.finding import WEAK, Finding
from btm.classify.refusals import says_done, says_done_abroad, says_idle
from btm.classify.rules import form
from btm.model import ErrorKind as K

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
    return not languages.marks().isdisjoint([word[: languages.CUT] for word in words])


READ, END = 2_000, 400
"""Characters of a text that are looked at, and how many of them stand at its end."""

FIRST = 400
"""Characters up to which a text without layers is read as a whole; of a longer one its first line is."""

FAILED, SUSPECTED = 0.66, 0.3
"""Chances from which a text is an error text, and from which it is suspected to be one."""

SURE = 0.96
"""Layers this sure decide alone where their words name a kind."""

LINE = 200
ONE_LINE = 240
"""Characters up to which the first line of a long text is read as its message."""

ALONE, FRAMED = 120, 0.94
"""Characters of a line that a status or a class may be all of, and how sure such a layer is at least."""

_NONE = form("plain", "none")


class Read(NamedTuple):
    """What a text is: the failure that it tells of (None: it tells of none), how likely, and by which signs."""

    found: Finding | None
    chance: float
    carried: Carried | None
    signs: tuple[str, ...] = ()


def read(text: str, tool: str, *, writes: bool = False) -> Read:
    """Return what a text tells of, and the chance that it is an error text rather than a result."""
    head = text.strip() if len(text) <= READ else f"{text[: READ - END]}\n{text[-END:]}".strip()
    return _read(head, len(text), tool, writes)


@lru_cache(maxsize=KEPT)
def _read(head: str, size: int, tool: str, writes: bool) -> Read:
    carried = carriers.strip(head)
    if carried is not None and carried.exit == 0:
        return Read(None, 0.0, carried)
    if writes and carried is None and _tells_of_a_quotation(head, tool):
        return Read(None, 0.0, carried, ("what was written is quoted",))
    found = texts.of_carried(carried) if carried is not None else texts.of_words(_subject(head))
    if carried is None and size <= FIRST and says_idle(head):
        return Read(None, 0.0, carried, ("nothing was left to do",))
    says = says_done_abroad if found is None else says_done
    foreign = carried is None and (found is None or languages.is_foreign(found))
    if foreign and says(head.split("\n", 1)[0]):
        return Read(None, 0.0, carried, ("it says that it was done",))
    if carried is not None and _is_sure(carried, found, tool, head, size):
        return Read(found or unexplained(), SURE, carried, ("a sure layer",))
    if carried is not None and carried.exit == 1 and found is None and deciding.judges(tool):
        return Read(None, 0.0, carried)  # it found fault with something: that is its result
    verdict = deciding.judge(head, size, tool, carried, found, writes=writes)
    if carried is None and "a sure opening" not in verdict.signs and _is_prose(head, size, tool, found):
        verdict = verdict._replace(chance=min(verdict.chance, FAILED - 0.01))
    if found is None:
        found = unexplained()
    elif found.kind is K.NOT_FOUND and carried is None and _NONE.match(head.lower()):
        found = Finding(K.EMPTY_RESULT, "plain:none", "the text says that none were found", 0.8)
    return Read(found, verdict.chance, carried, verdict.signs)


def of_plain_text(text: str, tool: str, *, writes: bool = False) -> Finding | None:
    """Return what failure a plain result is, or may be (``doubtful``); None when it reads as a success."""
    told = read(text, tool, writes=writes)
    if told.found is None or told.chance < SUSPECTED:
        return None
    if told.chance < FAILED:
        return told.found._replace(confidence=told.chance, doubtful=True)
    return told.found._replace(confidence=min(told.found.confidence, told.chance))


def _is_sure(carried: Carried, found: Finding | None, tool: str, text: str, size: int) -> bool:
    """Whether layers and a kind in their words leave nothing to weigh: a framework's, or any around one short line."""
    if carried.exit:
        # What finds fault with something ends with 1 where it did; with more where it could not do its work.
        bad = carried.exit > 1 or not (deciding.judges(tool) or deciding.quotes(tool))
        return bad and (found is not None or carried.exit > 1) and (size <= LINE or not deciding.quotes(tool))
    if deciding.quotes(tool):
        # An error's own body after its status is no quotation, nor is one line of nothing but a status or a class.
        if carried.status is None and not carried.types:
            return False
        lines = text.count("\n") + deciding.tells(tool)
        alone = lines <= 1 and size <= ALONE and carried.sure >= FRAMED and found is not None
        return carried.inner.startswith("{") or (alone and not deciding.explains(text.lower()))
    return (
        found is not None
        and found.kind is not K.UNKNOWN
        and found.confidence > WEAK
        and size <= LINE
        and "\n" not in carried.inner
    )


_MARKS = re.compile(r"Traceback|\w(?:Error|Exception)\b|\^\^\^")


_ROWS = re.compile(r"\n\s{0,4}\[?\s{0,4}\{\s{0,4}\"")
"""Objects below a line of words: what was found, and how much of it."""

_TABLE = re.compile(
    r"\s*(?:[A-Z][\w/#%-]*(?: [A-Z][\w/#%-]*){0,3}(?: {2,}|\s*\t\s*)){2,12}[A-Z][^\n]{0,40}\n"
)
"""A line of headings above columns."""

_LINES = 5


def _is_prose(head: str, size: int, tool: str, found: Finding | None) -> bool:
    """Whether a text has nothing of an error's form and is long, or comes from a tool that brings songs, rules, pages."""
    if _MARKS.search(head):
        return False
    if _ROWS.search(head) or _TABLE.match(head) or (found is None and head.count("\n") >= _LINES):
        return True
    if size <= FIRST:
        return deciding.tells(tool)
    return found is None or len(head.split("\n", 1)[0]) > ONE_LINE


def _tells_of_a_quotation(text: str, tool: str) -> bool:
    """Whether a write says that it was done, and every word of a failure stands in what it quotes: ``Added "404"``."""
    around = texts.unquoted(text)
    if len(text) > FIRST or around == text or not deciding.says_done(around.lower(), tool):
        return False
    return text.isascii() and _REVERSED.search(around) is None and texts.of_words(around) is None


_REVERSED = re.compile(
    r"\b(?:but|however|although|though|yet|except|not|error|warning|fail\w*)\b", re.IGNORECASE
)


def unexplained() -> Finding:
    """Return the finding of a text that says that something failed, and not why."""
    return Finding(K.UNKNOWN, "plain:unexplained", "the text says that it failed, and not why", 0.7)


def _subject(head: str) -> str:
    return head if len(head) <= FIRST else head.split("\n", 1)[0][:FIRST]
