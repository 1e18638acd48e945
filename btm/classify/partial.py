"""Marks of an incomplete answer that stand in the data: truncated, a next page left, a batch with failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import body_keys as keys
from btm.classify.finding import Finding
from btm.classify.keys import Role
from btm.classify.reading import is_blank
from btm.classify.rules import form, listed
from btm.model import Effect, ToolCall
from btm.model import ErrorKind as K

STATUSES = listed("partial", "statuses")
"""What a field ``status`` says of an answer that is there in part."""

_SUCCEEDED = form("partial", "succeeded")
_WORDS = form("partial", "words")
_TEXT = form("partial", "text")
_OF = form("partial", "of")
_CUES = listed("partial", "cues")


def stems() -> frozenset[str]:
    """Return the beginnings of words of which a text that says that it is cut or empty holds one."""
    return frozenset(cue.split()[0][:4] for cue in _CUES) | _MORE_STEMS


_MORE_STEMS = listed("partial", "more_stems")
_LAST_KNOWN = form("partial", "last_known")
ENDS = 400
"""Characters at each end of a text in which it would say that it is cut."""


def _found(rule: str, reason: str, sure: float = 0.9) -> Finding:
    return Finding(K.PARTIAL_DATA, f"partial:{rule}", reason, sure)


def of_field(role: Role, key: str, value: Any, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    """Return the mark of incompleteness that a field is; ``role.partial`` names the sort of mark."""
    sign = role.partial
    if sign == "status":
        return _of_status(value)
    if sign == "whole":
        some = value is False and any(isinstance(v, list | Mapping) and v for v in body.values())
        return _found("flag", f"{key} is false") if some else None
    if sign == "failed":
        return _of_failures(key, value, body, call)
    if sign == "items":
        return of_items(value, call)
    if not value or not _is_mark(sign, value, body, call):
        return None
    return _found(sign.replace("_", "-"), f"{key} says so", _SURE.get(sign, 0.9))


_SURE = {"flag": 0.95, "shards": 0.95, "note": 0.8}


def _is_mark(sign: str, value: Any, body: Mapping[Any, Any], call: ToolCall) -> bool:
    if sign == "flag":
        return value is True
    if sign == "timed_out":
        return value is True and ("hits" in body or "results" in body)
    if sign == "unprocessed":
        return isinstance(value, list | Mapping) or (type(value) is int and value > 0)
    if sign == "shards":
        failed = value.get("failed") if isinstance(value, Mapping) else 0
        return isinstance(failed, int) and failed > 0
    if sign == "errors":
        return _beside_data(body, value, call)
    return sign == "note" and is_note(value)


def _of_status(value: Any) -> Finding | None:
    if type(value) is str and len(value) < 30 and value.lower().replace(" ", "_") in STATUSES:
        return _found("status", f"status is {value[:40]}", 0.92)
    return None


def _of_failures(key: str, value: Any, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    count = len(value) if isinstance(value, list) else value if type(value) is int else 0
    if call.effect is not Effect.WRITE or count <= 0 or not some_succeeded(body):
        return None
    return _found("failed-items", f"{key} is {count} beside successes")


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
    held = set.intersection(*({k for k, v in item.items() if not is_blank(v)} for item in fine))
    return any(all(is_blank(item.get(name)) for item in failed) for name in held)


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
    if any(cue in low for cue in _CUES) and _TEXT.search(ends):
        return _found("text", "the text says that it is cut", 0.85)
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
