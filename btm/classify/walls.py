"""Pages that stand where a page was asked for: for people only, for subscribers only, closed, parked, blocked.

No wording decides alone: each kind of wall says several things in few words (``data/walls.toml``). A page that has more to
show is a page, and one that tells about walls is left alone.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from btm.classify.finding import WORDS, Finding
from btm.classify.keys import snake
from btm.classify.rules import form, table
from btm.model import ErrorKind as K
from btm.support.readable import without_markup

MOST_SHOWN = 900
"""Characters that a wall shows."""

_MOST_READ = 20_000
_GOES = form("login", "goes")
_BRINGS = re.compile(
    r"search|read|get_content|extract|open|view|text|article|document|lookup|research", re.IGNORECASE
)


@lru_cache(maxsize=1_024)
def _brings_pages(tool: str) -> bool:
    """Whether a tool by its name brings what stands on pages."""
    name = snake(tool[:80])
    return _GOES.search(name) is not None or _BRINGS.search(name) is not None


def of_answer(text: str, tool: str) -> Finding | None:
    """Return what a text is that a tool brought, where it is a wall; tools that bring no pages bring none."""
    return of_text(text) if len(text) <= MOST_SHOWN and _brings_pages(tool) else None


@cache
def _walls() -> tuple[tuple[str, K, int, tuple[re.Pattern[str], ...]], ...]:
    return tuple(
        (w["name"], K(w["kind"]), w["needs"], tuple(map(re.compile, w["cues"])))
        for w in table("walls")["wall"]
    )


@cache
def _frame() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(table("walls")["about"]), re.compile(table("walls")["speaks"])


def of_text(text: str) -> Finding | None:
    """Return what a short text is that a tool brought from a page, where it is a wall."""
    if len(text) > MOST_SHOWN:
        return None
    low = text.strip().lower().replace("\u2019", "'")
    about, speaks = _frame()
    if about.search(low) or not speaks.search(low):
        return None
    for name, kind, needs, cues in _walls():
        if sum(cue.search(low) is not None for cue in cues) >= needs:
            reached = kind is K.UNAVAILABLE
            return Finding(kind, f"wall:{name.replace(' ', '-')}", f"a page {name}", WORDS, reached=reached)
    return None


def of_page(page: str) -> Finding | None:
    """Return what an HTML page is that shows a wall and nothing else."""
    return of_text(without_markup(page)) if len(page) <= _MOST_READ else None
