"""Outcomes as rows of JSON: exceptions rebuilt from a record without the libraries that raised them, rows classified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from btm.classify import dates
from btm.classify.engine import classify
from btm.classify.frameworks import ToolResult
from btm.model import Effect, Outcome, ToolCall

_FORBIDDEN = frozenset({"args", "with_traceback", "add_note", "exceptions"})
_MAX_DEPTH = 8


class RecordedException(Exception):  # noqa: N818 - not an error of btm's: it stands for one of a library
    """Base of rebuilt exceptions. Its text is the recorded one; recorded attributes are its attributes."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.recorded_message = message

    def __str__(self) -> str:
        return self.recorded_message


def rebuild_exception(record: Mapping[str, Any], _depth: int = 0) -> BaseException:
    """Return an exception equivalent to a recorded one, for classification.

    ``record`` has ``mro`` (qualified class names, the class itself first), ``message``, ``attributes`` (a mapping)
    and ``cause`` (a record or None). Missing or odd entries are left out; nothing raises for them.
    """
    names = [n for n in _items(record.get("mro")) if isinstance(n, str)] or [
        str(record.get("type") or "Exception")
    ]
    made = _class_of(names)(str(record.get("message") or ""))
    attributes = record.get("attributes")
    if isinstance(attributes, Mapping):
        for name, value in attributes.items():
            if str(name).isidentifier() and not str(name).startswith("__") and name not in _FORBIDDEN:
                setattr(made, str(name), value)
        members = (
            _items(attributes.get("exceptions") or record.get("exceptions")) if _depth < _MAX_DEPTH else ()
        )
        group = [rebuild_exception(r, _depth + 1) for r in members if isinstance(r, Mapping)]
        made.exceptions = group  # type: ignore[attr-defined]
    for link in ("cause", "context"):
        inner = record.get(link)
        if isinstance(inner, Mapping) and _depth < _MAX_DEPTH and made.__cause__ is None:
            made.__cause__ = rebuild_exception(inner, _depth + 1)
    return made


def _items(value: object) -> Iterable[Any]:
    return value[:20] if isinstance(value, list | tuple) else ()


def _class_of(names: list[str]) -> type[RecordedException]:
    base: type[RecordedException] = RecordedException
    for name in reversed(names[:20]):
        module, _, bare = name.rpartition(".")
        if not module and bare in ("Exception", "BaseException", "object"):
            continue
        base = type(bare or "Exception", (base,), {"__module__": module or "builtins"})
    return base


def classify_row(row: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a recorded row.

    A row has ``tool``, ``effect`` (read or write), ``called_at`` (ISO time, epoch seconds or null), optionally
    ``arguments``, and ``outcome``: ``{"form": "exception", "mro", "message", "attributes", "cause"}`` or
    ``{"form": "result", "value", "is_error"}``. Raises ValueError when there is no outcome to read.
    """
    outcome = row.get("outcome")
    if not isinstance(outcome, Mapping) or outcome.get("form") not in ("exception", "result"):
        raise ValueError('no "outcome" of the form "exception" or "result"')
    arguments = row.get("arguments")
    call = ToolCall(
        tool=str(row.get("tool") or ""),
        arguments=arguments if isinstance(arguments, Mapping) else {},
        effect=Effect.WRITE if row.get("effect") == "write" else Effect.READ,
        at=dates.moment(row.get("called_at")) or 0.0,
    )
    if outcome["form"] == "exception":
        return classify(call, error=rebuild_exception(outcome))
    flag = outcome.get("is_error")
    return classify(call, ToolResult(outcome.get("value"), flag if isinstance(flag, bool) else None))
