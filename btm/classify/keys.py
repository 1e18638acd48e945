"""What a field's name promises of its value, remembered per name so that a common result costs a few look-ups."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from btm.classify.rules import table

_SPLIT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4_096)
def _snake(name: str) -> str:
    return _SPLIT.sub("_", name).lower().replace("-", "_").replace(" ", "_")


def snake(name: str) -> str:
    """Return a field name in snake_case, at most 64 characters of it: ``nextPageToken`` is ``next_page_token``."""
    return _snake(name[:64])


class Bound(NamedTuple):
    """The range in which a number under a name is possible at all."""

    low: float
    high: float
    what: str


class Role(NamedTuple):
    """What a field may be a sign of; ``""``, None and False where it is none.

    ``partial`` and ``stale`` name the sign (see `btm.classify.partial` and `btm.classify.stale`), ``bound`` the
    possible range, ``partners`` the names that must not come before it (the end of a start), ``sums`` a part of a
    calculation.
    """

    name: str
    partial: str
    stale: str
    bound: Bound | None
    day: bool
    partners: tuple[str, ...]
    sums: bool


_FIELDS = table("forms")["keys"]
_PARTIAL = tuple((sign, re.compile(pattern)) for sign, pattern in _FIELDS["partial"].items())
_STALE = tuple((sign, re.compile(pattern)) for sign, pattern in _FIELDS["stale"].items())
_BOUNDS = tuple((re.compile(pattern), Bound(*bound)) for pattern, bound in _FIELDS["bounds"].items())
_DAY = re.compile(_FIELDS["day"])
_SUMS = re.compile(_FIELDS["sums"])
_PAIRS = tuple(tuple(pair.split(":")) for pair in _FIELDS["pairs"].split())
"""What must not come after what: words of two field names that are alike otherwise."""


def role_of(name: object) -> Role | None:
    """Return what a field name may be a sign of, or None for most names, and for keys that are not text."""
    return _look(snake(name)) if isinstance(name, str) else None


@lru_cache(maxsize=4_096)
def _look(low: str) -> Role | None:
    role = Role(
        name=low,
        partial=next((sign for sign, pattern in _PARTIAL if pattern.search(low)), ""),
        stale=next((sign for sign, pattern in _STALE if pattern.search(low)), ""),
        bound=next((bound for pattern, bound in _BOUNDS if pattern.search(low)), None),
        day=_DAY.search(low) is not None,
        partners=_partners(low),
        sums=_SUMS.search(low) is not None,
    )
    return role if any(role[1:]) else None


def _partners(name: str) -> tuple[str, ...]:
    found = []
    for first, second in _PAIRS:
        if f"_{first}_" in f"_{name}_":
            found.append(f"_{name}_".replace(f"_{first}_", f"_{second}_", 1)[1:-1])
    return tuple(found)
