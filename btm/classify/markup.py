"""HTML, XML and JSON texts: an error page, HTML where JSON was due, JSON that breaks off."""

from __future__ import annotations

import re

from btm.classify import carriers, texts
from btm.classify.finding import WEAK, Finding
from btm.classify.keys import snake
from btm.classify.rules import form
from btm.classify.status import of_status
from btm.model import ErrorKind as K
from btm.support.readable import without_markup

_WEB = form("markup", "web")
_TEXT_TOOL = form("markup", "text_tool")
PAGE = "markup:html"
"""The rule for a page where data was due."""
_MOST_READ, _SHORT = 20_000, 600
"""Characters of a page that are read, and up to which what it shows is read as an error's text."""
_NOISE_HEAD = 2_000
_TITLE = re.compile(r"<(?:title|h1)[^>]{0,100}>\s*([^<]{1,200})", re.IGNORECASE)
_ERROR_TITLE = form("markup", "error_title")
_BOT_WALL = re.compile(r"just a moment|attention required|captcha|are you a robot", re.IGNORECASE)


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
        if _BOT_WALL.search(title.group(1)):
            return Finding(K.AUTH_ERROR, "markup:bot-wall", "a page that lets only people pass", WEAK)
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


def _subject(tool: str) -> str:
    """Return a tool's name without what it looks things up by: ``find_user_by_email`` is no reader of mail."""
    return re.sub(r"_by_\w*$", "", snake(tool[:80]))


def of_noise(text: str, tool: str) -> Finding | None:
    """Return MALFORMED for a text that is bytes read as text: a compressed or binary body, a wrong encoding.

    A tenth of replacement and control characters is far beyond what a document with a few bad bytes has.
    """
    head = text[:_NOISE_HEAD]
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


def broken_json(text: str, tool: str) -> Finding | None:
    """Return MALFORMED when a text opens like JSON and breaks off; other bracketed text (a repr, a log) is left alone."""
    head = text[:64].lstrip()
    opens = re.match(r"\{\s{0,8}\"|\[\s{0,8}(?:\{\s{0,8}\"|\")", head)
    if opens is None or _TEXT_TOOL.search(snake(tool[:80])):
        return None
    end = text[-200:].rstrip()
    if end.endswith(("}", "]", ")", ">")):
        whole = _STRICT.match(text) is not None and end.endswith(("}", "]")) and _LOOSE.search(text) is None
        return Finding(K.MALFORMED, "markup:json", "JSON with a fault of form", 0.8) if whole else None
    if re.search(r"truncated|omitted|\.\.\.\s*$|…\s*$", end, re.IGNORECASE):
        return Finding(K.PARTIAL_DATA, "partial:json", "the JSON text is cut, and says so", 0.8)
    return Finding(K.MALFORMED, "markup:json", "JSON that breaks off", 0.85)
