"""Marks of an incomplete answer that stand in the data: truncated, a next page left, a batch with failures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from btm.classify.finding import Finding
from btm.classify.keys import snake
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

_FLAGS = re.compile(r"^(?:is_|was_|output_|response_|content_|results?_)?truncated$|^(?:is_)?incomplete(?:_results)?$|^(?:is_)?partial(?:_results?|_response)?$|^terminated_early$|^exceeded_?transfer_?limit$|^search_incomplete$")
_MORE = re.compile(r"^has_?more(?:_\w+)?$|^has_?next(?:_page)?$|^more_(?:results|available|items|pages)(?:_available)?$")
_NEXT = re.compile(r"^_?_?next_?(?:page)?_?(?:token|cursor|link|marker|url)$|^(?:@odata\.)?next_?link$|^last_?evaluated_?key$|^next_?(?:page|cursor|token|marker)$")
_UNPROCESSED = re.compile(r"^unprocessed_?(?:items|keys|records|entries|rows)?$|^failed_?(?:put_count|record_count|entry_count|entries)$|^(?:missing|unavailable)_(?:sources|providers|suppliers|pages|columns)$")
_FAILED = re.compile(r"^(?:failed|failures?|failed_?(?:count|rows|items|records|messages)|num_?failed|error_?count|rejected(?:_count)?)$")
_STATUSES = frozenset({"partial", "partial_success", "partially_completed", "completed_with_errors", "partially_failed", "incomplete", "partial_failure", "success_with_warnings", "partialcontent"})
_WORDS = re.compile(
    r"results? (?:are|is|may be|might be) (?:incomplete|partial|truncated)|(?:incomplete|partial) (?:results?|data|response|answer|list)|did not (?:respond|answer|return)|could not be (?:decoded|read|loaded|fetched|retrieved|processed|reached|queried|parsed)"
    r"|(?:was|were|been|are|is|output|response|content|text|list|results?) (?:too long and (?:was|were) )?(?:truncated|cut off|omitted|clipped)|only (?:the )?(?:first|partial|some)\b|\bskipped \d|(?:data|fields?|sources?|pages?|rows?|records?) (?:is |are |was |were )?(?:missing|unavailable|skipped|omitted|not available)"
    r"|some (?:\w+ ){0,3}(?:failed|missing|unavailable|could not|were not|omitted|skipped)|timed out .{0,40}(?:partial|incomplete)|more (?:results|rows|items) (?:are )?available|unvollständig|incomplet|不完整|一部",
    re.IGNORECASE,
)
_TEXT = re.compile(
    r"[\[(<…][^\n\])>]{0,80}(?:truncated|omitted|skipped|cut off|clipped|could not be (?:read|decoded|loaded))[^\n]{0,60}[\])>…]|^\W{0,4}(?:output|content|response|result|message|text|file|data)s?\b[^\n]{0,40}\btruncated|content truncated\.|\btruncated (?:to|at|after|because|due)\b|\.\.\. ?\(?(?:output )?truncated|<response clipped>"
    r"|\bresults? (?:are|is|may be) (?:incomplete|truncated|partial)|\boutput (?:was |is |has been )?(?:truncated|too long|limited)|[\[(]\.\.\. ?\d+ (?:more )?(?:characters|lines|rows|bytes|items|results)[^\n]{0,30}[\])]|\.\.\. ?\d+ more (?:rows|results|items|entries|characters)|[\[(]partial (?:results?|output|content)",
    re.IGNORECASE | re.MULTILINE,
)
_OF = re.compile(r"\b(?:showing|displaying|returned|displayed|listing|shown|retrieved|first)\b[^\n\d]{0,30}(\d{1,9})(?: ?(?:-|–|to) ?(\d{1,9}))? (?:results? |rows? |lines? |items? |records? |entries )?(?:of|out of|/) (?:about |a total of |approximately )?(\d{1,9})\b", re.IGNORECASE)


def _found(rule: str, reason: str, sure: float = 0.9) -> Finding:
    return Finding(K.PARTIAL_DATA, f"partial:{rule}", reason, sure)


def in_mapping(body: Mapping[str, Any], call: ToolCall) -> Finding | None:
    """Return the mark of incompleteness in one mapping of a result, if there is one."""
    for key, value in body.items():
        if not value or not isinstance(key, str):
            continue
        found = _of_field(snake(key), key, value, body, call)
        if found is not None:
            return found
    return None


def _of_field(name: str, key: str, value: Any, body: Mapping[str, Any], call: ToolCall) -> Finding | None:  # noqa: PLR0912 - a list of signs
    if value is True:
        if _FLAGS.search(name):
            return _found("flag", f"{key} is true", 0.95)
        if _MORE.search(name):
            return _found("next-page", f"{key} is true: a next page is left", 0.85)
        if name == "timed_out" and ("hits" in body or "results" in body):
            return _found("timed-out", "the search timed out and shows what it had")
        return None
    if isinstance(value, str | Mapping) and _NEXT.search(name) and _is_pointer(name, value, body):
        return _found("next-page", f"{key} is set: a next page is left", 0.8)
    if _UNPROCESSED.search(name) and (isinstance(value, list | Mapping) or (isinstance(value, int) and value > 0)):
        return _found("unprocessed", f"{key} is not empty")
    if name == "status" and isinstance(value, str) and snake(value) in _STATUSES:
        return _found("status", f"status is {value[:40]}", 0.92)
    if name in ("status", "status_code") and value == 206 and type(value) is int and "content_range" not in {snake(k) for k in body if isinstance(k, str)}:
        return _found("status", "HTTP status 206: partial content", 0.8)
    if _FAILED.search(name) and call.effect is Effect.WRITE and _some_succeeded(body) and (isinstance(value, list) or (type(value) is int and value > 0)):
        return _found("failed-items", f"{key} is {value if isinstance(value, int) else len(value)} beside successes")
    if name == "_shards" and isinstance(value, Mapping) and isinstance(value.get("failed"), int) and value["failed"] > 0:
        return _found("shards", "some shards failed", 0.95)
    if name in ("errors", "error") and isinstance(value, list | Mapping) and _beside_data(body, value):
        return _found("errors-beside-data", f"{key} stands beside data")
    if name in ("warnings", "warning", "note", "notes", "notice", "message", "info", "remark", "hint"):
        return _of_note(key, value)
    return None


def _is_pointer(name: str, value: str | Mapping[Any, Any], body: Mapping[str, Any]) -> bool:
    if name in ("next", "next_page"):
        return isinstance(value, str) and (value.startswith(("http", "/")) or any(isinstance(v, list) for v in body.values()))
    return len(value) > 0 and (isinstance(value, Mapping) or value.lower() not in ("null", "none", "false"))


def _some_succeeded(body: Mapping[str, Any]) -> bool:
    for key, value in body.items():
        if isinstance(key, str) and re.search(r"succe|sent|imported|created|inserted|updated|processed|completed|ok|delivered|accepted|total", key.lower()):
            if (type(value) is int and value > 0) or (isinstance(value, list) and value):
                return True
    return False


def _beside_data(body: Mapping[str, Any], errors: Any) -> bool:
    first = errors[0] if isinstance(errors, list) and errors else errors
    if not isinstance(first, str | Mapping):
        return False
    data = body.get("data")
    if isinstance(data, Mapping | list) and data:
        return True
    return body.get("success") is True or body.get("ok") is True or body.get("status") in ("success", "ok")


def _of_note(key: str, value: Any) -> Finding | None:
    texts = [value] if isinstance(value, str) else [v for v in value[:5] if isinstance(v, str)] if isinstance(value, list) else []
    for text in texts:
        if len(text) <= 400 and _WORDS.search(text):
            return _found("note", f"{key} speaks of an incomplete answer", 0.8)
    return None


def in_text(text: str) -> Finding | None:
    """Return the mark of incompleteness in a text: its first and last few hundred characters are read."""
    ends = text if len(text) <= 900 else text[:400] + "\n" + text[-500:]
    low = ends.lower()
    if any(w in low for w in ("truncated", "omitted", "skipped", "clipped", "cut off", "incomplete", "partial", " more ", "output", "could not be")):
        if _TEXT.search(ends):
            return _found("text", "the text says that it is cut", 0.85)
    if " of " in low or " out of " in low:
        for match in _OF.finditer(ends):
            last, total = int(match.group(2) or match.group(1)), int(match.group(3))
            if last < total:
                return _found("text", f"the text shows {last} of {total}", 0.75)
    return None
