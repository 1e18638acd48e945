"""A page that asks to sign in, where an answer was due: the service wants another login, and has done nothing.

A tool that goes to any page may rightly bring such a one back: for it that is a hint, no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify import markup, walls
from btm.classify.finding import CODE, DEFAULT, Finding
from btm.classify.keys import snake
from btm.classify.rules import form
from btm.model import ErrorKind as K
from btm.model import ToolCall
from btm.support.effects import is_general
from btm.support.readable import without_markup

_ASKS = form("login", "asks")
_ENTERS = form("login", "enters")
_GOES = form("login", "goes")
_LEADS = form("login", "leads")
_HEADING = re.compile(r"<(?:title|h1|h2|button)\b[^>]{0,200}>([^<]{1,200})", re.IGNORECASE)
_READ = 20_000  # characters of a page
_MOST_SHOWN = 600  # characters that a page for signing in shows; one that shows more has something to say
_BODIES = ("body", "content", "text", "html", "data", "response", "result")
_PLACES = ("location", "Location", "redirect", "redirect_url")
_MOVED = frozenset({301, 302, 303, 307, 308})


def of_page(text: str, call: ToolCall) -> Finding | None:
    """Return AUTH_ERROR for an HTML text that is a page for signing in and nothing else."""
    if len(text) > _READ or not (_ENTERS.search(text) or _ASKS.search(" | ".join(_HEADING.findall(text)))):
        return None
    if len(without_markup(text)) > _MOST_SHOWN:
        return None
    return _finding("login:page", "a page that asks to sign in", call)


def of_mapping(value: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return what a page in an answer like HTTP's says: one for signing in (or the way to one), or an error page."""
    for name in _BODIES:
        inner = value.get(name)
        if isinstance(inner, str) and inner[:200].lstrip()[:1] == "<" and "<html" in inner[:600].lower():
            found = of_page(inner, call) or walls.of_page(inner) or markup.of_markup(inner, call.tool)
            return None if found is not None and found.rule == markup.PAGE else found
        if isinstance(inner, str) and (wall := walls.of_answer(inner, call.tool)) is not None:
            return wall
    status = next((value[n] for n in ("status", "status_code", "statusCode") if type(value.get(n)) is int), 0)
    if status not in _MOVED:
        return None
    headers = value.get("headers")
    places = [source.get(n) for source in (value, headers) if isinstance(source, Mapping) for n in _PLACES]
    if any(isinstance(place, str) and _LEADS.search(place[:500]) for place in places):
        return _finding("login:redirect", "a redirect to where one signs in", call)
    return None


def _finding(rule: str, reason: str, call: ToolCall) -> Finding:
    if is_general(call.tool, call.arguments) or _GOES.search(snake(call.tool[:80])):
        return Finding(K.AUTH_ERROR, rule, reason, DEFAULT, reached=False, doubtful=True)
    return Finding(K.AUTH_ERROR, rule, reason, CODE, reached=False)
