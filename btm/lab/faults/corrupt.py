"""Silent faults: a result that looks like a success and is wrong.

Each function takes a clean JSON value and returns a changed copy, or None when this result offers nothing to change
(then no fault is injected). ``used`` are the places that the task at hand depends on: a fault aims at them where
it can, since a wrong value that is never read does no harm.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from btm.lab.faults.clock import START
from btm.lab.faults.draw import Draw
from btm.lab.faults.errors import garble
from btm.lab.faults.paths import holders, parts_of
from btm.lab.faults.shape import DAY, ToolShape
from btm.lab.faults.values import aged, earlier, has_an_earlier_value, other
from btm.lab.jsonvalue import parsed
from btm.model import ErrorKind

Place = tuple[str | int, ...]
"""Where a value stands in a JSON value: keys and positions from the top."""


WHOLE = "."
"""The path of a whole result, such as a bare text or number."""


def keys(place: Place) -> tuple[str, ...]:
    """Return a place without its positions, to be compared with a dotted path."""
    return tuple(part for part in place if isinstance(part, str))


def covers(path: str, place: Place) -> bool:
    """Whether a dotted path names this place or something that holds it."""
    parts = parts_of(path)
    return keys(place)[: len(parts)] == parts


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a silent fault should strike: what is declared of the tool, what the task uses, and when it is now."""

    draw: Draw
    shape: ToolShape = field(default_factory=ToolShape)
    used: tuple[Place, ...] = ()
    now: float = START

    def choose(self, paths: Sequence[str], value: Any) -> str | None:
        """Choose a declared path that ``value`` has, one that the task depends on where there is one."""
        present = [p for p in paths if p == WHOLE or next(holders(value, p), None)]
        wanted = [p for p in present if any(covers(p, place) for place in self.used)]
        return self.draw.pick(wanted or present, "field") if present else None


def corrupt(kind: ErrorKind, result: Any, aim: Aim) -> Any | None:
    """Return ``result`` with a fault of ``kind``, or None when it has no place for one.

    A result that is JSON text is changed as JSON and comes back as text.
    Raises ValueError for a kind that is not returned as a result.
    """
    if kind is ErrorKind.MALFORMED:
        return garble(result, aim.draw)
    if kind not in _WAYS:
        raise ValueError(f"{kind} does not come as a result; expected malformed, {', '.join(_WAYS)}")
    value = parsed(result)
    ways = BY_VALUE if aim.shape.by_value else _WAYS
    changed = ways[kind](copy.deepcopy(value), aim)
    if changed is None or changed == value:
        return None
    return changed if value is result else json.dumps(changed)


def harms(kind: ErrorKind, shape: ToolShape, used: Mapping[Place, Any]) -> bool:
    """Whether a fault of ``kind`` can both hit one of the ``used`` places (with their values) and be found out."""
    if kind not in shape.kinds:
        return False
    if kind in (ErrorKind.SCHEMA_DRIFT, ErrorKind.PARTIAL_DATA):
        return any(covers(path, place) for path in shape.required for place in used)
    if kind is ErrorKind.STALE_DATA:
        return any(_can_be_old(place, value) for place, value in used.items())
    if kind is ErrorKind.FACTUAL_ERROR:
        return any(covers(path, place) for path in shape.compared for place in used)
    return True


def _can_be_old(place: Place, value: Any) -> bool:
    # An older list lacks its newest entries; an older record shows an earlier state or amount.
    return has_an_earlier_value(value) or any(isinstance(part, int) for part in place)


def _partial(value: Any, aim: Aim) -> Any | None:
    path = aim.choose(aim.shape.required, value)
    if path is not None:
        for holder, key in list(holders(value, path)):
            del holder[key]
        return value
    return _without_tail(value, aim.draw)


def _without_tail(value: Any, draw: Draw) -> Any | None:
    """Cut the longest list in a result of which no field is declared."""
    lists: list[list[Any]] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            lists.append(item)
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
    longest = max(lists, key=len, default=[])
    if len(longest) < 2:
        return None
    del longest[draw.integer(1, len(longest) - 1, "kept") :]
    return value


_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "status": "state",
        "items": "lineItems",
        "orders": "orderRefs",
        "price": "unitPrice",
        "name": "displayName",
        "email": "emailAddress",
        "total": "amount",
        "id": "identifier",
    }
)


def _renamed(key: str) -> str:
    first, *rest = key.split("_")
    if rest:
        return first + "".join(word.capitalize() for word in rest)
    return _SYNONYMS.get(key, f"{key}Value")


def _drifted(value: Any, aim: Aim) -> Any | None:
    """Rename a field, wrap the whole result, or move a field out of it behind a link.

    A reader recognises a value under another name. So where the task depends on the field, it is moved away.
    """
    path = aim.choose(aim.shape.required, value)
    if path is not None and any(covers(path, place) for place in aim.used):
        return _linked(value, path)
    form = aim.draw.pick(("renamed", "wrapped", "linked"), "form")
    if form == "wrapped" or path is None:
        return _wrapped(value)
    if form == "linked":
        return _linked(value, path)
    for holder, key in list(holders(value, path)):
        holder[_renamed(key)] = holder.pop(key)
    return value


def _wrapped(value: Any) -> Any:
    return {"data": value if isinstance(value, dict | list) else {"value": value}, "apiVersion": "2"}


