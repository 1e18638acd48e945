"""Lists of what is wrong with what was sent: validators' errors, batches of errors, complaints by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from btm.classify import body_keys as keys

MOST_FIELDS = 20
_WHERE = frozenset(
    {"loc", "path", "field", "param", "parameter", "property", "pointer", "attribute", "instancepath"}
)
_WHAT = frozenset({"message", "msg", "detail", "reason", "description", "error", "errormessage"})

_STOPS = (".", "\u3002", "\uff01", "\u0964")


def is_validator_list(items: list[Any]) -> bool:
    """Whether a list is a validator's: what is wrong (``msg``) and where (``loc``), as FastAPI, zod and ajv say it."""
    if not items or not isinstance(items[0], Mapping) or len(items[0]) > 7:
        return False
    names = {keys.bare(name) for name in items[0] if isinstance(name, str)}
    return not names.isdisjoint(_WHERE) and not names.isdisjoint(_WHAT)


def is_error_list(items: list[Any]) -> bool:
    """Whether a whole list is errors: each with a message and a code of its own (Salesforce, Stripe's batches, zod)."""
    return 0 < len(items) <= 20 and all(
        isinstance(item, Mapping) and len(item) <= 7 and _is_error_item(item) for item in items
    )


def _is_error_item(item: Mapping[str, Any]) -> bool:
    told = {name: value for name, value in item.items() if isinstance(name, str) and value is not None}
    names = {keys.bare(name) for name in told}
    if told and all(keys.is_error(name) or keys.is_trimming(name) for name in told):
        return any(keys.is_error(name) and isinstance(value, str) and value for name, value in told.items())
    if names.isdisjoint(_WHAT) or any(told.get(name) in (0, "0") for name in told if keys.is_error(name)):
        return False
    return not names.isdisjoint(_ITEM_CODES) or ("code" in names and not names.isdisjoint(_WHERE))


_ITEM_CODES = frozenset({"errorcode", "statuscode"})


def are_sentences(body: Mapping[str, Any]) -> bool:
    """Whether every field holds a list of one to three sentences: how a write's arguments are refused in any language."""
    return 0 < len(body) <= MOST_FIELDS and all(
        isinstance(said, list)
        and 0 < len(said) <= 3
        and all(
            isinstance(c, str) and c.endswith(_STOPS) and " " in c and not c[:1].islower() and len(c) < 200
            for c in said
        )
        for said in body.values()
    )
