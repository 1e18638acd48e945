"""Pages where an answer was due: error pages, walls (for people only, closed, parked), pages that ask to sign in.

No wording decides alone what is a wall: each kind says several things in few words (``data/walls.toml``). A page that has
more to show is a page, and one that tells about walls is left alone. A tool that goes to any page may rightly bring one
back that asks to sign in: for it that is a hint, no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from btm.classify import carriers, texts
from btm.classify.codes import of_status
from btm.classify.finding import CODE, DEFAULT, WEAK, WORDS, Finding
from btm.classify.keys import snake
from btm.classify.rules import form, table
from btm.model import ErrorKind as K
from btm.model import ToolCall
from btm.support.effects import is_general
from btm.support.readable import without_markup

_MOST_READ, _WALL, _SHORT = 20_000, 900, 600
"""Characters of a page that are read, that a wall shows at most, and that an error's page or one for signing in does."""

_PIECE = 2_000
"""Characters of a piece of a page, and of what may be no text."""

_BROWSES = form("login", "goes")
_BRINGS = re.compile(
    r"search|read|get_content|extract|open|view|text|article|document|lookup|research", re.IGNORECASE
)


def _brings_pages(tool: str) -> bool:
    """Whether a tool by its name brings what stands on pages."""
    return _is_called_so(tool[:80])


@lru_cache(maxsize=1_024)
def _is_called_so(tool: str) -> bool:
    name = snake(tool)
    return _BROWSES.search(name) is not None or _BRINGS.search(name) is not None


def wall_of_tool(text: str, tool: str) -> Finding | None:
    """Return which wall a tool that brings pages has come to, if its answer is one."""
    return wall_in_text(text) if len(text) <= _WALL and _brings_pages(tool) else None


@cache
def _walls() -> tuple[tuple[str, K, int, tuple[re.Pattern[str], ...]], ...]:
    return tuple(
        (w["name"], K(w["kind"]), w["needs"], tuple(map(re.compile, w["cues"])))
        for w in table("walls")["wall"]
    )


@cache
def _frame() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(table("walls")["about"]), re.compile(table("walls")["speaks"])


def wall_in_text(text: str) -> Finding | None:
    """Return which wall a short text of a page is, if it is one."""
    if len(text) > _WALL:
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


def wall_in_page(page: str) -> Finding | None:
    """Return which wall an HTML page shows that shows nothing else."""
    return wall_in_text(without_markup(page)) if len(page) <= _MOST_READ else None


_WEB = form("markup", "web")
_TEXT_TOOL = form("markup", "text_tool")
PAGE = "markup:html"
"""The rule for a page where data was due."""
_TITLE = re.compile(r"<(?:title|h1)[^>]{0,100}>\s*([^<]{1,200})", re.IGNORECASE)
_ERROR_TITLE = form("markup", "error_title")


def of_markup(text: str, tool: str) -> Finding | None:
    """Return what failure a text that begins with ``<`` is: an XML error, an error page, a page where data was due."""
    head = text[:2_000]
    opening = head[:200].lower()
    html = opening.lstrip().startswith(("<html", "<!doctype", "<head", "<body", "<?xml", "<!--")) and (
        "<html" in opening or "<!doctype html" in opening
    )
    if not html:
        carried = carriers.strip(head)
        if carried is None or carried.exit == 0:
            return None
        return texts.of_carried(carried) or Finding(K.UNKNOWN, "markup:error", "an error element", WEAK)
    title = _TITLE.search(head)
    if title and _ERROR_TITLE.search(title.group(1)):
        status = re.search(r"\b([45]\d\d)\b", title.group(1))
        words = texts.of_error_text(title.group(1))
        if status:
            return of_status(int(status.group(1)), words)
        return words or Finding(K.UNKNOWN, "markup:error-page", "an error page", WEAK)
    if not _WEB.search(_subject(tool)):
        shown = without_markup(text[:_MOST_READ])
        said = texts.of_error_text(shown) if len(shown) <= _SHORT else None
        return said or Finding(K.MALFORMED, PAGE, "an HTML page where data was due", 0.8)
    return None


_FRAGMENT = re.compile(
    r"\s*<(?:h[1-6]|p|pre|b|strong|center|font|span|div|br|title)\b[^>]{0,200}>", re.IGNORECASE
)


def shown_by_fragment(text: str) -> str | None:
    """Return what a short piece of a page shows, or None for any other text."""
    if len(text) > _PIECE or _FRAGMENT.match(text) is None:
        return None
    shown = without_markup(text)
    return shown if 0 < len(shown) <= _SHORT else None


def _subject(tool: str) -> str:
    """Return a tool's name without what it looks things up by: ``find_user_by_email`` is no reader of mail."""
    return re.sub(r"_by_\w*$", "", snake(tool[:80]))


