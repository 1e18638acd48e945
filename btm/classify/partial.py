"""Marks of an incomplete answer that stand in the data: truncated, a next page left, a batch with failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import body_keys as keys
from btm.classify.finding import Finding, names
from btm.classify.keys import Role, snake
from btm.classify.rules import form
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

STATUSES = names(
    "partial partial_success partially_completed completed_with_errors partially_failed "
    "partial_failure incomplete"
    " success_with_warnings partial_content"
)
"""What a field ``status`` says of an answer that is there in part."""

_SUCCEEDED = form("partial", "succeeded")
_WORDS = form("partial", "words")
_TEXT = form("partial", "text")
_OF = form("partial", "of")
_CUES = (
    "only the first",
    "only first",
    "limit reached",
    "missing",
    "truncated",
    "omitted",
    "skipped",
    "clipped",
    "cut off",
    "incomplete",
    "partial",
    " more ",
    "output",
    "could not be",
)


def stems() -> frozenset[str]:
    """Return the beginnings of words of which a text that says that it is cut or empty holds one."""
    return frozenset(cue.split()[0][:4] for cue in _CUES) | _MORE_STEMS


_MORE_STEMS = names("show disp retu list retr firs no zero 0 none null noth empt coul deco")
_LAST_KNOWN = form("partial", "last_known")
ENDS = 400
"""Characters at each end of a text in which it would say that it is cut."""


def _found(rule: str, reason: str, sure: float = 0.9) -> Finding:
    return Finding(K.PARTIAL_DATA, f"partial:{rule}", reason, sure)


def _next_page(key: str) -> Finding:
    """A page of a list is what was asked for; that more is left is worth a hint."""
    return _found("next-page", f"{key} says that a next page is left", 0.5)._replace(doubtful=True)


def of_field(role: Role, key: str, value: Any, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    """Return the mark of incompleteness that a field is; ``role.partial`` names the sort of mark."""
    sign = role.partial
    if sign == "status":
        return _of_status(role.name, value, body)
    if sign == "whole" and value is False:
        return (
            _found("flag", f"{key} is false", 0.9)
            if any(isinstance(v, list | Mapping) and v for v in body.values())
            else None
        )
    if not value:
        return None
    if value is True:
        return _of_flag(sign, key, body)
    if sign == "items":
        return of_items(value, call)
    if sign == "next":
        return _next_page(key) if _is_pointer(role.name, value, body) else None
    if sign == "unprocessed":
        some = isinstance(value, list | Mapping) or (isinstance(value, int) and value > 0)
        return _found("unprocessed", f"{key} is not empty") if some else None
    if sign == "failed":
        return _of_failures(key, value, body, call)
    if sign == "shards":
        failed = value.get("failed") if isinstance(value, Mapping) else 0
        return (
            _found("shards", "some shards failed", 0.95) if isinstance(failed, int) and failed > 0 else None
        )
    if sign == "errors":
        return (
            _found("errors-beside-data", f"{key} stands beside data")
            if _beside_data(body, value, call)
            else None
        )
    if sign == "note" and is_note(value):
        return _found("note", f"{key} speaks of an incomplete answer", 0.8)
    return None


def _of_status(name: str, value: Any, body: Mapping[Any, Any]) -> Finding | None:
    if type(value) is str:
        return (
            _found("status", f"status is {value[:40]}", 0.92)
            if len(value) < 30 and value.lower().replace(" ", "_") in STATUSES
            else None
        )
    if type(value) is int and value == 206 and name.startswith("status"):
        asked = any(isinstance(k, str) and snake(k) == "content_range" for k in body)
        return None if asked else _found("status", "HTTP status 206: partial content", 0.8)
    return None


def _of_flag(sign: str, key: str, body: Mapping[Any, Any]) -> Finding | None:
    if sign == "flag":
        return _found("flag", f"{key} is true", 0.95)
    if sign == "more":
        return _next_page(key)
    if sign == "timed_out" and ("hits" in body or "results" in body):
        return _found("timed-out", "the search timed out and shows what it had")
    return None


def _is_pointer(name: str, value: Any, body: Mapping[Any, Any]) -> bool:
    if isinstance(value, Mapping):
        return name == "last_evaluated_key"
    if not isinstance(value, str) or value.lower() in ("null", "none", "false"):
        return False
    if name in ("next", "next_page"):
        return value.startswith(("http", "/")) or (
            name == "next_page" and any(isinstance(v, list) for v in body.values())
        )
    return True


def _of_failures(key: str, value: Any, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    if (
        call.effect is not Effect.WRITE
        or not (isinstance(value, list) or type(value) is int)
        or not some_succeeded(body)
    ):
        return None
    count = value if isinstance(value, int) else len(value)
    return _found("failed-items", f"{key} is {count} beside successes") if count > 0 else None


def of_items(value: Any, call: ToolCall) -> Finding | None:
    """A batch whose members say how they fared: by HTTP statuses (207), or with an error instead of what others hold."""
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_ITEMS:
        return None
    items = [item for item in value if isinstance(item, Mapping)]
    statuses = [item.get("status", item.get("statusCode")) for item in items]
    codes = [s for s in statuses if type(s) is int and 200 <= s <= 599]
    mixed = (
        call.effect is Effect.WRITE and len(codes) == len(value) and min(codes) < 300 and max(codes) >= 400
    )
    if len(items) == len(value) and (mixed or have_errors_instead(items)):
        return _found("failed-items", "some members of the batch failed", 0.9)
    return None


_MOST_ITEMS = 50


def have_errors_instead(items: list[Mapping[Any, Any]]) -> bool:
    """Whether some items hold an error, and lack what all the others hold: of several things asked for, some came."""
    failed = [item for item in items if any(_fails(name, value) for name, value in item.items())]
    fine = [item for item in items if item not in failed]
    if not failed or not fine:
        return False
    held = set.intersection(*({k for k, v in item.items() if v not in (None, "", [], {})} for item in fine))
    return any(all(item.get(name) in (None, "", [], {}) for item in failed) for name in held)


def _fails(name: Any, value: Any) -> bool:
    told = isinstance(value, str | Mapping) or (type(value) is int and not keys.counts(name))
    return isinstance(name, str) and keys.is_error(name) and bool(value) and told


def some_succeeded(body: Mapping[Any, Any]) -> bool:
    """Whether a batch's answer counts or lists something that went well."""
    return any(
        isinstance(key, str)
        and ((type(value) is int and value > 0) or (isinstance(value, list) and bool(value)))
        and _SUCCEEDED.search(key.lower()) is not None
        for key, value in body.items()
    )


