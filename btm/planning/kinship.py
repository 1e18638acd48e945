"""Whether a later call of another tool asked for what a failed one did, where no map says which tool covers which.

An agent goes on after a failure; that the next call works says nothing by itself. What speaks for a recovery is that the
values which name things are there again: in the later call's arguments under a related name, or in what it answered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.model import ToolCall
from btm.support.effect_words import READ_VERBS
from btm.support.effects import name_words
from btm.support.untrusted import scalars, text_of

_MAX_ANSWER = 100_000
_MAX_VALUES = 100
_NO_NOUN = frozenset(
    (
        "by", "for", "of", "the", "all", "my", "an", "to", "from", "in", "on", "with", "and", "or", "id", "info",
        "information", "detail", "data", "api", "tool", "new", "old", "one", "current",
    )
)  # fmt: skip
_ASKS = frozenset(("search", "find", "lookup", "query", "ask", "grep"))
_QUESTIONS = frozenset(
    ("q", "query", "queries", "question", "search", "text", "keywords", "term", "search_query")
)
_DATE_OR_NUMBER = re.compile(r"[\d\s.,:/+\-]*(?:[tT][\d:.]+)?(?:z|utc|am|pm)?\Z", re.IGNORECASE)


def related(failed: ToolCall, call: ToolCall, result: Any) -> bool:
    """Whether ``call`` asked for what ``failed`` did; ``result`` is what it answered, None if it did not."""
    same_noun = not _nouns(failed.tool).isdisjoint(_nouns(call.tool))
    wanted, given = _values(failed.arguments), _values(call.arguments)
    if not wanted:
        return same_noun
    missing = wanted - given
    if not missing:
        return same_noun or _same_question(failed, call)
    if result is None:
        return False
    answer = text_of(result, _MAX_ANSWER).casefold()
    return all(value in answer for value in missing)


def _same_question(failed: ToolCall, call: ToolCall) -> bool:
    """Whether one question in words was put to two tools that both search."""
    asked = {name for name in failed.arguments if name.lower() in _QUESTIONS}
    both_search = _ASKS & set(name_words(failed.tool)) & set(name_words(call.tool))
    return bool(asked and both_search)


def _nouns(tool: str) -> frozenset[str]:
    """Return what a tool's name is about, in the singular: ``list_orders`` and ``getOrder`` are about an order."""
    words = (word for word in name_words(tool) if len(word) > 1 and not word.isdigit())
    singular = (
        word.removesuffix("s") if len(word) > 3 and not word.endswith("ss") else word for word in words
    )
    return frozenset(word for word in singular if word not in READ_VERBS and word not in _NO_NOUN)


def _values(arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the values that name something: texts that are more than a date, a number or a letter, and large numbers."""
    found: set[str] = set()
    for value in scalars(arguments):
        text = text_of(value, 200).strip().casefold()
        plain = isinstance(value, str) and _DATE_OR_NUMBER.match(text) is None
        if len(text) > 1 and (plain or (text.isdigit() and len(text) >= 5)):
            found.add(text)
        if len(found) >= _MAX_VALUES:
            break
    return frozenset(found)
