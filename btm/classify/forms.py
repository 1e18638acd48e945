"""What the field names of a mapping can be signs of, worked out once for each set of names.

The answers of a tool have few sets of names, and most fields are a sign of nothing: with the names worked out, a
common answer costs a look at each of its values' types and at the few fields that could mean something.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from btm.classify import plausible
from btm.classify.keys import Role, role_of, snake
from btm.support.process_state import kept


class Form(NamedTuple):
    """The fields of a mapping that can be signs, in order, and which comparisons among them are possible at all."""

    signs: tuple[tuple[Role, str], ...]
    ordered: bool
    summed: bool


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
    roles = [role for role, _ in signs]
    return Form(
        signs,
        ordered=any(role.partners or role.name.startswith("arrival") for role in roles)
        and plausible.can_be_ordered(roles, {snake(name) for name in body if isinstance(name, str)}),
        summed=any(role.sums for role in roles),
    )
