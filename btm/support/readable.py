"""Error texts as a reader needs them: an HTML page without its markup, a JSON body as words, no server's own paths.

What a page hides (scripts, comments, values of its forms) is not for a model to see, and is no part of what it says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

import orjson

_MOST_TEXT = 8_000
_MOST_VALUES = 40
_MOST_DEPTH = 8

_PAGE = re.compile(
    r"<!doctype\s+html|<(?:html|head|body|title|h[1-6]|p|br|div|form|center|pre|table|script)\b|</[a-z]\w{0,30}\s*>",
    re.I,
)
_OPENS = re.compile(r"<[/!?a-z]", re.I)
_TRACEBACK = "Traceback (most recent call last)"
_DENIED = re.compile(r"\b40[13]\b|forbidden|denied|permission|not allowed|unauthori[sz]ed", re.IGNORECASE)
# The folders in which servers keep their own files, and the drives of Windows.
_PATH = re.compile(
    r"(?<![\w:/.])(?:/(?:var|srv|home|usr|opt|etc|root|mnt|tmp|www|private|Users|inetpub|proc|run|lib\d*|app|data)"
    r"/[^\s'\"<>()\[\]{},;|]+|[A-Za-z]:\\[^\s'\"<>()\[\]{},;|]+|\\\\[\w.-]+\\[^\s'\"<>]+)"
)
_PRINTED_TEXT = re.compile(r"(?<=\(type='text', text=)(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")")
_UNSEEN = frozenset(
    {"script", "style", "template", "noscript", "textarea", "select", "option", "svg", "iframe"}
)
_EMPTY = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_HIDES = re.compile(r"\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# A value in quotes may hold what looks like the end of its tag; a page that was cut may end inside of one.
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<[/!?a-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>|<[/!?a-z][^<>]*+(?:>|\Z)",
    re.DOTALL | re.I,
)
_NAME = re.compile(r"<(/?)([a-z][\w-]*)", re.I)


def readable(text: str, known: str = "") -> str:
    """Return an error's text as words: of a page what it shows, of a JSON body its values, of a traceback its last line.

    Another text stays as it is. For paths see :func:`shown`.
    """
    said = _of_printed_result(text[:_MOST_TEXT])
    said = _of_json(said) or said
    return shown(_last_line(said) if _TRACEBACK in said else said, known)


def shown(text: str, known: str = "") -> str:
    """Return a text in which a page stands as what it shows.

    Paths of a server are left out of pages and of texts that deny access; those that ``known`` (what the agent itself
    sent) holds stay.
    """
    if "<" in text and _PAGE.search(text) is not None:
        tag = _OPENS.search(text)
        start = tag.start() if tag is not None else 0
        text = f"{text[:start].rstrip()} {without_markup(text[start:_MOST_TEXT])}".strip()
    elif not _DENIED.search(text[:1_000]):
        return text
    return _PATH.sub(lambda found: found[0] if found[0].rstrip(".:") in known else "[path]", text)


def without_markup(page: str) -> str:
    """Return what a page shows, on one line: no tags, scripts, comments, attributes or values of forms.

    The standard library's parser takes time that grows with the square of a page that never closes its tags.
    """
    shown: dict[str, None] = {}  # a title is often the first heading as well
    hidden: list[str] = []
    at = 0
    for tag in _TAG.finditer(page):
        words = unescape(page[at : tag.start()]).strip()
        if words and not hidden:
            shown[words] = None
        at = tag.end()
        name = _NAME.match(tag[0])
        if name is not None:
            _enter(name[2].lower(), bool(name[1]), tag[0], hidden)
    words = unescape(page[at:]).strip()
    if words and not hidden:
        shown[words] = None
    return " ".join(" ".join(shown).split())


def _enter(name: str, closes: bool, tag: str, hidden: list[str]) -> None:
    """Keep track of the elements in which nothing is shown."""
    if closes:
        if name in hidden:
            del hidden[len(hidden) - 1 - hidden[::-1].index(name) :]
    elif (
        name not in _EMPTY
        and len(hidden) < _MOST_DEPTH * _MOST_DEPTH
        and (hidden or name in _UNSEEN or _HIDES.search(tag))
    ):
        hidden.append(name)


def _of_printed_result(text: str) -> str:
    """Return the texts of an MCP result that a framework has turned into its ``repr``; another text as it is."""
    if not text.startswith(("meta=", "content=[")):
        return text
    found = [_literal(quoted[0]) for quoted in _PRINTED_TEXT.finditer(text)]
    return "\n".join(words for words in found if words) or text


def _literal(quoted: str) -> str:
    try:
        return str(ast.literal_eval(quoted))
    except (ValueError, SyntaxError):
        return ""


def _last_line(text: str) -> str:
    """Return what was raised: the last line of a traceback that belongs to no frame."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    return lines[-1] if lines else text


def _of_json(text: str) -> str | None:
    """Return a JSON body as ``message (code: 7, detail: x)``, None for a text that holds none."""
    start = text.find("{")
    if start < 0 or start > 200 or not text.rstrip().endswith("}"):
        return None
    try:
        body = orjson.loads(text[start:])
    except ValueError:
        return None
    said = list(_said(body, "", 0))[:_MOST_VALUES]
    if not said:
        return None
    before = text[:start].rstrip(" :-")
    words = "; ".join(f"{name}: {value}" if name else value for name, value in said)
    return f"{before}: {words}" if before else words


_MAIN = (
    "message",
    "error_description",
    "detail",
    "details",
    "msg",
    "reason",
    "title",
    "error",
    "errors",
    "description",
)
_NAMELESS = frozenset({"message", "msg", "error", "errors", "detail", "description", "error_description"})


def _said(value: Any, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        for key in sorted(value, key=lambda key: _MAIN.index(key) if key in _MAIN else len(_MAIN)):
            yield from _said(value[key], key, depth + 1)
    elif isinstance(value, list):
        for item in value[:_MOST_VALUES]:
            yield from _said(item, name, depth + 1)
    elif isinstance(value, str):
        words = _of_json(value) or value
        words = shown(words)
        if words.strip():
            yield "" if name in _NAMELESS else name, " ".join(words.split())
    elif value is not None:
        yield name, str(value)
