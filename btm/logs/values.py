"""Small readings that the formats share: arguments, times, contents and the names of errors."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from btm.logs.conversation import AS_GIVEN
from btm.logs.lenient import loads

_LITERAL_LIMIT = 100_000

CONTROL_FLOW = frozenset(
    ("CancelledError", "GeneratorExit", "GraphBubbleUp", "GraphDelegate", "GraphInterrupt", "KeyboardInterrupt",
     "NodeInterrupt", "ParentCommand")
)  # fmt: skip
"""Exceptions by which frameworks steer (LangGraph, asyncio). A tool that raised one has not failed."""


def arguments_of(value: object) -> dict[str, Any]:
    """Return a call's arguments as a mapping: JSON text is parsed, anything else is kept under ``AS_GIVEN``."""
    if type(value) is str:
        try:
            parsed = orjson.loads(value)
        except ValueError:
            return _repaired(value)
        if type(parsed) is dict:
            return parsed
        if isinstance(parsed, str):  # encoded twice
            return arguments_of(parsed) if len(parsed) < len(value) and parsed != value else {AS_GIVEN: value}
    if isinstance(value, dict):
        return value
    return {} if value is None else {AS_GIVEN: value}


def _repaired(text: str) -> dict[str, Any]:
    if not text or text.isspace():
        return {}
    try:
        parsed = loads(text.encode("utf-8", "replace"))  # NaN and the like
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {AS_GIVEN: text}


def printed_arguments(value: object) -> dict[str, Any]:
    """Like ``arguments_of``, and reads the text that Python prints for a dict, which tracers record."""
    arguments = arguments_of(value)
    text = arguments.get(AS_GIVEN)
    if isinstance(text, str) and text.lstrip().startswith("{") and len(text) <= _LITERAL_LIMIT:
        try:
            literal = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return arguments
        if isinstance(literal, dict) and all(isinstance(key, str) for key in literal):
            return literal
    return arguments


_LATEST_NS = 1e20


def time_of(value: object) -> float | None:
    """Return a time as seconds since the epoch, or None when it is none.

    Text is ISO 8601, UTC where it names no zone, or a number. Numbers are seconds, milliseconds, microseconds or
    nanoseconds, told apart by their size: seconds reach 1e11 in the year 5138, nanoseconds 1e20.
    """
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            return _minute(value[:16]) + _seconds(value[16:])  # nearly all logs have this form
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return None
        else:
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not isinstance(value, int | float) or not abs(value) < _LATEST_NS:  # NaN is not less, either
        return None
    seconds = float(value)
    while abs(seconds) >= 1e11:
        seconds /= 1e3
    return seconds


@lru_cache(maxsize=1_024)
def _minute(text: str) -> float:
    if len(text) != 16:
        raise ValueError("not a date and minute")
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _seconds(text: str) -> float:
    seconds = float(text[1:].removesuffix("Z").removesuffix("+00:00"))
    if text[0] != ":" or not 0.0 <= seconds < 60.0:
        raise ValueError("not the seconds of a time")
    return seconds


def number_of(value: object) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def content_of(content: Any) -> Any:
    """Return a message's content: blocks that are all text become one text, anything else stays as it is."""
    if type(content) is not list or not content:
        return content
    texts: list[str] = []
    for block in content:
        text = block if isinstance(block, str) else _text_of(block) if isinstance(block, dict) else None
        if not isinstance(text, str):
            return content
        texts.append(text)
    return "\n".join(texts)


def _text_of(block: dict[str, Any]) -> Any:
    document = block.get("document")
    return block.get("text", block.get("Text", document.get("data") if isinstance(document, dict) else None))


def parsed_json(value: Any) -> Any:
    """Return what a text that holds a JSON object or array says, or the value as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return loads(value.encode("utf-8", "replace"))
        except ValueError:
            return value
    return value


_FEWEST_COLUMNS = 3
"""Columns of a table whose rows a log holds as lists by column, at least one more: an id, a name, a time, a text."""


def rows_in(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that is written by columns, as pandas and Logfire write them; none for anything else."""
    columns, data = record.get("columns"), record.get("data")
    if isinstance(columns, list) and columns and all(isinstance(c, dict) and "values" in c for c in columns):
        names = [str(column.get("name")) for column in columns]
        return [
            dict(zip(names, row, strict=True)) for row in zip(*(c["values"] for c in columns), strict=True)
        ]
    if (
        isinstance(columns, list)
        and isinstance(data, list)
        and data
        and all(isinstance(r, list) for r in data)
    ):
        return [dict(zip(map(str, columns), row, strict=False)) for row in data]
    first = next(iter(record.values()), None)
    if (
        isinstance(first, list)
        and len(record) > _FEWEST_COLUMNS
        and all(isinstance(column, list) and len(column) == len(first) > 0 for column in record.values())
    ):
        return [dict(zip(record, row, strict=True)) for row in zip(*record.values(), strict=True)]
    if not (isinstance(first, dict) and first and len(record) > 1 and all(map(str.isdecimal, first))):
        return []
    if not all(isinstance(column, dict) and column.keys() == first.keys() for column in record.values()):
        return []
    return [{name: column[key] for name, column in record.items()} for key in first]


def parsed_text(value: str) -> Any:
    """Return the text that a JSON text says, or the value as it is."""
    if value[:1] == '"':
        try:
            return orjson.loads(value)
        except ValueError:
            pass
    return value


_RAISED = re.compile(r"([A-Za-z_][\w.]{0,200})\(")
_PRINTED = re.compile(
    r"([A-Za-z_][\w.]{0,200}(?:Error|Exception|Warning|Interrupt|Exit|Timeout|Failure))\b:?"
)


def error_name(text: object) -> str | None:
    """Return the class name that an error's text begins with (``TimeoutError('...')``, ``ValueError: ...``)."""
    if not isinstance(text, str):
        return None
    found = _PRINTED.match(text) or _RAISED.match(text)
    return found[1] if found else None


def is_control_flow(error_type: str | None) -> bool:
    """Whether an exception of this (possibly qualified) name steers the framework instead of reporting a failure."""
    return error_type is not None and error_type.rpartition(".")[2] in CONTROL_FLOW
