"""Results whose parts are mappings or lists of other kinds than Python's own, as plain ones of bounded size.

A lazy record can have no end, whatever it says its length is, and a subclass can do anything when it is walked. What
classifies reads plain containers only; the agent gets the tool's own object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

_MOST_KEYS, _LOOKED_AT, _DEEPEST = 200, 20, 4
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)")
"""What terminals read as colours, moves and titles (ECMA-48)."""

_COLOURED = 8_000
_LEAVES = frozenset({str, int, float, bool, type(None), bytes})


def tamed(value: Any, depth: int = _DEEPEST) -> Any:
    """Return ``value`` itself where it holds nothing odd, else a copy: at most 200 keys of a foreign mapping.

    The first 20 members of each container are looked at, four levels down.
    """
    kind = type(value)
    if kind in _LEAVES or depth == 0:
        return value
    if kind is dict:
        odd = [
            (k, new) for k, v in islice(value.items(), _LOOKED_AT) if (new := tamed(v, depth - 1)) is not v
        ]
        return {**value, **dict(odd)} if odd else value
    if kind is list:
        head = [tamed(v, depth - 1) for v in value[:_LOOKED_AT]]
        same = all(new is v for new, v in zip(head, value, strict=False))
        return value if same else [*head, *value[_LOOKED_AT:]]
    if isinstance(value, dict):
        return tamed(dict(islice(dict.items(value), _MOST_KEYS)), depth)  # its own walk may be any code
    if isinstance(value, list):
        return tamed(list(list.__iter__(value)), depth)
    if isinstance(value, Mapping):
        return tamed(dict(islice(value.items(), _MOST_KEYS)), depth)
    return value


def plain_of(text: str) -> str:
    """Return a text without the colours that commands write for terminals, in its first 8,000 characters."""
    head = text[:_COLOURED]
    return _COLOURS.sub("", head) + text[_COLOURED:] if "\x1b" in head else text
