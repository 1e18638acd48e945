"""Whether a reading tool found nothing: an empty list, a null where data was due, an empty text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.classify.rules import form, listed
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

_SEARCHES = form("emptiness", "searches")
_LOOKS = re.compile(
    r"list|search|find|query|look_?up|read|fetch|retrieve|sql|export|csv|rows|table|dump|report|extract|sheet"
)
_META = listed("emptiness", "meta")
_GOOD_NEWS = form("emptiness", "good_news")
_SILENT_TOOLS = form("emptiness", "silent_tools")
_SAYS_NONE = form("emptiness", "says_none")
_LONGEST_NONE = 300
_NO_LIST = frozenset({"[]", "()"})
_NOTHING = _NO_LIST | {"{}", "null", "None"}


def _found(reason: str, sure: float) -> Finding:
    return Finding(K.EMPTY_RESULT, "empty", reason, sure)


class _Tool(NamedTuple):
    """What a tool's name says about whether it brings something back, and whether nothing is good news from it."""

    searches: bool
    looks: bool
    silent: bool
    good_news: bool


@lru_cache(maxsize=1_024)
def _tool(last_part: str) -> _Tool:
    name = snake(last_part)
    return _Tool(
        searches=_SEARCHES.search(name) is not None,
        looks=_LOOKS.search(name) is not None,
        silent=_SILENT_TOOLS.search(name) is not None,
        good_news=_GOOD_NEWS.search(name) is not None,
    )


def of_value(value: Any, call: ToolCall) -> Finding | None:
    """Return EMPTY_RESULT when a reading tool brought nothing back, None otherwise."""
    if call.effect is Effect.WRITE:
        return None
    tool = _tool(call.tool.rsplit("/", 1)[-1][:64])
    if tool.good_news:
        return None
    if value is None or (isinstance(value, str) and (not value or value.isspace())):
        return _found("nothing came back", 0.8) if tool.searches and not tool.silent else None
    if isinstance(value, str):
        return _of_text(value, tool)
    if isinstance(value, list | tuple):
        return None if value else _found("an empty list came back", 0.95)
    if isinstance(value, Mapping):
        return _of_mapping(value, tool)
    return None


def _of_text(text: str, tool: _Tool) -> Finding | None:
    if len(text) > _LONGEST_NONE:
        return None
    if (tool.looks or tool.searches) and _HEADER.fullmatch(text):
        return _found("a table with a header and no rows", 0.8)
    if _FEED.match(text) and not _ENTRY.search(text):
        return _found("a feed without entries", 0.8)
    if _SAYS_NONE.search(text):
        return _found("the text says that nothing was found", 0.85)
    nothing = _NOTHING if tool.looks else _NO_LIST
    return _found("an empty list came back", 0.85) if text.strip() in nothing else None


_HEADER = re.compile(r"[A-Za-z_][\w .-]{0,40}(?:[,;\t|][A-Za-z_][\w .-]{0,40}){1,30}\n")
_FEED = re.compile(r"\s*(?:<\?xml[^>]{0,100}\?>\s*)?<(?:rss|feed|channel)\b")
_ENTRY = re.compile(r"<(?:item|entry)\b")


def could_be_empty(value: Any, depth: int = 4) -> bool:
    """Whether a list or mapping is empty or holds something empty near its top: the cheap test that most fail."""
    if not value:
        return True
    if (type(value) is not dict and not isinstance(value, Mapping)) or len(value) > _MOST_FIELDS:
        return False
    for member in value.values():
        if not member and (member is None or type(member) in (list, dict, str)):
            return True
        if type(member) is dict and len(member) <= 3 and depth and could_be_empty(member, depth - 1):
            return True
    return False


_MOST_FIELDS = 25
_TRIMMINGS = listed("emptiness", "trimmings")
_ANSWER_NAMES = listed("emptiness", "answer_names")
_ECHOES = listed("emptiness", "echoes")


class _Field(Enum):
    """What one field says about whether anything was found."""

    FOUND = 1  # it holds something: the answer is not empty
    EMPTY = 2  # it is where the answer should be, and there is nothing
    NEUTRAL = 3  # counts, echoes of the question and the like


def _of_mapping(body: Mapping[str, Any], tool: _Tool, *, nested: bool = False) -> Finding | None:
    if len(body) > _MOST_FIELDS:
        return None
    if not body:
        return _found("an empty object came back", 0.85)

    if not nested and _is_bare_list(body, tool):
        return _found("the list that the answer is about is empty", 0.85)
    empty = False
    for key, value in body.items():
        field = _field(snake(key) if isinstance(key, str) else "", value, tool, nested)
        if field is _Field.FOUND:
            return None
        empty = empty or field is _Field.EMPTY
    return _found("the list that the answer is about is empty", 0.85) if empty else None


_LISTS = listed("emptiness", "lists")
_OWN = listed("emptiness", "own")


def _is_bare_list(body: Mapping[str, Any], tool: _Tool) -> bool:
    """Whether a body holds one empty list and words about it: no other rows, no identity, no object but a search's own."""
    empty = [name for name in body if isinstance(name, str) and snake(name) in _LISTS and body[name] == []]
    held = [value for name, value in body.items() if name not in _ECHOES]
    objects = not tool.searches and any(isinstance(value, Mapping) and value for value in held)
    rows = any(isinstance(value, list) and value and isinstance(value[0], str | Mapping) for value in held)
    return len(empty) == 1 and _OWN.isdisjoint(body) and not objects and not rows


def _field(name: str, value: Any, tool: _Tool, nested: bool) -> _Field:
    if value is None:
        return _Field.EMPTY if nested or name in _ANSWER_NAMES else _Field.NEUTRAL

    if isinstance(value, list | Mapping) and not value:
        return _Field.NEUTRAL if name in _TRIMMINGS else _Field.EMPTY

    if isinstance(value, Mapping):
        inner = next((value[k] for k in _INNER if isinstance(value.get(k), list)), None)
        if inner is not None and (nested or name in _HOLDERS):
            return _Field.FOUND if inner else _Field.EMPTY
        if name == "data" and _of_mapping(value, tool, nested=True) is not None:
            return _Field.EMPTY
        if name in _ECHOES:
            return _Field.NEUTRAL
    return _Field.NEUTRAL if name in _META else _Field.FOUND


_INNER = ("hits", "bindings", "edges", "nodes", "docs", "items")
_HOLDERS = listed("emptiness", "holders")
