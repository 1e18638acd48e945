"""A plain text as the answer of a tool: its layers, what its words say, and whether it is an error text at all."""

from __future__ import annotations

from typing import NamedTuple

from btm.classify import carriers, deciding, texts
from btm.classify.carriers import Carried
from btm.classify.finding import WEAK, Finding
from btm.classify.rules import form
from btm.model import ErrorKind as K

READ, END = 2_000, 400
"""Characters of a text that are looked at, and how many of them stand at its end."""

FIRST = 400
"""Characters up to which a text without layers is read as a whole; of a longer one its first line is."""

FAILED, SUSPECTED = 0.68, 0.3
"""Chances from which a text is an error text, and from which it is suspected to be one."""

SURE = 0.96
"""Layers this sure decide alone where their words name a kind."""

LINE = 200

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
    carried = carriers.strip(head)
    if carried is not None and carried.exit == 0:
        return Read(None, 0.0, carried)
    found = texts.of_carried(_first_part(carried)) if carried is not None else texts.of_words(_subject(head))
    if carried is not None and _is_sure(carried, found, tool, len(text)):
        return Read(found, SURE, carried, ("a sure layer",))
    verdict = deciding.judge(text, tool, carried, found, writes=writes)
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


def _is_sure(carried: Carried, found: Finding | None, tool: str, size: int) -> bool:
    """Whether layers and a kind in their words leave nothing to weigh: a framework's, or any around one short line."""
    if found is None or found.kind is K.UNKNOWN or deciding.quotes(tool):
        return False
    return carried.sure >= SURE or (size <= LINE and found.confidence > WEAK and "\n" not in carried.inner)


def unexplained() -> Finding:
    """Return the finding of a text that says that something failed, and not why."""
    return Finding(K.UNKNOWN, "plain:unexplained", "the text says that it failed, and not why", 0.7)


def _subject(head: str) -> str:
    return head if len(head) <= FIRST else head.split("\n", 1)[0][:FIRST]


def _first_part(carried: Carried) -> Carried:
    """A long body after the first line (the file that exists already) is not the error."""
    inner = carried.inner
    if len(inner) <= 600 or inner.startswith(("{", "[")):
        return carried
    return carried._replace(inner=inner.split("\n", 1)[0][:600])