def of_noise(text: str, tool: str) -> Finding | None:
    """Return MALFORMED for a text that is bytes read as text: a compressed or binary body, a wrong encoding.

    A tenth of replacement and control characters is far beyond what a document with a few bad bytes has.
    """
    head = text[:_PIECE]
    if "\ufffd" not in head and "\x00" not in head:
        return None
    noise = sum(1 for c in head if c == "\ufffd" or (c < " " and c not in "\t\n\r\x1b"))
    if noise * 10 < len(head) or _TEXT_TOOL.search(_subject(tool)):
        return None
    return Finding(K.MALFORMED, "markup:noise", "bytes that are no text", 0.85)


_STRICT = re.compile(r"\{\s{0,40}\"[^\"\n]{1,80}\"\s?:\s?[\"{\[\dtfn-]")
_LOOSE = re.compile(
    r"\.\.\.|…|//|/\*|#|\}\s*[^\s,\]}]|\]\s*[^\s,\]}]|,\s*[\]}]|[:\[,{]\s*(?:NaN|-?Infinity|None|True|False|'|<)|truncated"
)
"""What writers of looser forms than JSON put into it, and what is left out of a longer text."""


def broken_json(text: str, tool: str, *, read: bool) -> Finding | None:
    """Return MALFORMED when a text opens like JSON and breaks off; other bracketed text (a repr, a log) is left alone.

    ``read``: reading it as a whole was tried, and failed.
    """
    head = text[:64].lstrip()
    opens = re.match(r"\{\s{0,8}\"|\[\s{0,8}(?:\{\s{0,8}\"|\")", head)
    if opens is None or _TEXT_TOOL.search(snake(tool[:80])):
        return None
    end = text[-200:].rstrip()
    if end.endswith(("}", "]", ")", ">")):
        whole = (
            read
            and _STRICT.match(text) is not None
            and end.endswith(("}", "]"))
            and _LOOSE.search(text) is None
        )
        return Finding(K.MALFORMED, "markup:json", "JSON with a fault of form", 0.8) if whole else None
    if re.search(r"truncated|omitted|\.\.\.\s*$|…\s*$", end, re.IGNORECASE):
        return Finding(K.PARTIAL_DATA, "partial:json", "the JSON text is cut, and says so", 0.8)
    return Finding(K.MALFORMED, "markup:json", "JSON that breaks off", 0.85)


_ASKS = form("login", "asks")
_ENTERS = form("login", "enters")

_IS_PAGE = re.compile(r"<(?:!doctype html|html|head|body|form|input|button|div|h[1-6]|p)\b", re.IGNORECASE)
_HEADING = re.compile(r"<(?:title|h1|h2|button)\b[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)


def login_page(text: str, call: ToolCall) -> Finding | None:
    """Return AUTH_ERROR for an HTML text that is a page for signing in and nothing else."""
    if (
        len(text) > _MOST_READ
        or _IS_PAGE.search(text) is None
        or not (_ENTERS.search(text) or _ASKS.search(" | ".join(_HEADING.findall(text))))
    ):
        return None
    if len(without_markup(text)) > _SHORT:  # one that shows more has something to say
        return None
    return _finding("login:page", "a page that asks to sign in", call)


def of_mapping(value: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return what an answer like HTTP's says: a page for signing in or the way to it, a wall, an error page."""
    if not _BODIES.isdisjoint(value):
        inner = next((value[name] for name in _BODIES_IN_ORDER if isinstance(value.get(name), str)), "")
        if "<html" not in inner[:600].lower():
            found = wall_of_tool(inner, call.tool)
        else:
            found = login_page(inner, call) or wall_in_page(inner) or of_markup(inner, call.tool)
        if found is not None:
            return None if found.rule == PAGE else found
    return None if _STATUSES.isdisjoint(value) else _of_redirect(value, call)


def _of_redirect(value: Mapping[str, Any], call: ToolCall) -> Finding | None:
    if _MOVED.isdisjoint([status for name in _STATUSES if type(status := value.get(name)) is int]):
        return None
    headers = value.get("headers")
    places = [source.get(n) for source in (value, headers) if isinstance(source, Mapping) for n in _PLACES]
    if any(isinstance(place, str) and _LEADS.search(place[:500]) for place in places):
        return _finding("login:redirect", "a redirect to where one signs in", call)
    return None


_STATUSES = frozenset({"status", "status_code", "statusCode"})
_PLACES = ("location", "Location", "redirect", "redirect_url")
_MOVED = frozenset({301, 302, 303, 307, 308})
_LEADS = form("login", "leads")
_BODIES_IN_ORDER = ("body", "content", "text", "html", "data", "response", "result")
_BODIES = frozenset(_BODIES_IN_ORDER)


def _finding(rule: str, reason: str, call: ToolCall) -> Finding:
    if is_general(call.tool, call.arguments) or _BROWSES.search(snake(call.tool[:80])):
        return Finding(K.AUTH_ERROR, rule, reason, DEFAULT, reached=False, doubtful=True)
    return Finding(K.AUTH_ERROR, rule, reason, CODE, reached=False)
