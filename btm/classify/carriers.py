"""What a failure is wrapped in: the layers of frameworks, protocols and languages around the words that say why.

Most failures that nobody knows are known ones in an unknown wrapper. Layers are stripped before any wording is read;
each says how sure it is that something failed, and may give a status, a code or a class of its own.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from btm.classify import rules
from btm.model import ErrorKind as K

HEAD, LONGEST, END = 400, 1_000, 300
"""Characters of a text in which layers are looked for: its beginning, and its end where a traceback names the error."""

KEPT = 16
"""Texts of which it is remembered what they are wrapped in: one text is asked about several times. They are as the tool gave
them, secrets and all, at most 1,300 characters each, and so few are kept: a core dump would hold them."""

_LAYERS = 4
_DECORATION = re.compile(
    r"[\s\ufeff\u2022>*#_`|\u256d-\u2577\u274c\u26a0\ufe0f\U0001f6ab\u2717\u2718\u00d7\U0001f534\u26d4\u2757]+"
)
"""What may stand before an error's mark: space, emphasis, boxes, crosses and warning signs."""


class Carrier(NamedTuple):
    """One kind of layer."""

    name: str
    pattern: re.Pattern[str]
    sure: float
    kind: K | None
    end: bool


class Carried(NamedTuple):
    """A text without its layers: what is left, their names from the outside in, and what they said by themselves."""

    inner: str
    layers: tuple[str, ...]
    sure: float
    status: int | None = None
    code: int | None = None
    exit: int | None = None
    types: tuple[str, ...] = ()
    kind: K | None = None
    reply: int | None = None


@cache
def carriers() -> tuple[Carrier, ...]:
    """Return the layers that are known, in the order in which they are tried."""
    return tuple(
        Carrier(
            entry["name"],
            re.compile(entry["pattern"], re.DOTALL | (0 if entry.get("case") else re.IGNORECASE)),
            entry["sure"],
            K(entry["kind"]) if "kind" in entry else None,
            entry.get("end", False),
        )
        for entry in rules.table("carriers")["carrier"]
    )


@cache
def _index() -> rules.Index:
    return rules.index_of(rules.table("carriers")["carrier"])


@cache
def stems() -> frozenset[str]:
    """Return the beginnings of words of which a carried failure holds one."""
    return _index().stems


def strip(text: str) -> Carried | None:
    """Return a text without its layers, or None where it has none."""
    if len(text) > LONGEST + END:
        text = text[:LONGEST] + "\n" + text[-END:]
    return _stripped(text.strip())


@lru_cache(maxsize=KEPT)
def _stripped(text: str) -> Carried | None:
    found = Carried(text, (), 0.0)
    low = text[:HEAD].lower()
    candidates = _index().candidates(low if len(text) <= HEAD else f"{low} {text[-200:].lower()}")
    for _ in range(_LAYERS):
        layer = _outermost(found.inner, candidates)
        if layer is None:
            break
        carrier, match = layer
        before, found = found.inner, _without(found, carrier, match)
        if not found.inner or found.inner == before:
            break
    return found if found.layers else None


def _outermost(text: str, candidates: list[int]) -> tuple[Carrier, re.Match[str]] | None:
    begins = _DECORATION.match(text)
    start = begins.end() if begins else 0
    known = carriers()
    for position in candidates:
        carrier = known[position]
        if carrier.end:
            match = carrier.pattern.search(text, max(start, len(text) - 300))
        else:
            match = carrier.pattern.match(text, start)
        if match is not None and match.end() > start:
            return carrier, match
    return None


def _without(found: Carried, carrier: Carrier, match: re.Match[str]) -> Carried:
    groups: dict[str, Any] = match.groupdict()
    inner = groups.get("inner")
    number = {name: int(groups[name]) for name in ("status", "code", "exit", "reply") if groups.get(name)}
    named = groups.get("type")
    if inner is None:
        inner = match.string[: match.start()] if carrier.end else match.string[match.end() :]
    return Carried(
        inner.strip(),
        (*found.layers, carrier.name),
        max(found.sure, carrier.sure),
        found.status or number.get("status"),
        found.code or number.get("code"),
        found.exit if found.exit is not None else number.get("exit"),
        (*found.types, named) if named else found.types,
        found.kind or carrier.kind,
        found.reply or number.get("reply"),
    )
