"""Whether a write's answer says that it is under way and no more: ``{"status": "pending"}`` is not done yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = frozenset({"pending", "processing", "accepted", "unknown", "queued", "in progress", "in_progress"})
_PLACES = ("status", "state")
_MOST_FIELDS = 4  # a record that was changed has more; there the word may be the record's own state


def under_way(value: Any) -> str:
    """Return the word with which a short answer, as JSON values, says so; ``""`` for any other answer."""
    if isinstance(value, Mapping):
        if len(value) > _MOST_FIELDS or any(isinstance(inner, Mapping | list) for inner in value.values()):
            return ""
        value = next((value[place] for place in _PLACES if place in value), "")
    word = value.strip().casefold() if isinstance(value, str) else ""
    return word if word in _WORDS else ""
