"""A tool's own failure, and its result, as text for a model; nothing in a failure passes for a note of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from btm.classify.reading import attribute
from btm.support.imitations import without_tags
from btm.support.readable import shown
from btm.support.untrusted import bounded_json, cut, text_of

_ERROR_LIMIT = 4_000
_PAGE_LIMIT = 8_000
_RESULT_LIMIT = 1_000_000


def error_text(error: Exception, sent: Mapping[str, Any] | None = None) -> str:
    """Return what the model reads when a tool raised: the exception's type and text, cut, without tags of ours.

    A page is told by what it shows. ``sent`` are the call's arguments: a path that the agent itself named stays.
    """
    known = " ".join(text_of(value, 500) for value in [*(sent or {}).values()][:20])
    said = shown(text_of(error, _PAGE_LIMIT), known)
    text = f"{type(error).__name__}: {said}".rstrip(": ")
    return cut(without_tags(text), _ERROR_LIMIT)


def result_text(value: Any) -> str:
    """Return a tool's result as text for a model: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    texts = _mcp_texts(value)
    if texts is not None:
        return "\n".join(texts)
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError, RecursionError):
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            return bounded_json(value, _RESULT_LIMIT)
        return text_of(value, _RESULT_LIMIT)


def _mcp_texts(value: Any) -> list[str] | None:
    """Return the texts of an MCP result's content, None for anything else, also where a block is no text."""
    content = attribute(value, "content")
    if not isinstance(content, list) or not content or isinstance(value, Mapping):
        return None
    texts = [attribute(block, "text") for block in content]
    return texts if all(isinstance(text, str) for text in texts) else None
