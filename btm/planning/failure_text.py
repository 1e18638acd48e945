"""A tool's own failure as text for a model: readable, cut, and nothing in it that passes for a note of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.support.imitations import without_tags
from btm.support.readable import shown
from btm.support.untrusted import cut, text_of

_ERROR_LIMIT = 4_000
_PAGE_LIMIT = 8_000


def error_text(error: Exception, sent: Mapping[str, Any] | None = None) -> str:
    """Return what the model reads when a tool raised: the exception's type and text, cut, without tags of ours.

    A page is told by what it shows. ``sent`` are the call's arguments: a path that the agent itself named stays.
    """
    known = " ".join(text_of(value, 500) for value in [*(sent or {}).values()][:20])
    said = shown(text_of(error, _PAGE_LIMIT), known)
    text = f"{type(error).__name__}: {said}".rstrip(": ")
    return cut(without_tags(text), _ERROR_LIMIT)