def _linked(value: Any, path: str) -> Any:
    for holder, key in list(holders(value, path)):
        del holder[key]
        holder[f"{_renamed(key)}Link"] = {"href": f"/v2/{key.replace('_', '-')}"}
    return value


def _stale(value: Any, aim: Aim) -> Any | None:
    age = aim.shape.within_s + aim.draw.integer(2, 40, "days") * DAY
    # Later positions first: cutting a list's tail leaves the earlier ones where they were.
    for place in sorted(aim.used, key=lambda p: [str(part).rjust(12) for part in p], reverse=True):
        _roll_back(value, place, aim.draw)
    if not aim.used:
        for holder, key in list(holders(value, "status")):
            holder[key] = earlier(holder[key], aim.draw.at(key))
    dated = list(holders(value, aim.shape.fresh)) if aim.shape.fresh else []
    for holder, key in dated:
        holder[key] = aged(holder[key], aim.now, age)
    if not dated:
        if not isinstance(value, dict):
            return None
        value["as_of"] = aged("Z", aim.now, age)
    return value


def _roll_back(value: Any, place: Place, draw: Draw) -> None:
    """Put an earlier value at ``place``, or drop the list entries from there on."""
    trail: list[tuple[Any, str | int]] = []
    current = value
    for part in place:
        try:
            below = current[part]
        except (KeyError, IndexError, TypeError):
            return  # another fault of this result took it away
        trail.append((current, part))
        current = below
    if trail and has_an_earlier_value(current):
        holder, part = trail[-1]
        holder[part] = earlier(current, draw.at(*place))
        return
    for holder, part in reversed(trail):
        if isinstance(part, int):
            del holder[part:]
            return


def _wrong(value: Any, aim: Aim) -> Any | None:
    path = aim.choose(aim.shape.compared, value)
    if path is None:
        return None
    if path == WHOLE:
        return other(value, aim.draw)
    for holder, key in list(holders(value, path)):
        holder[key] = other(holder[key], aim.draw.at(key))
    return value


def _missing_key(value: Any, aim: Aim) -> Any | None:
    """Drop a key, or the end of a list."""
    found = _fields(value, aim)
    if not found:
        return _without_tail(value, aim.draw)
    holder, key = aim.draw.pick(found, "field")
    del holder[key]
    return value


def _renamed_key(value: Any, aim: Aim) -> Any | None:
    found = _fields(value, aim)
    if not found or aim.draw.unit("form") < 1 / 3:
        return _wrapped(value)
    holder, key = aim.draw.pick(found, "field")
    holder[_renamed(key)] = holder.pop(key)
    return value


def _older(value: Any, aim: Aim) -> Any | None:
    """Put an older time where there is one, and an earlier value of what changes with time."""
    fields = _fields(value, aim)
    if not isinstance(value, dict | list):
        return None
    age = aim.draw.integer(2, 40, "days") * DAY
    dated = [(holder, key) for holder, key in fields if _DATE.match(str(holder[key]))]
    for holder, key in dated:
        holder[key] = aged(holder[key], aim.now, age)
    changing = [(h, k) for h, k in fields if (h, k) not in dated and has_an_earlier_value(h[k])]
    if changing:
        holder, key = aim.draw.pick(changing, "field")
        holder[key] = earlier(holder[key], aim.draw.at(key))
    if not dated and not changing and isinstance(value, dict):
        value["as_of"] = aged("Z", aim.now, age)
    return value


def _other_value(value: Any, aim: Aim) -> Any | None:
    """Put another value in a field, a number or a state where there is one."""
    fields = [
        (holder, key) for holder, key in _fields(value, aim) if not isinstance(holder[key], dict | list)
    ]
    best = [(holder, key) for holder, key in fields if has_an_earlier_value(holder[key])]
    if not fields:
        return None if isinstance(value, dict | list) else other(value, aim.draw)
    holder, key = aim.draw.pick(best or fields, "field")
    holder[key] = other(holder[key], aim.draw.at(key))
    return value


_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T|\b)")


def _fields(value: Any, aim: Aim, path: tuple[str, ...] = ()) -> list[tuple[dict[str, Any], str]]:
    """Return every field of a value, but those at the paths to be avoided."""
    if isinstance(value, list):
        return [found for item in value for found in _fields(item, aim, path)]
    if not isinstance(value, dict):
        return []
    found: list[tuple[dict[str, Any], str]] = []
    for key, inner in value.items():
        here = (*path, str(key))
        if not any(covers(one, here) or covers(".".join(here), parts_of(one)) for one in aim.shape.avoid):
            found.append((value, key))
        found += _fields(inner, aim, here)
    return found


_Way = Callable[[Any, Aim], Any]
BY_VALUE: Mapping[ErrorKind, _Way] = MappingProxyType(
    {
        ErrorKind.SCHEMA_DRIFT: _renamed_key,
        ErrorKind.PARTIAL_DATA: _missing_key,
        ErrorKind.STALE_DATA: _older,
        ErrorKind.FACTUAL_ERROR: _other_value,
    }
)
"""How silent faults are made of a value's form alone, where nothing is declared."""

_WAYS: Mapping[ErrorKind, _Way] = MappingProxyType(
    {
        ErrorKind.SCHEMA_DRIFT: _drifted,
        ErrorKind.PARTIAL_DATA: _partial,
        ErrorKind.STALE_DATA: _stale,
        ErrorKind.FACTUAL_ERROR: _wrong,
    }
)
