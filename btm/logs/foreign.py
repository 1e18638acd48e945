"""Logs that are no JSON, as the JSON lines that they stand for: tables (CSV) and Semantic Kernel's chat history in XML.

So are those that hold changes in the place of what was changed (VS Code's chats).

Values in JSON in which texts stand once and are named by number (n8n's ``flatted``) are unfolded here as well.
"""

from __future__ import annotations

import codecs
import csv
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from typing import Any
from xml.etree import ElementTree

import orjson

from btm.logs.values import parsed_json

_HEADER = re.compile(
    rb'(?:"?[\w. ]*"?,)*"?(?:trace_?id|inputs?|outputs?|request|response|messages)"?[,\r\n]', re.IGNORECASE
)
_XML, _FLATTED = b"<chat_history", (b'[{"startData"', b'[{"resultData"', b'[{"version"')
_CHANGES = re.compile(rb'\{\s*"kind"\s*:\s*0\s*,\s*"v"\s*:\s*\{')
_LARGEST = 32 << 20
_DEPTH, _OFTEN = 60, 20


def as_json(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes] | None:
    """Return a log as lines of JSON if it begins as one that is none; None for any other."""
    begins = first[:2_000].lstrip()
    if begins.startswith(_XML):
        return _history(first, rest)
    if begins.startswith(_FLATTED):
        return _executions(first, rest)
    if _CHANGES.match(begins):
        return _changed(first, rest)
    return _rows(first, rest) if _HEADER.match(begins) else None


def _rows(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    csv.field_size_limit(min(_LARGEST, sys.maxsize))
    try:
        table = csv.DictReader(_lines(first, rest))
        titles = {name: name for name in table.fieldnames or () if name}
        if any(" " in name for name in titles):  # as a page shows them: "Trace ID"
            titles = {name: name.strip().lower().replace(" ", "_") for name in titles}
        for row in table:
            found = {titles[key]: parsed_json(value) for key, value in row.items() if key in titles and value}
            yield orjson.dumps(found) + b"\n"
    except csv.Error as error:
        raise EOFError(f"broken CSV: {error}") from error


def _executions(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    for line in _lines(first, rest):
        own = sha256(line.encode()).hexdigest()[:32]
        yield orjson.dumps({"executionId": own, "data": line.strip()}) + b"\n"


def _changed(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    """Give the chat that a log of its changes leads to: VS Code writes it whole, then what is set and added where."""
    state: Any = None
    for line in _lines(first, rest):
        try:
            change = orjson.loads(line)
            kind, value = change["kind"], change.get("v")
            if kind == 0:
                state = value
                continue
            *way, last = change["k"]
            place = state
            for key in way:
                place = place[key]
            if kind == 1:
                place[last] = value
            elif kind == 2:
                del place[last][change.get("i", len(place[last])) :]
                place[last] += value or []
        except (ValueError, LookupError, TypeError) as error:
            if line.strip():
                raise EOFError(f"a change of a chat that cannot be followed: {error}") from error
    yield orjson.dumps(state)


def _lines(first: bytes, rest: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun = ""
    for chunk in chain((first,), rest):
        *whole, begun = (begun + decoder.decode(chunk)).split("\n")
        yield from (f"{line}\n" for line in whole)
    if begun:
        yield begun


def _history(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    document = first
    for chunk in rest:
        document += chunk
        if len(document) > _LARGEST:
            raise EOFError("an XML document that is too large")
    if b"<!" in document:
        raise EOFError("an XML document with declarations, which a chat history does not have")
    try:
        root = ElementTree.fromstring(document)  # noqa: S314 - without declarations there are no entities to expand
    except ElementTree.ParseError as error:
        raise EOFError(f"broken XML: {error}") from error
    messages = [
        {
            "role": message.get("role"),
            "items": [_item(item) for item in message] or [{"type": "text", "text": message.text}],
        }
        for message in root.iter("message")
    ]
    yield orjson.dumps({"messages": messages}) + b"\n"


def _item(item: ElementTree.Element) -> dict[str, Any]:
    text = item.text or ""
    about = {"type": item.tag, **item.attrib}
    if item.tag == "function_call":
        return {**about, "arguments": text}
    return {**about, "result" if item.tag == "function_result" else "text": text}


def unfolded(value: Any) -> Any:
    """Return what a list of n8n's says, in which each object and text stands once and is named by its place.

    What is named again and again is not unfolded without end: beyond a depth and a number of values there is None.
    """
    table = parsed_json(value)
    left = _OFTEN * len(table) + 10_000 if isinstance(table, list) else 0
    if not (isinstance(table, list) and table and isinstance(table[0], dict)):
        return value

    def at(named: Any, depth: int) -> Any:
        nonlocal left
        if not (isinstance(named, str) and named.isdecimal() and len(named) < 12 and int(named) < len(table)):
            return named
        left -= 1
        if left < 0 or depth > _DEPTH:
            return None
        held = table[int(named)]
        if isinstance(held, dict):
            return {key: at(inner, depth + 1) for key, inner in held.items()}
        return [at(inner, depth + 1) for inner in held] if isinstance(held, list) else held

    return at("0", 0)
