"""What a field's name promises of its value, and which fields of a mapping can be signs: worked out once for each name.

The answers of a tool have few sets of names, and most fields are a sign of nothing: with the names worked out, a
common answer costs a look at each of its values' types and at the few fields that could mean something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from btm.classify.rules import table
from btm.support.process_state import kept

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
    """What a field may be a sign of; ``""``, None and an empty set where it is none.

    ``partial`` and ``stale`` name the sign (see `btm.classify.partial` and `btm.classify.stale`), ``bound`` the
    possible range, ``partners`` the names that must not come before it (the end of a start).
    """

    name: str
    partial: str
    stale: str
    bound: Bound | None
    partners: frozenset[str]


_FIELDS = table("forms")["keys"]
_PARTIAL = tuple((sign, re.compile(pattern)) for sign, pattern in _FIELDS["partial"].items())
_STALE = tuple((sign, re.compile(pattern)) for sign, pattern in _FIELDS["stale"].items())
_BOUNDS = tuple((re.compile(pattern), Bound(*bound)) for pattern, bound in _FIELDS["bounds"].items())
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
        partners=frozenset(
            f"_{low}_".replace(f"_{first}_", f"_{second}_", 1)[1:-1]
            for first, second in _PAIRS
            if f"_{first}_" in f"_{low}_"
        ),
    )
    return role if any(role[1:]) else None


class Form(NamedTuple):
    """The fields of a mapping that can be signs, in order, and which comparisons among them are possible at all."""

    signs: tuple[tuple[Role, str], ...]
    ordered: bool
    calculated: bool
    shared: bool


_CALCULATED = frozenset(
    {"expression", "equation", "formula", "total", "subtotal", "total_amount", "amount_total"}
)
FIELDS = 200
"""Fields of one mapping that are looked at."""

# Emptied when full, so that keys that are data cannot grow it without end.
_MOST = 4_096
_known: dict[tuple[object, ...], Form] = kept(__name__, {}, most=_MOST)
_MOST_NAMES, _LONGEST_NAME = 64, 64


def form_of(body: Mapping[Any, Any]) -> Form:
    """Return what the names of ``body``'s fields can be signs of."""
    names = tuple(body)
    form = _known.get(names)
    if form is None:
        form = _worked_out(body)
        if len(names) <= _MOST_NAMES and all(
            isinstance(name, str) and len(name) <= _LONGEST_NAME for name in names
        ):
            if len(_known) >= _MOST:
                _known.clear()
            _known[names] = form
    return form


def _worked_out(body: Mapping[Any, Any]) -> Form:
    signs = tuple((role, name) for name in islice(body, FIELDS) if (role := role_of(name)) is not None)
    names = {snake(name) for name in islice(body, FIELDS) if isinstance(name, str)}
    return Form(
        signs,
        ordered=any(not role.partners.isdisjoint(names) for role, _ in signs),
        calculated=not names.isdisjoint(_CALCULATED),
        shared=sum(name.endswith("_pct") for name in names) > 1,
    )
