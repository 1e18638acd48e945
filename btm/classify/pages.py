"""Pages and noise where an answer was due: error pages, walls (for people only, closed, parked), pages that ask to sign in.

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

_MOST_READ, _WALL, _SHORT, _PIECE = 20_000, 900, 600, 2_000
"""Characters of a page that are read, that a wall shows at most, that an error's page does, and of a piece of a page."""

_WEB, _TEXT_TOOL, _ERROR_TITLE = (form("markup", name) for name in ("web", "text_tool", "error_title"))
_LEADS, _ASKS, _ENTERS, _BROWSES = (form("login", name) for name in ("leads", "asks", "enters", "goes"))
_TITLE = re.compile(r"<(?:title|h1)[^>]{0,100}>\s*([^<]{1,200})", re.IGNORECASE)
_HEADING = re.compile(r"<(?:title|h1|h2|button)\b[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)
_IS_PAGE = re.compile(r"<(?:!doctype html|html|head|body|form|input|button|div|h[1-6]|p)\b", re.IGNORECASE)
_FRAGMENT = re.compile(
    r"\s*<(?:h[1-6]|p|pre|b|strong|center|font|span|div|br|title)\b[^>]{0,200}>", re.IGNORECASE
)
_OF_DATA = Finding(K.MALFORMED, "markup:html", "an HTML page where data was due", 0.8)


def _brings_pages(tool: str) -> bool:
    return _is_for_pages(tool[:80])


@lru_cache(maxsize=1_024)
def _is_for_pages(tool: str) -> bool:
    return _WEB.search(_name(tool)) is not None


def _name(tool: str) -> str:
    """Return a tool's name without what it looks things up by: ``find_user_by_email`` is no reader of mail."""
    return re.sub(r"_by_\w*$", "", snake(tool[:80]))


@cache
def _walls() -> tuple[
    tuple[re.Pattern[str], re.Pattern[str]], list[tuple[Finding, int, list[re.Pattern[str]]]]
]:
    known, walls = table("walls"), []
    for wall in known["wall"]:
        kind, name = K(wall["kind"]), wall["name"]
        found = Finding(
            kind, f"wall:{name.replace(' ', '-')}", f"a page {name}", WORDS, reached=kind is K.UNAVAILABLE
        )
        walls.append((found, wall["needs"], [re.compile(cue) for cue in wall["cues"]]))
    return (re.compile(known["about"]), re.compile(known["speaks"])), walls


def _wall_in(text: str) -> Finding | None:
    """Return which wall a short text of a page is, if it is one."""
    if len(text) > _WALL:
        return None
    low = text.strip().lower().replace("\u2019", "'")
    (about, speaks), walls = _walls()
    if about.search(low) or not speaks.search(low):
        return None
    return next(
        (w for w, needs, cues in walls if sum(cue.search(low) is not None for cue in cues) >= needs), None
    )


def _wall_of_tool(text: str, tool: str) -> Finding | None:
    return _wall_in(text) if len(text) <= _WALL and _brings_pages(tool) else None


def of_text(text: str, tool: str) -> Finding | None:
    """Return what a text tells that is no error's: a wall that a tool for pages has come to, or bytes read as text.

    A tenth of replacement and control characters is far beyond what a document with a few bad bytes has.
    """
    wall = _wall_of_tool(text, tool)
    if wall is not None:
        return wall
    head = text[:_PIECE]
    if "\ufffd" not in head and "\x00" not in head:
        return None
    noise = sum(1 for c in head if c == "\ufffd" or (c < " " and c not in "\t\n\r\x1b"))
    if noise * 10 < len(head) or _TEXT_TOOL.search(_name(tool)):
        return None
    return Finding(K.MALFORMED, "markup:noise", "bytes that are no text", 0.85)


def of_markup(text: str, call: ToolCall, *, wanted: bool = False) -> Finding | None:
    """Return what failure a text of markup is: a page to sign in or a wall, an XML error, an error page, a page for data.

    ``wanted``: a page is what an answer may hold.
    """
    shown = without_markup(text) if len(text) <= _MOST_READ else None
    if shown is not None:
        asks = _ENTERS.search(text) or _ASKS.search(" | ".join(_HEADING.findall(text)))
        if asks and len(shown) <= _SHORT and _IS_PAGE.search(text):
            return _asks_to_sign_in("login:page", "a page that asks to sign in", call)
        wall = _wall_in(shown)
        if wall is not None:
            return wall
    head = text[:_PIECE]
    opening = head[:200].lower().lstrip()
    if not (opening.startswith("<") and ("<html" in opening or "<!doctype html" in opening)):
        carried = carriers.strip(head)
        if carried is None or carried.exit == 0:
            return None
        return texts.of_carried(carried) or Finding(K.UNKNOWN, "markup:error", "an error element", WEAK)
    title = _TITLE.search(head)
    if title and _ERROR_TITLE.search(title[1]):
        status, words = re.search(r"\b([45]\d\d)\b", title[1]), texts.of_error_text(title[1])
        if status:
            return of_status(int(status[1]), words)
        return words or Finding(K.UNKNOWN, "markup:error-page", "an error page", WEAK)
    if _brings_pages(call.tool):
        return None
    said = texts.of_error_text(shown) if shown is not None and len(shown) <= _SHORT else None
    return said or (None if wanted else _OF_DATA)


def shown_by_fragment(text: str) -> str | None:
    """Return what a short piece of a page shows, or None for any other text."""
    if len(text) > _PIECE or _FRAGMENT.match(text) is None:
        return None
    shown = without_markup(text)
    return shown if 0 < len(shown) <= _SHORT else None


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


_BODIES = ("body", "content", "text", "html", "data", "response", "result")
_STATUSES = ("status", "status_code", "statusCode")
_PLACES = ("location", "Location", "redirect", "redirect_url")
_MOVED = frozenset({301, 302, 303, 307, 308})
_READ = frozenset({*_BODIES, *_STATUSES})


def of_mapping(value: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return what an answer like HTTP's says: a page for signing in or the way to it, a wall, an error page."""
    if _READ.isdisjoint(value):
        return None
    for name in _BODIES:
        inner = value.get(name)
        if type(inner) is str and inner:
            page = "<html" in inner[:600].lower()
            found = of_markup(inner, call, wanted=True) if page else _wall_of_tool(inner, call.tool)
            if found is not None:
                return found
            break
    if _MOVED.isdisjoint([v for name in _STATUSES if type(v := value.get(name)) is int]):
        return None
    headers = value.get("headers")
    places = [source.get(n) for source in (value, headers) if isinstance(source, Mapping) for n in _PLACES]
    if any(isinstance(place, str) and _LEADS.search(place[:500]) for place in places):
        return _asks_to_sign_in("login:redirect", "a redirect to where one signs in", call)
    return None


def _asks_to_sign_in(rule: str, reason: str, call: ToolCall) -> Finding:
    if is_general(call.tool, call.arguments) or _BROWSES.search(snake(call.tool[:80])):
        return Finding(K.AUTH_ERROR, rule, reason, DEFAULT, reached=False, doubtful=True)
    return Finding(K.AUTH_ERROR, rule, reason, CODE, reached=False)
