"""What a value says openly of the call: that it failed, in a form that says so; else the value as plain data."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Any

from btm.classify import (
    bodies,
    exceptions,
    frameworks,
    pages,
    parsing,
    plain,
    refusals,
    runs,
)
from btm.classify.echoes import without_echoes, without_label
from btm.classify.finding import Finding
from btm.classify.reading import plain_of, tamed
from btm.model import Effect, ToolCall

_JSON_LIMIT = 16_000
"""Characters of a JSON text beyond which only its beginning is looked at."""
_REPR_TEXT = re.compile(r"text=(['\"])(.{0,2000})", re.DOTALL)
_OBJECT = re.compile(r"\s*<(?:_?[A-Z]\w{2,60}(?::| [^=>]{1,60}[ :>])|class |\w+\.\w+ object at)")
BARE = frozenset({int, float, bool, list, type(None)})
"""Types of which no value tells of a failure."""


def read(value: Any, call: ToolCall, now: float | None) -> tuple[Any, Finding | None]:
    """Return the value as JSON values as far as it is one, and the failure that it tells of openly."""
    if isinstance(value, str):
        return _of_text(value, call, now)
    value = tamed(value)
    if type(value) is dict:
        value = parsing.opened(value)
        return value, bodies.of_mapping(value, call, now) or pages.of_mapping(value, call)
    if isinstance(value, list | tuple):
        return _of_list(value, call, now)
    if type(value) in BARE:
        return value, None
    if isinstance(value, bytes | bytearray):
        text = _decoded(value)
        return (value, None) if text is None else _of_text(text, call, now)
    if isinstance(value, BaseException):
        return value, exceptions.of_exception(value, call, now)
    fields = frameworks.as_object(value)
    if fields is not None:
        return fields, bodies.of_mapping(fields, call, now)
    # An object of a library: what it says of itself counts, never how it keeps its data.
    public = frameworks.public_fields(value)
    failure = bodies.of_mapping(public, call, now) if public is not None else None
    return [] if frameworks.says_empty(value) else value, failure


def _decoded(value: bytes | bytearray) -> str | None:
    """Return bytes as text, or None: who returns a picture means bytes, and JSON that is long is not read."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(bytes(value[:_JSON_LIMIT]))
    except UnicodeDecodeError:
        return None
    return None if len(value) > _JSON_LIMIT and text.lstrip()[:1] in ("{", "[") else text


def _of_list(value: Any, call: ToolCall, now: float | None) -> tuple[Any, Finding | None]:
    if bodies.is_content(value):
        text = bodies.content_text(value)
        return _of_text(text, call, now) if text else (value, None)
    if refusals.is_validator_list(value):
        return value, bodies.of_failed_value({"detail": list(value)}, call, now)
    if refusals.is_error_list(value):
        return value, bodies.of_failed_value(dict(value[0]), call, now)
    if len(value) == 1 and isinstance(value[0], Mapping):
        only = value[0]
        if len(only) <= 5 and any(type(name) is str and name.lower() == "error" for name in only):
            return value, bodies.of_mapping(only, call, now)
    return value, None


def _of_text(text: str, call: ToolCall, now: float | None) -> tuple[Any, Finding | None]:
    text = parsing.unpadded(plain_of(text))
    first = text[:1] if text[:1] > " " else text[:200].lstrip()[:1]
    if first in ("{", "["):
        value = parsing.parsed(text) if len(text) <= _JSON_LIMIT else None
        if value is not None:
            return _of_json(value, call, now)
        broken = pages.broken_json(text, call.tool, read=len(text) <= _JSON_LIMIT)
        if broken is not None or len(text) > _JSON_LIMIT:
            return text, broken
    if first == "<" and not _is_object_repr(text):
        shown = pages.shown_by_fragment(text)
        if shown is None:
            return _of_markup(text, call, now)
        text = shown
    if first == "m" and text.startswith("meta=") and "content=[" in text[:60]:
        return text, _of_repr(text, call, now)
    printed = parsing.printed_fields(text)
    if printed is not None:
        return _of_printed(printed, text, call, now)
    return _of_words(text, call)


def _of_printed(
    fields: dict[str, Any], text: str, call: ToolCall, now: float | None
) -> tuple[Any, Finding | None]:
    """Return what a printed value says by its fields or, where it carries one text, by that."""
    if text[-1:] not in ")}];":
        return fields, bodies.of_envelope(fields, call, now)
    value, failure = _of_json(fields, call, now)
    carried = [fields[name] for name in _CARRIERS if isinstance(fields.get(name), str)]
    if failure is None and len(carried) == 1:
        failure = _of_words(carried[0], call)[1]
    return value, failure


_CARRIERS = ("content", "text", "message", "result", "output", "response", "answer")


def _of_json(value: Any, call: ToolCall, now: float | None) -> tuple[Any, Finding | None]:
    if type(value) is not dict:
        return _of_list(value, call, now)
    value = parsing.opened(value)
    bare = None if frameworks.is_bare(value) else frameworks.unwrap(value)
    if bare is not None and bare.is_error:
        return value, bodies.of_failed_value(bare.value, call, now)
    if bare is not None and bare.value is not value and not isinstance(bare.value, Mapping):
        return read(bare.value, call, now)  # a wrapper that came as a text
    return value, bodies.of_mapping(value, call, now) or pages.of_mapping(value, call)


def _of_markup(text: str, call: ToolCall, now: float | None) -> tuple[Any, Finding | None]:
    answer, document = parsing.fields_of_answer(text)
    if answer is None:
        return text, pages.of_markup(text, call)
    failure = bodies.of_envelope(answer, call, now, whole=document)
    return text if document and failure is None else answer, failure


def _of_words(text: str, call: ToolCall) -> tuple[Any, Finding | None]:
    text = without_echoes(without_label(text, call), call)
    page = pages.of_text(text, call.tool)
    if page is not None:
        return text, page
    rows = text.startswith("[(") and text.endswith(
        ")]"
    )  # of a database, as Python prints them: they are what was found
    if rows or not plain.any_in(text):
        return text, None
    found = plain.of_plain_text(text, call.tool, writes=call.effect is Effect.WRITE)
    ended = runs.of_run(text, call.tool)
    if found is None or found.doubtful:
        return (text, found) if ended is None else (ended.detail, ended)
    if ended is not None:
        return text, found._replace(detail=text)
    return text, found._replace(doubtful=True) if runs.went_on(text, call.tool) else found


def _is_object_repr(text: str) -> bool:
    """Whether a text begins like the ``repr`` of an object (``<HttpError 403 ...>``) rather than with an element."""
    head = text[:200]
    return "</" not in text[:2_000] and "/>" not in head and _OBJECT.match(head) is not None


def _of_repr(text: str, call: ToolCall, now: float | None) -> Finding | None:
    """The ``repr`` of an MCP result, as loops that print their results keep it."""
    inner = _REPR_TEXT.search(text[:2_400])
    said = inner.group(2) if inner is not None else ""
    if frameworks.is_printed_failure(text):
        return bodies.of_failed_value(said, call, now)
    return plain.of_plain_text(said, call.tool)
