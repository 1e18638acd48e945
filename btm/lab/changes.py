"""What changed between two states, in words that are equal for equal changes.

A refund booked twice must read the same both times, so a number is told by how much it changed, a new element of a list
without its position, and a new record without the id that was made up for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from btm.lab.jsonvalue import UNDATED

_DIGITS = 6


def changes(before: Any, after: Any) -> str:
    """Return what became of ``before`` (JSON values), ``""`` where nothing did. Dates of reading are no change."""
    return "; ".join(_changed(before, after, ""))


def _changed(before: Any, after: Any, at: str) -> list[str]:
    if before == after and isinstance(before, bool) == isinstance(after, bool):
        return []
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _in_mapping(before, after, at)
    if isinstance(before, list) and isinstance(after, list):
        return _in_list(before, after, at)
    if _number(before) and _number(after):
        return [f"{at} {round(after - before, _DIGITS):+}"]
    return [f"{at} = {_text(after)}"]


def _in_mapping(before: Mapping[Any, Any], after: Mapping[Any, Any], at: str) -> list[str]:
    found: list[str] = []
    for key in sorted({*before, *after} - UNDATED, key=str):
        if key not in before:
            found.append(
                f"{at} + {_text(_without(after[key], key))}" if at else f"{key} = {_text(after[key])}"
            )
        elif key not in after:
            found.append(f"{at}.{key} removed")
        else:
            found += _changed(before[key], after[key], f"{at}.{key}" if at else str(key))
    return found


def _in_list(before: list[Any], after: list[Any], at: str) -> list[str]:
    if len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [line for n, (x, y) in enumerate(pairs) for line in _changed(x, y, f"{at}[{n}]")]
    old, new = [_text(item) for item in before], [_text(item) for item in after]
    for text in list(old):
        if text in new:
            old.remove(text)
            new.remove(text)
    return [*(f"{at} - {text}" for text in old), *(f"{at} + {text}" for text in new)]


def _without(value: Any, key: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(item, key) for name, item in value.items() if name not in UNDATED}
    if isinstance(value, list):
        return [_without(item, key) for item in value]
    return "*" if value == key else value


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