def _beside_data(body: Mapping[Any, Any], errors: Any, call: ToolCall) -> bool:
    first = errors[0] if isinstance(errors, list) else errors
    if not isinstance(first, str | Mapping) or not isinstance(errors, list | Mapping):
        return False
    if call.effect is Effect.WRITE and isinstance(errors, list) and some_succeeded(body):
        return True
    data = body.get("data")
    if isinstance(data, Mapping | list) and data:
        return True
    return body.get("success") is True or body.get("ok") is True or body.get("status") in ("success", "ok")


def is_note(value: Any) -> bool:
    """Whether a message, or one of a list of them, speaks of an answer that is there in part."""
    texts = value[:5] if isinstance(value, list) else (value,)
    return any(isinstance(text, str) and len(text) <= 400 and _WORDS.search(text) for text in texts)


def in_text(text: str) -> Finding | None:
    """Return the mark of incompleteness in a text: its first and last few hundred characters are read."""
    ends = text if len(text) <= 2 * ENDS else text[:ENDS] + "\n" + text[-ENDS:]
    low = ends.lower()
    for cue in _CUES:
        if cue in low:
            if _TEXT.search(ends):
                return _found("text", "the text says that it is cut", 0.85)
            break
    if "last known" in low and _LAST_KNOWN.search(ends):
        return Finding(K.STALE_DATA, "stale:text", "the text says that it shows the last known value", 0.85)
    if " of " in low:
        for match in _OF.finditer(ends):
            last, total = (
                int(n.replace(",", "")) for n in (match.group(2) or match.group(1), match.group(3))
            )
            if last < total:
                return _found("text", f"the text shows {last} of {total}", 0.75)
    return None
