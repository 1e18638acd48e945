"""Tool results as plain JSON values that expressions can read, whatever object they came as."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
from collections.abc import Mapping
from typing import Any

import orjson

from btm.classify.frameworks import is_bare, unwrap, unwrapped
from btm.support.untrusted import text_of

MAX_TEXT = 4_000_000
"""Characters of JSON text that are parsed; a longer text stays text."""
MAX_NODES = 200_000
MAX_DEPTH = 60


class TooLargeError(ValueError):
    """The result holds more values than expressions are run over."""


def plain(result: object) -> Any:
    """Return a result as JSON values: parsed from text, unpacked from models, messages and content blocks.

    Raises TooLargeError for a result of more than MAX_NODES values, or one that is nested too deep (or in itself).
    """
    if isinstance(result, Mapping) and not is_bare(result):
        result = unwrap(result).value
    value = _parsed(_convert(result, [MAX_NODES], 0))
    if isinstance(value, dict) and not isinstance(result, Mapping) and not is_bare(value):
        inner = unwrap(value).value  # a wrapper that came as a text
        return value if inner is value else _parsed(inner)
    return value


def _parsed(value: Any) -> Any:
    """Parse a text that is a JSON document; content blocks of one text count as that text."""
    if isinstance(value, list) and value and all(_is_block(item) for item in value):
        texts = [item["text"] for item in value if item.get("type", "text") == "text"]
        value = "".join(texts) if texts else value
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        return value
    value = _unfenced(value)
    head = value.lstrip()[:1]
    if not head or not (head in '{["-' or head.isdigit() or value.strip() in ("null", "true", "false")):
        return value
    try:
        return _convert(orjson.loads(value), [MAX_NODES], 0)
    except (orjson.JSONDecodeError, RecursionError):
        return value


def _unfenced(text: str) -> str:
    """Return what a text of one Markdown code block holds; models that stand behind tools answer in these."""
    if not text.startswith("```") or not text.rstrip().endswith("```"):
        return text
    return text.rstrip()[:-3].partition("\n")[2] if text.count("```") == 2 else text


def _is_block(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("text"), str) and set(item) <= _BLOCK_KEYS


_BLOCK_KEYS = frozenset(("type", "text", "annotations", "id", "index", "meta", "_meta"))


def _convert(value: Any, budget: list[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise TooLargeError("the result is too large, or nested too deep")
    if value is None or (isinstance(value, bool | int | float) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, enum.Enum):
        return _convert(value.value, budget, depth + 1)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return {text_of(key, 1_000): _convert(item, budget, depth + 1) for key, item in value.items()}
    fields = getattr(type(value), "_fields", None)
    if isinstance(value, tuple) and isinstance(fields, tuple):  # a named tuple
        return {name: _convert(item, budget, depth + 1) for name, item in zip(fields, value, strict=False)}
    if isinstance(value, list | tuple | set | frozenset):
        return [_convert(item, budget, depth + 1) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    return _unpack(value, budget, depth)


def _unpack(value: Any, budget: list[int], depth: int) -> Any:
    """An object: an MCP result, a message with content, a pydantic model, a dataclass, or at last its text."""
    structured = _structured(value)
    if structured is not None:
        return _convert(structured, budget, depth + 1)
    content = getattr(value, "content", None)
    if isinstance(content, str | list) and any(hasattr(value, name) for name in _WITH_CONTENT):
        return _parsed(_convert(content, budget, depth + 1))
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _convert(dump(), budget, depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _convert(getattr(value, f.name), budget, depth + 1) for f in dataclasses.fields(value)
        }
    text = getattr(value, "text", None)
    if isinstance(text, str) and isinstance(getattr(value, "type", None), str):  # a content block of any SDK
        return {"type": value.type, "text": text}
    return text_of(value, MAX_TEXT)


_WITH_CONTENT = ("type", "isError", "is_error")


def _structured(value: object) -> Any:
    """Return an MCP result's structured content: its name in both generations of the SDK, or a message's artifact."""
    for name in ("structuredContent", "structured_content"):
        found = getattr(value, name, None)
        if isinstance(found, Mapping):
            return unwrapped(found)
    artifact = getattr(value, "artifact", None)
    if isinstance(artifact, Mapping) and isinstance(found := artifact.get("structured_content"), Mapping):
        return unwrapped(found)
    return None


def fields_at(value: Any, path: str) -> list[Any] | None:
    """Return what a dotted path finds, or None when it finds nothing; ``items[].price`` reaches into lists.

    A path without ``[]`` finds one value, one with ``[]`` a list of them, each wrapped in one outer list.
    """
    here, many = [value], False
    for part in path.split("."):
        name, spread = part.removesuffix("[]"), part.endswith("[]")
        found = [item[name] for item in here if isinstance(item, Mapping) and name in item] if name else here
        if spread:
            many = True
            found = [inner for item in found if isinstance(item, list) for inner in item]
        here = found
    if many:
        return [here] if here else None
    return here or None


def agree(one: Any, other: Any) -> bool:
    """Whether two values say the same: numbers with a fraction within 1e-6 of their size, lists of scalars in any order.

    Whole numbers agree only when they are equal: they may be ids, which differ in one digit of many.

    A number and its text agree ("12.50" and 12.5), so do texts that differ in outer space only. Mappings agree when
    the keys that both have agree.
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    left, right = _number(one), _number(other)
    if left is not None and right is not None:
        if _is_whole(one) and _is_whole(other):
            return int(one) == int(other)
        return abs(left - right) <= 1e-6 * max(1.0, abs(left), abs(right))
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip()
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(agree(one[key], other[key]) for key in one if key in other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(agree, _ordered(one), _ordered(other)))
    return bool(one == other)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.strip().lstrip("+-").isdecimal())


def _number(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str) and len(value) < 40:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _ordered(values: list[Any]) -> list[Any]:
    """Scalars in an order of their own, so that the order in which a tool lists them does not matter."""
    if any(isinstance(value, Mapping | list) for value in values):
        return values
    return sorted(values, key=lambda v: (str(type(_number(v))), _number(v) or 0.0, str(v).strip()))
