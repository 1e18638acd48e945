"""The values of texts: JSON, a value as a language prints it, one object a line, XML, lines of ``name=value``."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.parsers import expat

import orjson

from btm.classify import printed
from btm.classify.body_keys import speaks_of_errors

_IS_JSON = re.compile(r"[\s\[{]{1,80}\"[^\"\n]{0,80}\"\s*(?::(?!\s*[A-Zu'`])|,|\])")
"""How JSON begins that has a fault of form, and is no value as a language prints it."""

_SMALL = 3
"""Fields of a body that can be no more than a wrapper."""

_PADDED = re.compile(r"([A-Za-z_$][\w$.]{0,80})\((.*)\);?\s*", re.DOTALL)


def unpadded(text: str) -> str:
    """Return what a call to a function in JavaScript (JSONP) hands over, or the text itself."""
    if "({" not in text[:84] or not text.rstrip().endswith((")", ");")):
        return text
    found = _PADDED.fullmatch(text)
    inner = "" if found is None or printed.is_failures_name(found.group(1)) else found.group(2).strip()
    try:
        orjson.loads(inner)
    except ValueError:
        return text
    return inner


def parsed(text: str) -> Any:
    """Return the value of ``text``, or None where it has none."""
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:  # line breaks in texts, half an emoji: what other readers accept
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    if "\n{" in text:
        return _of_lines(text)
    return None if _IS_JSON.match(text) else printed.value_of(text)


def printed_fields(text: str) -> dict[str, Any] | None:
    """Return the fields of a text that a language prints with a name or a sign before its first bracket, or of a form."""
    value = printed.value_of(text) if text[-1:] in _ENDS or "=" in text[:60] else None
    return value if type(value) is dict and value else None


_ENDS = frozenset(")}];\n")


def opened(body: dict[str, Any]) -> dict[str, Any]:
    """Return a small body with the one field whose text is JSON itself as values: what a service handed on as it came."""
    if len(body) <= _SMALL:
        for name, value in body.items():
            if type(value) is str and value[:1] in ("{", "[") and value[-1:] in ("}", "]"):
                inner = parsed(value)
                if inner is not None:
                    return {**body, name: inner}
    return body


def _of_lines(text: str) -> Any:
    """The objects of a stream, or the last alone where it is an error: a stream ends with what became of it."""
    try:
        rows = [orjson.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None
    return rows[-1] if isinstance(rows[-1], dict) and "error" in rows[-1] else rows


LONGEST = 16_000
_DEEPEST = 12
_TELLING = re.compile(
    r"<(?:\w{1,20}:)?(?:errorcode|errormessage|faultstring|result(?:code|detail)?|(?:return|response|status)code|severity)\b",
    re.IGNORECASE,
)
_MAY_FAIL = re.compile(r"err|fail|fault|exception|denied|reject|invalid|refus|declin|problem", re.IGNORECASE)
_DOCUMENT = re.compile(
    r"\s*(?:<[?!][^>]{0,300}>\s*)*<(?:[\w-]{1,30}:)?(?:test\w*|project|checkstyle|coverage|rss|feed|html|svg|plist|definitions"
    r"|schema|configuration|manifest|module|log\w*|report\w*|\w*history|package|urlset|worksheet|document|body|div|h[1-6]|p|pre|b|center|font|span|table|title|script|style)[\s/>](?!\s*<error>)",
    re.IGNORECASE,
)
"""How documents begin that hold errors of something else, or none."""
_ANSWER = re.compile(
    r"\s*(?:<\?xml[^>]{0,100}\?>\s*)?(?:<!DOCTYPE[^\[>]{0,300}>\s*)?<(?:[\w-]{1,30}:)?(?=[^\W\d])[\w.-]{0,60}?"
    r"(?:(?:respon[sc]e|r[eé]ponse|respuesta|res?posta|risposta|antw|svar|odpow|odgov|vastaus|ergebnis|reto(?:rno|ur)|ответ|result|reply|status\b|envelope|error|fault|exception|messages)[\w.-]{0,20}|(?-i:\B(?:RS|Resp)))[\s/>]",
    re.IGNORECASE,
)
"""How the first element of an answer is called (``OTA_HotelResRS``); a document (a feed, a build file) is none."""

_DECLARES = re.compile(r"<!(?:ENTITY|DOCTYPE[^>]{0,300}\[)", re.IGNORECASE)
_PROLOG = re.compile(r"\s*(?:<\?[^>]{0,200}\?>\s*|<!(?:--.{0,1000}?--|DOCTYPE[^>\[]{0,300})>\s*)*", re.DOTALL)
_TEXT, _ROOT = "#text", "answer"
"""The text of an element with others inside, and an element around all: fragments have several first ones."""


def fields_of_answer(text: str, *, wrapped: bool = False) -> tuple[dict[str, Any] | None, bool]:
    """Return an XML answer as nested mappings of local names, attributes included; None for any other document.

    And whether it may be a document: nothing but its words says that it is an answer. What comes before a fault of form
    is kept; a document that declares its own entities is not read.
    """
    if len(text) > LONGEST or _DECLARES.search(text) is not None:
        return None, True
    begins = _ANSWER.match(text) is not None
    document = not begins and _DOCUMENT.match(text) is not None
    tells = begins or (not document and _TELLING.search(text, text.find(">"), 2_000) is not None)
    if document or not (tells or _MAY_FAIL.search(text, 0, 2_000)):
        return None, True
    root: dict[str, Any] = {}
    open_elements: list[dict[str, Any]] = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > _DEEPEST:
            raise ValueError("too deep")
        fields: dict[str, Any] = {
            _local(n): v for n, v in attributes.items() if not n.startswith(("xmlns", "xsi:"))
        }
        _put(open_elements[-1], _local(name), fields)
        open_elements.append(fields)

    def end(name: str) -> None:
        fields = open_elements.pop()
        said = fields.pop(_TEXT, "").strip()
        if said and fields:
            fields["message"] = said
        elif not fields:
            _replace_last(open_elements[-1], _local(name), said)

    def characters(data: str) -> None:
        fields = open_elements[-1]
        fields[_TEXT] = fields.get(_TEXT, "") + data

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    try:
        parser.Parse(f"<{_ROOT}>{_PROLOG.sub('', text, count=1).strip()}</{_ROOT}>", True)
    except (expat.ExpatError, ValueError):
        root.pop(_TEXT, None)
        return _inside(root, wrapped=wrapped) or None, not tells
    return _inside(root, wrapped=wrapped), not tells


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _put(fields: dict[str, Any], name: str, value: Any) -> None:
    before = fields.get(name)
    if before is None:
        fields[name] = value
    elif isinstance(before, list):
        before.append(value)
    else:
        fields[name] = [before, value]


def _replace_last(fields: dict[str, Any], name: str, value: str) -> None:
    if isinstance(fields.get(name), list):
        fields[name][-1] = value
    else:
        fields[name] = value


def _inside(fields: dict[str, Any], *, wrapped: bool) -> dict[str, Any]:
    """What an envelope holds: elements with one child and the header of SOAP are left out, a fault is a failure.

    An answer may hold another as its text; one ``wrapped`` so holds no third.
    """
    while True:
        if isinstance(fields.get("Body"), dict):
            fields = fields["Body"]
        if isinstance(fields.get("Fault"), dict):
            return {**fields["Fault"], "success": False}
        if len(fields) != 1:
            return fields
        only = next(iter(fields.values()))
        answer = isinstance(only, str) and only[:1] == "<" and not wrapped
        inner = fields_of_answer(only, wrapped=True)[0] if answer else only
        if not isinstance(inner, dict) or not inner:
            return fields
        failed = speaks_of_errors(next(iter(fields)))
        fields = {**inner, "success": False} if failed else inner
