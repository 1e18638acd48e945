"""Marks of an incomplete answer that stand in the data: truncated, a next page left, a batch with failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
ENDS = 400
"""Characters at each end of a text in which it would say that it is cut."""


def _found(rule: str, reason: str, sure: float = 0.9) -> Finding:
    return Finding(K.PARTIAL_DATA, f"partial:{rule}", reason, sure)


def of_field(role: Role, key: str, value: Any, body: Mapping[Any, Any], call: ToolCall) -> Finding | None:
    """Return the mark of incompleteness that a field is; ``role.partial`` names the sort of mark."""
    if role.partial == "items":
        return of_items(value, call)
    if not _MARKS[role.partial](value, body, call):
        return None
    return _found(role.partial, f"{key} is {value}" if isinstance(value, bool) else f"{key} says so")


def _is_count_of_failures(value: Any, body: Mapping[Any, Any], call: ToolCall) -> bool:
    count = len(value) if isinstance(value, list) else value if type(value) is int else 0
    return call.effect is Effect.WRITE and count > 0 and some_succeeded(body)


def _is_beside_data(errors: Any, body: Mapping[Any, Any], call: ToolCall) -> bool:
    first = errors[0] if isinstance(errors, list) and errors else errors
    if not errors or not isinstance(first, str | Mapping) or not isinstance(errors, list | Mapping):
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


_MARKS: Mapping[str, Callable[[Any, Mapping[Any, Any], ToolCall], bool]] = {
    "flag": lambda value, *_: value is True,
    "whole": lambda value, body, _: (
        value is False and any(isinstance(v, list | Mapping) and v for v in body.values())
    ),
    "timed_out": lambda value, body, _: value is True and ("hits" in body or "results" in body),
    "unprocessed": lambda value, *_: (
        bool(value) and (isinstance(value, list | Mapping) or (type(value) is int and value > 0))
    ),
    "shards": lambda value, *_: (
        isinstance(value, Mapping) and isinstance(n := value.get("failed"), int) and n > 0
    ),
    "status": lambda value, *_: (
        type(value) is str and len(value) < 30 and value.lower().replace(" ", "_") in STATUSES
    ),
    "failed": _is_count_of_failures,
    "errors": _is_beside_data,
    "note": lambda value, *_: is_note(value),
}


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
        return _found("items", "some members of the batch failed")
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


def in_text(text: str) -> Finding | None:
    """Return the mark of incompleteness in a text: its first and last few hundred characters are read."""
    ends = text if len(text) <= 2 * ENDS else text[:ENDS] + "\n" + text[-ENDS:]
    low = ends.lower()
    if any(cue in low for cue in _CUES) and _TEXT.search(ends):
        return _found("text", "the text says that it is cut", 0.85)
    for match in _OF.finditer(ends) if " of " in low else ():
        last, total = (int(n.replace(",", "")) for n in (match[2] or match[1], match[3]))
        if last < total:
            return _found("text", f"the text shows {last} of {total}", 0.75)
    return None
