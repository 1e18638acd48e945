"""Whether a reading tool found nothing: an empty list, a null where data was due, an empty text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

_SEARCHES = re.compile(r"(?:^|[_\W])(?:list|search|find|query|lookup|look_up|get|fetch|read|retrieve|semantic|web|select|load|show|view|browse|scan|match|recommend|sql|run_sql|filter|check_inbox|geocode|autocomplete)(?:$|[_\W])")
_COLLECTIONS = frozenset(
    "results result items matches data hits records rows documents entries list values elements response features candidates suggestions"
    " organic_results objects collection content users files messages orders flights products places articles events".split()
)
_META = frozenset(
    "total total_count count page per_page page_size limit offset query q took elapsed status success ok code message msg namespace usage next_page_token next_cursor has_more filters"
    " errors error warnings warning request_id user_id customer_id took_ms timed_out cursor meta metadata pagination search_metadata search_parameters query_id from to date incomplete_results sort keyword keywords term"
    " total_results num_results number_of_results currency timestamp version source returned has_next links id params parameters next previous facets account_id project_id location radius category duration_ms truncated".split()
)
_GOOD_NEWS = re.compile(r"error|warn|conflict|alert|issue|violation|failure|failed|incident|problem|overdue|duplicate|blocked|vulnerab|outage|missing|unread|check|valid|verify|lint|test|diff|lock", re.IGNORECASE)
_SILENT_TOOLS = re.compile(r"shell|bash|exec|python|repl|command|terminal|run_(?!sql)|think|set_|put_|write|delete|remove|update|create|log", re.IGNORECASE)
_SAYS_NONE = re.compile(r"\b0 rows? (?:returned|found|selected|matched)|\b(?:returned|found|matched) (?:0|no|zero) (?:rows?|results?|records?|items|matches)|^\W{0,3}no (?:\w+ ){0,3}(?:results?|matches|matching|records?|rows|entries|hits)\b", re.IGNORECASE)
_ZERO = re.compile(r"^(?:total|total_count|count|total_results|num_results|number_of_results|hits|numfound|total_hits|result_count|row_count|rowcount)$")


def _found(reason: str, sure: float) -> Finding:
    return Finding(K.EMPTY_RESULT, "empty", reason, sure)


def of_value(value: Any, call: ToolCall) -> Finding | None:
    """Return EMPTY_RESULT when a reading tool brought nothing back, None otherwise."""
    if call.effect is Effect.WRITE:
        return None
    tool = snake(call.tool.rsplit("/", 1)[-1])
    if value is None or (isinstance(value, str) and (not value or value.isspace())):
        if _SILENT_TOOLS.search(tool) or not _SEARCHES.search(tool) or _GOOD_NEWS.search(tool):
            return None
        return _found("nothing came back", 0.8)
    if isinstance(value, str):
        if len(value) <= 300 and _SAYS_NONE.search(value) and not _GOOD_NEWS.search(tool):
            return _found("the text says that nothing was found", 0.85)
        return _found("an empty list came back", 0.85) if value.strip() in ("[]", "{}", "null", "None", "()") and not _GOOD_NEWS.search(tool) else None
    if isinstance(value, list | tuple):
        return None if value or _GOOD_NEWS.search(tool) else _found("an empty list came back", 0.95)
    if isinstance(value, Mapping):
        return _of_mapping(value, tool)
    return None


def could_be_empty(value: Any) -> bool:
    """Whether a list or mapping is empty or holds something empty near its top: the cheap test that most fail."""
    if not value:
        return True
    if (type(value) is not dict and not isinstance(value, Mapping)) or len(value) > 25:
        return False
    for member in value.values():
        if not member and (member is None or type(member) in (list, dict)):
            return True
        if member == "ZERO_RESULTS":
            return True
        if type(member) is dict and len(member) <= 3 and could_be_empty(member):
            return True
    return False


def _of_mapping(body: Mapping[str, Any], tool: str) -> Finding | None:
    if not body:
        return None if _GOOD_NEWS.search(tool) else _found("an empty object came back", 0.85)
    if len(body) > 25 or _GOOD_NEWS.search(tool):
        return None
    if body.get("status") == "ZERO_RESULTS":
        return _found("the status is ZERO_RESULTS", 0.97)
    empty = False
    for key, value in body.items():
        name = snake(key) if isinstance(key, str) else ""
        if isinstance(value, list | Mapping) and not value:
            if name in ("errors", "warnings", "meta", "metadata", "filters", "headers", "links", "facets") or _GOOD_NEWS.search(name):
                continue
            if _holds_answer(name, tool):
                empty = True
            continue
        if value is None:
            empty = empty or name in ("data", "result", "results", "items", "payload", "value", "body", "record", "response")
            continue
        if _ZERO.search(name) and value == 0 and type(value) is int:
            continue
        if name == "data" and isinstance(value, Mapping) and _of_mapping(value, tool) is not None:
            empty = True
            continue
        if isinstance(value, Mapping) and name == "hits" and isinstance(value.get("hits"), list):
            if value["hits"]:
                return None
            empty = True
            continue
        if name not in _META and not (isinstance(value, Mapping) and name in ("query", "usage", "meta", "metadata", "pagination")):
            return None
    return _found("the list that the answer is about is empty", 0.85) if empty else None


def _holds_answer(name: str, tool: str) -> bool:
    return name in _COLLECTIONS or any(word in tool for word in (name, name.rstrip("s")) if len(word) > 2) or bool(_SEARCHES.search(tool))
